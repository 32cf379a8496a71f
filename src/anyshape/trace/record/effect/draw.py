"""Draws: numbers that only the run gives, from random generators of Python and NumPy, and clocks.

A draw is a call of the graph. It is done on every run, in its place in the program, by the
generator that eager execution would use, and its result is a symbol that the run knows. While a
program is traced no generator moves: what a call returns, and which error it raises, is found out
by the same call of another generator, if all its arguments are known.

A number that an iterator from outside gives is read when the program runs, and the iterator moves
on, as with all writes.

A generator that the program is given, or makes, has a name in it. What its state is, only the run
knows: `State` stands for it, and can be kept, returned and set.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from anyshape.expr import ge0
from anyshape.expr.table.op_real import ANY, Span
from anyshape.symbolic.numpy_scalar import (
    RANGES,
    NumpyInt,
    scalar_class,
    scalar_name,
    scalar_of,
    value_of,
)
from anyshape.symbolic.operand import is_symbolic
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.identity import stand_for
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.read import read as reads
from anyshape.trace.state.generator_state import another, is_generator, is_of_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_CLOCKS: Final = frozenset(
    name + ending
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for ending in ("", "_ns")
)
_SETTERS: Final = frozenset(("seed", "setstate", "set_state"))
_GETTERS: Final = frozenset(("getstate", "get_state"))
_NUMBERS: Final = (int, float, SymInt, SymFloat)
_OF_FLOATS: Final = frozenset(("uniform", "gauss", "normalvariate"))  # they give floats, whatever
_COUNTERS: Final = (itertools.count, type(iter(range(0))))
_MOST: Final = 2**63 - 1
_UNIT: Final = Span(0.0, math.nextafter(1.0, 0.0), False)
_KNOWN: Final = (int, float, str, bytes, bool, type(None), range)


class State:
    """The state of a generator: what it holds is known when the program runs."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def _refuse(self, *_: Any) -> Any:
        raise self._recorder.unsupported(
            "what the state of a random generator holds is used",
            why="it is known only when the program runs",
            fix="look at it outside the traced function",
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = __add__ = __mul__ = _refuse
    __repr__ = __str__ = __format__ = __reduce_ex__ = _refuse


stand_for(State, ())


class Draws:
    """The callables in place of functions that return a different value on each call."""

    def __init__(self, recorder: Recorder, calls: Calls) -> None:
        self._recorder = recorder
        self._calls = calls

    # ------------------------------------------------------------------ what to call

    def function(self, f: Any, label: str) -> Any:
        """For a function of a module: a clock, or one that is refused."""
        name: str = getattr(f, "__name__", "")
        if name in _CLOCKS and getattr(f, "__self__", None) is time:
            return functools.partial(self._read_clock, name)
        return functools.partial(self._baked, label)

    def method(self, owner: Any, f: Any) -> Any:
        """For a method of a generator."""
        return functools.partial(self._drawn, owner, f.__name__)

    def python(self, f: Any, label: str) -> Any:
        """For a function in Python: a method of generators, which gets one first, or another."""
        name: str = f.__name__
        if vars(random.Random).get(name) is f:
            return functools.partial(self._of_class, name)
        return functools.partial(self._baked, label)

    def _of_class(self, name: str, owner: Any, /, *args: Any, **named: Any) -> Any:
        return self._drawn(owner, name, *args, **named)

    def of_numpy(self, f: Any) -> Any:
        """For a callable of `numpy.random`."""
        return functools.partial(self._of_numpy, f)

    def _of_numpy(self, f: Any, /, *args: Any, **named: Any) -> Any:
        name = getattr(f, "__name__", "a random number")
        if args and is_of_numpy(args[0]) and name != "default_rng":
            return self._drawn(args[0], name, *args[1:], **named)
        if name == "default_rng":
            return self.made(f, args, named)
        if name == "seed":
            owner = self._recorder.outside(sys.modules["numpy.random"].get_state.__self__)
            return self._drawn(owner, name, *args, **named)
        return self._baked(name)

    # ------------------------------------------------------------------ generators

    def made(self, make: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A generator that the program makes on every run."""
        recorder = self._recorder
        known = all(_is_known(a) for a in (*args, *named.values()))
        if not self._may_draw or not known or named:
            raise recorder.refusal(f"a {make.__name__} is made")
        made = make(*args)
        if not is_generator(made):
            raise recorder.refusal(f"a {make.__name__} is made")
        recorder.born(made)
        recorder.publish_by(made, make, args)
        return made

    @property
    def _may_draw(self) -> bool:
        """Whether draws are calls of the graph."""
        recorder = self._recorder
        return recorder.replays and recorder.options.has_draws and not recorder.tracer.bodies

    def _drawn(self, owner: Any, name: str, /, *args: Any, **named: Any) -> Any:
        """Call a method of a generator when the program runs."""
        if not self._may_draw or not is_generator(owner):
            return self._baked(f"{type(owner).__name__}.{name}")
        recorder = self._recorder
        if not recorder.is_born(owner):
            recorder.outside(owner)
        if name in _SETTERS:
            return self._set(owner, name, args, named)
        if name in _GETTERS and not args and not named:
            state = recorder.born(State(recorder))
            recorder.publish_as(state, effect.draw, recorder.operand(owner), name, (), {})
            return state
        if name == "choice" and not is_of_numpy(owner) and len(args) == 1 and not named:
            return self._choice(owner, args[0])
        plain = self._calls.operators.plain
        args, named = tuple(map(plain, args)), {k: plain(a) for k, a in named.items()}
        if all(map(_is_known, (*args, *named.values()))):
            sample = getattr(_other(owner), name)(*args, **named)
            bounds = _bounds(owner, name, args, named) if type(sample) is not float else None
            return self._result(owner, name, args, named, sample, bounds)
        if named or not all(_is_number(a) for a in args):
            return self._baked(f"{type(owner).__name__}.{name}")
        if name in _OF_FLOATS and len(args) == 2:
            if is_of_numpy(owner) and name != "uniform":
                return self._baked(f"{type(owner).__name__}.{name}")
            return self._result(owner, name, args, named, 0.0, None)
        bounds = _bounds(owner, name, args, named)
        if bounds is None:
            return self._baked(f"{type(owner).__name__}.{name}")
        low, high = bounds
        if not low <= high:
            return getattr(_other(owner), name)(*map(value_of, args))  # raises
        sample = scalar_class("int64")(0) if name == "integers" else 0
        return self._result(owner, name, args, named, sample, bounds)

    def _set(self, owner: Any, name: str, args: Any, named: dict[str, Any]) -> None:
        """Set the state of a generator when the program runs."""
        recorder = self._recorder
        if named or len(args) > 1:
            self._baked(f"{type(owner).__name__}.{name}")
        if not any(type(a) is State or is_symbolic(a) for a in args):
            getattr(_other(owner), name)(*args)  # raises what eager execution raises
        given = tuple([recorder.operand(a) for a in args])
        recorder.emit(effect.draw, recorder.operand(owner), name, given, {})

    def _choice(self, owner: Any, options: Any) -> Any:
        """One of the items of a sequence: its place is drawn."""
        kind = type(options)
        if kind not in (list, tuple, range, str):
            return self._baked("random.choice")
        count = self._calls.containers.length(options)
        if type(count) is not int:
            return self._baked("random.choice")
        if not count:
            return random.choice(options)  # raises
        args = (range(count),)
        place = self._result(owner, "choice", args, {}, 0, (0, count - 1))
        return self._calls.containers.item(options, place)

    # ------------------------------------------------------------------ iterators

    def moved(self, iterator: Any, default: tuple[Any, ...]) -> Any:
        """`next(iterator, *default)` of an iterator over numbers from outside."""
        recorder = self._recorder
        if type(iterator) not in _COUNTERS or not recorder.replays or recorder.tracer.bodies:
            raise recorder.refusal("an iterator from outside is moved on")
        count = recorder.moved.get(id(iterator), (iterator, 0))[1]
        asked = functools.partial(_has_more, iterator, count)
        if not recorder.note(reads.CALL, asked, (), asked()):
            return next(iter(()), *default)
        sample = effect.ahead(iterator, count)
        if type(sample) not in (int, float):
            raise recorder.refusal("an iterator from outside is moved on")
        recorder.moved[id(iterator)] = (iterator, count + 1)
        recorder.effects += 1
        tracer = recorder.tracer
        mint = tracer.mint if type(sample) is int else tracer.mint_float
        return mint(effect.take, (Held(iterator),))

    # ------------------------------------------------------------------ results

    def _read_clock(self, name: str) -> Any:
        if not self._may_draw:
            return self._baked(f"time.{name}")
        sample = 0 if name.endswith("_ns") else 0.0
        return self._result(Held(time), name, (), {}, sample, None)

    def _result(
        self,
        owner: Any,
        name: str,
        args: tuple[Any, ...],
        named: dict[str, Any],
        sample: Any,
        bounds: tuple[Any, Any] | None,
    ) -> Any:
        """The symbol for what a draw gives, which is of the kind of `sample`."""
        recorder = self._recorder
        tracer, env = recorder.tracer, recorder.tracer.env
        kind, scalar = type(sample), scalar_name(sample)
        is_integer = kind is int or scalar in RANGES
        if not is_integer and kind is not float and not scalar:
            return self._baked(f"{type(owner).__name__}.{name}")
        if is_integer and bounds is not None and type(bounds[1]) is int and bounds[1] > _MOST:
            return self._baked(f"{type(owner).__name__}.{name}")
        source = owner if type(owner) is Held else recorder.operand(owner)
        recorder.effects += 1
        call = (source, name, args, named)
        if not is_integer:
            function = effect.draw_float if scalar else effect.draw
            drawn = tracer.mint_float(function, call, _UNIT if name == "random" else ANY)
            return SymFloat(drawn.value, env, scalar) if scalar else drawn
        n = tracer.mint(effect.draw_integer if scalar else effect.draw, call)
        for bound, sign in zip(bounds or RANGES.get(scalar) or (), (-1, 1), strict=False):
            e = bound.expr if is_symbolic(bound) else env.pool.const(bound)
            env.learn(ge0((e - n.expr) if sign > 0 else (n.expr - e)))
        return NumpyInt(n.expr, env, scalar) if scalar else n

    def _baked(self, name: str, /, *_: Any, **__: Any) -> Any:
        raise self._recorder.unsupported(
            f"{name} inside a traced function",
            why="its value would be frozen into the program, the same for every call",
            fix="pass the value as an argument, or use a random op of torch",
        )


def _has_more(iterator: Any, count: int) -> bool:
    """Whether an iterator has an item after so many others; one that counts has no end."""
    return type(iterator) is itertools.count or iterator.__length_hint__() > count


def _is_known(x: Any) -> bool:
    """Whether a value is known while a program is traced, and cannot change."""
    if type(x) is tuple:
        return all(map(_is_known, x))
    return type(x) in _KNOWN or isinstance(x, type) or bool(scalar_name(x))


def _is_number(x: Any) -> bool:
    return type(x) in _NUMBERS and not scalar_of(x)


def _other(owner: Any) -> Any:
    """Another generator of the kind."""
    return another(random.Random if type(owner) is random.SystemRandom else type(owner))


# ------------------------------------------------------------------ bounds of integers


def _bounds(
    owner: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, Any] | None:
    """The least and the greatest integer that a method gives; None if nothing is known."""
    of = (_OF_NUMPY if is_of_numpy(owner) else _OF_PYTHON).get(name)
    if of is None or not all(type(a) in (int, SymInt) for a in args):
        return None
    try:
        found: tuple[Any, Any] | None = of(*args, **named)
    except TypeError:
        return None
    return found


def _from_to(a: Any, b: Any) -> tuple[Any, Any]:
    return a, b


def _in_range(start: Any, stop: Any = None, step: Any = 1) -> tuple[Any, Any] | None:
    if stop is None:
        start, stop = 0, start
    if all(type(n) is int for n in (start, stop, step)):
        found = range(start, stop, step)
        return min(found), max(found)
    return (start, stop - 1) if type(step) is int and step == 1 else None


def _of_bits(count: int) -> tuple[int, int]:
    return 0, 2**count - 1


def _below(low: Any, high: Any = None) -> tuple[Any, Any]:
    return (0, low - 1) if high is None else (low, high - 1)


_OF_PYTHON: Final[dict[str, Callable[..., Any]]] = {
    "randint": _from_to,
    "randrange": _in_range,
    "getrandbits": _of_bits,
}
_OF_NUMPY: Final[dict[str, Callable[..., Any]]] = {"randint": _below, "integers": _below}
