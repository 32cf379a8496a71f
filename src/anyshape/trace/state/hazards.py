"""Python that would bake a value into a trace: random numbers, clocks, seeds, exact types.

While a trace runs, the functions of `random`, `numpy.random` and `time` that give another value
each time raise in the thread that traces, `torch.manual_seed` is recorded, and the state of the
random generators is compared afterwards, to catch what was imported by another name.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import random
import secrets
import sys
import textwrap
import threading
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.env.site import Site, is_framework, user_site
from anyshape.errors import AnyshapeError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.generator import recorded, set_seed
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.current import current, is_tracing
from anyshape.tensor.sym_tensor import ESCAPED
from anyshape.torch_compat.message import TORCHSCRIPT
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.state.substitutes import is_filled
from anyshape.trace.whole import apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

    from anyshape.trace.tracer import Tracer

_CLOCKS: Final = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
)
_DRAWS: Final = (
    "random",
    "uniform",
    "randint",
    "randrange",
    "choice",
    "choices",
    "sample",
    "shuffle",
    "gauss",
    "normalvariate",
    "getrandbits",
    "betavariate",
    "expovariate",
    "triangular",
)
_NUMPY_DRAWS: Final = (
    "rand",
    "randn",
    "randint",
    "random",
    "uniform",
    "normal",
    "choice",
    "shuffle",
    "permutation",
    "random_sample",
    "default_rng",
)
_SECRETS: Final = ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice")
_SOURCES: Final[tuple[tuple[Any, tuple[str, ...]], ...]] = (
    (time, _CLOCKS),
    (random, _DRAWS),
    (os, ("urandom",)),
    (uuid, ("uuid1", "uuid4")),
    (secrets, _SECRETS),
)
_OVER_DEFAULT: Final = {
    "get_rng_state": "get_state",
    "set_rng_state": "set_state",
    "initial_seed": "initial_seed",
}
_WRAPPED: Final = (ESCAPED, TORCHSCRIPT)
_TRANSFORMS: Final = ("vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian")


def _refusal(what: str, why: str, fix: str, site: Site | None = None) -> UnsupportedError:
    site = site or user_site(2)
    return refused(UnsupportedError, what + (f" at {site}" if site else ""), why=why, fix=fix)


def _baked(what: str, site: Site | None = None) -> UnsupportedError:
    return _refusal(
        f"{what} inside a traced function",
        "its value would be frozen into the program, the same for every call",
        "pass the value as an argument, or use a random op of torch",
        site,
    )


def _guarded(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if is_tracing() and not is_framework(sys._getframe(1).f_code.co_filename):
            raise _baked(name)
        return original(*args, **kwargs)

    return guarded


def _seeded(original: Any) -> Any:
    @functools.wraps(original)
    def manual_seed(seed: int) -> Any:
        if not is_tracing():
            return original(seed)
        current().emit(set_seed, (seed,))
        return torch.default_generator

    return manual_seed


def _recorded(original: Any, method: str) -> Any:
    """A function over the default generator, recorded while a trace runs."""

    @functools.wraps(original)
    def called(*args: Any) -> Any:
        form = recorded(getattr(torch.default_generator, method)) if is_tracing() else None
        return original(*args) if form is None else form(*args)

    return called


def _applied(original: classmethod[Any, Any, Any]) -> Any:
    """`apply` of a user's autograd.Function, see `trace/whole.py`."""

    def called(cls: Any, *args: Any, **kwargs: Any) -> Any:
        method = original.__get__(None, cls)
        return apply(current(), method, args, kwargs) if is_tracing() else method(*args, **kwargs)

    return classmethod(called)


