"""Builtins that have a meaning for symbolic numbers and traced tensors: `int`, `max`, `type`."""

from __future__ import annotations

import abc
import builtins
import functools
from typing import TYPE_CHECKING, Any, Protocol

import torch

from anyshape.symbolic import functions
from anyshape.symbolic.arithmetic import power_modulo
from anyshape.symbolic.numpy_calls import converted
from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt, scalar_classes
from anyshape.symbolic.operand import is_symbolic
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.identity import identity_of, is_instance, type_of
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.graph.graph import Follows
from anyshape.trace.record.builtin.iteration import is_ordered
from anyshape.trace.record.effect.effect import raise_unless
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING
from anyshape.trace.sequence.item import need_no_item
from anyshape.trace.sequence.list_call import list_greatest, list_least
from anyshape.trace.sequence.sym_list import SymList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.builtin.iteration import Iterations
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder


class Meanings:
    """The substitutes for such builtins."""

    def __init__(self, calls: Calls, recorder: Recorder, iterations: Iterations) -> None:
        self._calls = calls
        self._recorder = recorder
        self._operators = calls.operators
        self._iterations = iterations

    def substitutes(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of a builtin and what to call in its place."""
        yield builtins.int, self.int_
        yield builtins.float, self.float_
        yield builtins.bool, self.bool_
        yield builtins.max, functools.partial(self._extremum, max, functions.largest)
        yield builtins.min, functools.partial(self._extremum, min, functions.smallest)
        yield builtins.pow, self._power
        yield builtins.type, self._type
        yield builtins.isinstance, self._is_instance
        yield builtins.issubclass, self._is_subclass
        yield builtins.id, self._identity
        yield builtins.hash, self._hash
        for cls in scalar_classes():
            yield cls, functools.partial(self._scalar, cls)

    # ------------------------------------------------------------------ numbers

    def int_(self, x: Any = 0, *base: Any, **named: Any) -> Any:
        """`int`."""
        x = self._operators.plain(_item(x))
        kind = type(x)
        if kind is SymBool:
            return functions.sym_ite(x, 1, 0)
        if kind is SymInt:
            return x
        if kind is NumpyInt or kind is NumpyBool:
            return self.int_(x.item())
        if kind is SymFloat:
            return x.__trunc__()
        for name in ("__int__", "__index__", "__trunc__"):
            method = self._operators.special(x, name)
            if method is not None:
                return method()
        return int(x, *base, **named)

    def float_(self, x: Any = 0.0) -> Any:
        """`float`."""
        x = self._operators.plain(_item(x))
        kind = type(x)
        if kind is NumpyInt or kind is NumpyBool:
            return self.float_(x.item())
        if kind is SymBool:
            x = functions.sym_ite(x, 1, 0)
        if type(x) in (SymInt, SymFloat):
            return x.__sym_float__()
        method = self._operators.special(x, "__float__")
        return float(x) if method is None else method()

    def _scalar(self, cls: type, /, *args: Any, **named: Any) -> Any:
        """A class of NumPy's scalars."""
        x = self._operators.plain(args[0]) if len(args) == 1 and not named else None
        return converted(cls, x) if is_symbolic(x) else self._calls.make(cls, *args, **named)

    def bool_(self, x: Any = False) -> Any:
        """`bool`; a value that only the run knows stays one, if the trace cannot follow both."""
        x = self._operators.truth(x)
        tracer = self._recorder.tracer
        if tracer.options.is_export or tracer.env.asker.is_concrete:
            return bool(x)
        number = _item(x) if type(x) is SymTensor else x
        if type(number) not in (SymBool, SymInt, SymFloat):
            return bool(number)
        holds = number if type(number) is SymBool else number != 0
        if type(holds) is not SymBool or holds.known() is not None:
            return bool(holds)
        hinted = tracer.env.hint_for_guard(holds.condition) is not None
        return bool(holds) if hinted else holds

    def asserted(self, x: Any, *message: Any) -> Any:
        """The condition of an `assert`; where only the run can tell, the program raises then."""
        recorder = self._recorder
        if type(x) is bool or not recorder.replays or recorder.tracer.bodies:
            return x
        holds = self.bool_(x)
        if type(holds) is not SymBool:
            return holds
        node = recorder.tracer.emit(raise_unless, (holds, Held(AssertionError), message, {}))
        node.follows = Follows(recorder.tracer.env.last_assert)
        return True

    def _extremum(self, plain: Any, symbolic: Any, /, *args: Any, **named: Any) -> Any:
        if len(args) == 1 and type(args[0]) is SymList and not named:
            return args[0].number(list_greatest if plain is max else list_least)
        if len(args) == 1:
            args = (list(self._iterations.iterated(args[0])),)
            default = named.pop("default", MISSING)
            if default is not MISSING and not args[0]:
                return default
        key = named.pop("key", None)
        if key is not None:
            parts = list(args[0]) if len(args) == 1 else list(args)
            if parts:
                return self._first(plain, parts, self._iterations.given(key))
        if named:
            return plain(*args, **named)
        operands = [self._operators.plain(x) for x in (args[0] if len(args) == 1 else args)]
        if any(map(is_ordered, operands)):
            return self._first(plain, operands, None)
        if any(is_symbolic(x) or isinstance(x, torch.Tensor) for x in operands):
            return symbolic(operands)
        return plain(operands) if args else plain()

    def _first(self, plain: Any, parts: list[Any], key: Any) -> Any:
        """The first of the largest or smallest parts, compared as Python compares them."""
        better: Any = self._operators.gt if plain is max else self._operators.lt
        best = parts[0]
        best_key = best if key is None else key(best)
        for part in parts[1:]:
            part_key = part if key is None else key(part)
            if self._operators.truth(better(part_key, best_key)):
                best, best_key = part, part_key
        return best

    # ------------------------------------------------------------------ types and identity

    def _type(self, *args: Any, **named: Any) -> Any:
        if len(args) != 1:
            self._calls.classes.made(type, *args)
            args = tuple([self._recorder.deep(a) if isinstance(a, dict) else a for a in args])
            return self._recorder.born(type(*args, **named))
        x = args[0]
        self._look(x)
        return type_of(x)

    def _look(self, x: Any) -> None:
        if type(x) not in ATOMS and not isinstance(x, torch.Tensor):
            self._recorder.kind(x)

    def _is_instance(self, x: Any, kinds: Any) -> bool:
        self._look(x)
        if isinstance(kinds, tuple):
            return any(self._is_instance(x, part) for part in kinds)
        check = getattr(type(kinds), "__instancecheck__", None)
        if self._calls.is_recorded(check) and type(x) is not kinds:
            return bool(self._operators.truth(self._calls.ready(check)(kinds, x)))
        if Protocol in getattr(kinds, "__mro__", ()):
            return self._has_members(x, kinds)
        if isinstance(kinds, abc.ABCMeta):
            self._note_subclass(type_of(x), kinds)
        return is_instance(x, kinds)

    def _has_members(self, x: Any, protocol: Any) -> bool:
        """Whether an object is one of a protocol, which looks at the attributes of the object."""
        recorder = self._recorder
        if id(x) in recorder.changed:
            raise recorder.refusal(f"a changed {type(x).__name__} is compared with a protocol")
        answer = is_instance(x, protocol)
        if recorder.is_outside(x) and not recorder.is_born(x):
            recorder.note(reads.CALL, functools.partial(isinstance, x, protocol), (), answer)
        return answer

    def _note_subclass(self, cls: Any, kinds: Any) -> bool:
        """Whether a class is one of an abstract class, which others may be registered with."""
        answer = issubclass(cls, kinds)
        if kinds not in cls.__mro__:
            self._recorder.note(reads.CALL, issubclass, (cls, kinds), answer)
        return answer

    def _is_subclass(self, cls: Any, kinds: Any) -> bool:
        if isinstance(kinds, tuple):
            return any(self._is_subclass(cls, part) for part in kinds)
        check = getattr(type(kinds), "__subclasscheck__", None)
        if self._calls.is_recorded(check):
            return bool(self._operators.truth(self._calls.ready(check)(kinds, cls)))
        if isinstance(kinds, abc.ABCMeta) and isinstance(cls, type):
            return self._note_subclass(cls, kinds)
        return issubclass(cls, kinds)

    def _power(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        operands = (base, exponent, modulus)
        if modulus is None and not all(type(x) in ATOMS for x in operands):
            return self._operators.pow(base, exponent)
        for x in operands:
            self._recorder.need_passive(x)
        if modulus is None or not any(map(is_symbolic, operands)):
            return pow(base, exponent, modulus)
        return power_modulo(base, exponent, modulus)

    def _identity(self, x: Any) -> int:
        if isinstance(x, torch.Tensor):
            need_no_item(x)
            return identity_of(x)
        if not self._recorder.is_outside(x):
            raise self._recorder.unsupported(
                "the id of an object inside a traced function",
                why="it is another one on every call",
                fix="compare objects with `is`",
            )
        asked = functools.partial(id, x)
        return int(self._recorder.note(reads.CALL, asked, (), asked()))

    def _hash(self, x: Any) -> Any:
        x = self._operators.plain(x)
        method = self._operators.special(x, "__hash__")
        if method is not None:
            return method()
        if type(x) is str or type(x) is bytes:  # which another process answers otherwise
            return self._recorder.note(reads.CALL, hash, (x,), hash(x))
        return hash(x)


def _item(x: Any) -> Any:
    """The number in a tensor that the program may be asking about."""
    return x.item() if isinstance(x, torch.Tensor) else x