def _transform(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            raise _refusal(
                f"torch.func.{name} inside a traced function",
                "it wraps tensors below the level that is traced",
                "write the batch dimension out, or apply the transform to the traced program",
            )
        return original(*args, **kwargs)

    return transform


def _plain_truths(original: Any) -> Any:
    """For a function whose parser takes no symbolic truth value, which `n > 1 and ...` may be."""

    @functools.wraps(original)
    def called(*args: Any, **kwargs: Any) -> Any:
        args = tuple([bool(a) if type(a) is SymBool else a for a in args])
        named = {k: bool(a) if type(a) is SymBool else a for k, a in kwargs.items()}
        return original(*args, **named)

    return called


def _generator(original: Any) -> Any:
    class _Kind(type(original)):  # type: ignore[misc]  # the metaclass of torch's class
        def __instancecheck__(cls, x: Any) -> bool:
            return isinstance(x, original)

    class Generator(metaclass=_Kind):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            if is_tracing():
                raise _baked("a torch.Generator made")
            return original(*args, **kwargs)

    return Generator


class _Patches:
    """The replaced functions, shared by all threads that trace."""

    lock = threading.Lock()
    users = 0
    plan: list[_Patch] = []  # noqa: RUF012  shared on purpose
    with_numpy = False

    @classmethod
    def enter(cls) -> None:
        with cls.lock:
            if cls.users == 0:
                cls._refresh()
                for owner, name, _, stand_in in cls.plan:
                    setattr(owner, name, stand_in)
            cls.users += 1

    @classmethod
    def _refresh(cls) -> None:
        """Plan again if numpy came in, or somebody else replaced one of the functions."""
        with_numpy = "numpy.random" in sys.modules
        fresh = with_numpy is cls.with_numpy and cls.plan
        if not fresh or any(_now(p.owner, p.name) is not p.original for p in cls.plan):
            cls.plan = _plan()
            cls.with_numpy = with_numpy

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.users -= 1
            if cls.users == 0:
                for owner, name, original, _ in cls.plan:
                    setattr(owner, name, original)


class _Patch(NamedTuple):
    """A function of a module, and what stands in for it while a trace runs."""

    owner: Any
    name: str
    original: Any
    stand_in: Any


def _now(owner: Any, name: str) -> Any:
    """What a module or a class has under a name, as it is stored there."""
    found = vars(owner).get(name)
    return getattr(owner, name) if found is None else found


@functools.cache
def _made(original: Any, make: Any, *args: Any) -> Any:
    return make(original, *args)


def _plan() -> list[_Patch]:
    """All functions to replace, as they are now."""
    wanted: list[tuple[Any, str, Any, Any]] = []
    for module, names in _SOURCES:
        wanted += [(module, n, _guarded, f"{module.__name__}.{n}") for n in names]
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        wanted += [(numpy_random, n, _guarded, f"numpy.random.{n}") for n in _NUMPY_DRAWS]
    wanted += [(torch.func, n, _transform, n) for n in _TRANSFORMS]
    wanted += [(torch, n, _transform, n) for n in ("vmap", "cond")]
    found = [
        _Patch(owner, name, getattr(owner, name), _made(getattr(owner, name), make, arg))
        for owner, name, make, arg in wanted
        if hasattr(owner, name)
    ]
    for owner in (torch, torch.random):
        found.append(
            _Patch(owner, "manual_seed", owner.manual_seed, _made(owner.manual_seed, _seeded))
        )
        for name, method in _OVER_DEFAULT.items():
            now = getattr(owner, name)
            found.append(_Patch(owner, name, now, _made(now, _recorded, method)))
    function = torch.autograd.Function
    method = _now(function, "apply")
    found.append(_Patch(function, "apply", method, _made(method, _applied)))
    attention = F.scaled_dot_product_attention
    stand_in = _made(attention, _plain_truths)
    found.append(_Patch(F, "scaled_dot_product_attention", attention, stand_in))
    found.append(_Patch(torch, "Generator", torch.Generator, _made(torch.Generator, _generator)))
    return found


@contextmanager
def guarded_python(codes: Iterable[Any], tracer: Tracer) -> Iterator[None]:
    """Run a trace inside: what would bake a value in raises, and generators are as before.

    Unless parts of the program were run, which may have drawn from torch's generators.
    """
    states = _states(codes, alone=threading.active_count() == 1)
    _Patches.enter()
    try:
        yield
        if tracer.has_run:
            states = states[0], []
        _need_same(states, next((Site(f.__code__, 0) for f in codes), None))
    except BaseException:
        if not tracer.has_run:
            _set_back(states)
        raise
    finally:
        _Patches.leave()


_States: TypeAlias = "tuple[Any, list[tuple[torch.Generator, torch.Tensor]]]"


def _states(codes: Iterable[Any], *, alone: bool) -> _States:
    """The state of Python's generator, and of those of torch that the program can reach.

    Where other threads run, which may draw from the generators that all share, only the others.
    """
    found = {id(torch.default_generator): torch.default_generator} if alone else {}
    for f in codes:
        reached = [f.__globals__.get(name) for name in f.__code__.co_names]
        reached += [cell.cell_contents for cell in f.__closure__ or () if is_filled(cell)]
        found.update({id(g): g for g in reached if isinstance(g, torch.Generator)})
    return random.getstate() if alone else None, [(g, g.get_state()) for g in found.values()]


def _need_same(states: _States, site: Site | None) -> None:
    if states[0] is not None and random.getstate() != states[0]:
        raise _baked("Python's random", site)
    with DisableTorchFunction():
        same = all(torch.equal(g.get_state(), state) for g, state in states[1])
    if not same:
        raise _refusal(
            "the traced function sets the state of torch's random generator",
            "only torch.manual_seed(seed) can be recorded",
            "set the state outside the traced function",
            site,
        )


def _set_back(states: _States) -> None:
    if states[0] is not None:
        random.setstate(states[0])
    for g, state in states[1]:
        g.set_state(state)


# ---------------------------------------------------------------------- ways around the tracer


@contextmanager
def escapes_named() -> Iterator[None]:
    """Give an escape that another layer of torch has wrapped its own name again."""
    try:
        yield
    except RuntimeError as e:
        text = str(e)
        if isinstance(e, AnyshapeError) or not any(sign in text for sign in _WRAPPED):
            raise
        site = _site_of(e)
        raise refused(
            UnsupportedError,
            "a traced tensor reached code that is not Python" + (f" at {site}" if site else ""),
            why="the call went around the tracer, as inside torch.jit.script; a traced tensor has"
            " no data to compute with",
            fix="call the ops on the tensors directly, or keep this code out of the function",
        ) from e


def _site_of(e: BaseException) -> Site | None:
    """The user's line that an exception came through last."""
    found = None
    trace = e.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_framework(code.co_filename):
            found = Site(code, trace.tb_lasti)
        trace = trace.tb_next
    return found


# ---------------------------------------------------------------------- exact types


def need_no_exact_types(codes: Iterable[CodeType]) -> None:
    """Raise if the program asks `type(x) is torch.Tensor`, which a traced tensor does not pass."""
    for code in codes:
        names = code.co_names
        line = _exact_type_test(code) if "type" in names and "Tensor" in names else 0
        if line:
            raise refused(
                UnsupportedError,
                f"an exact type test at {code.co_filename}:{line} in {code.co_name}",
                why="a traced tensor is a subclass of torch.Tensor, so the test takes another"
                " branch than with a real one",
                fix="use isinstance(x, torch.Tensor)",
            )


@functools.lru_cache(maxsize=4096)
def _exact_type_test(code: CodeType) -> int:
    """The line of a test like `type(x) is torch.Tensor`, or 0."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError, TypeError, IndentationError):
        return 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asks = any(_is_type_call(side) for side in sides)
            if asks and any(ast.unparse(side) in ("torch.Tensor", "Tensor") for side in sides):
                return code.co_firstlineno + node.lineno - 1
    return 0


def _is_type_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
