"""The `__torch_function__` protocol: switch it off, ask for active modes, opt a class out."""

from __future__ import annotations

import contextlib
import functools
import re
import types
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C import DisableTorchFunction
from torch.nn.modules import activation
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ATTENTION_BY_OPS",
    "DISPATCHING_WRAPPERS",
    "ENTER_MODE",
    "MODE_QUESTIONS",
    "SAME_SIGNATURE_MODULES",
    "DisableTorchFunction",
    "disabled_torch_function",
    "function_mode_depth",
    "has_function_mode",
    "is_core_function",
    "is_plain",
    "need_parsed",
    "sees_ops",
    "without_mode",
    "without_modes",
]

function_mode_depth: Final = torch._C._len_torch_function_stack
"""The number of active function modes. Our numbers hide their `__torch_function__` below a mode,
because torch's parser takes a number in a list of sizes only if it has none."""

disabled_torch_function: Final[Any] = torch._C._disabled_torch_function_impl
"""The `__torch_function__` of a class that does not override torch functions. torch compares by
identity: only this object counts as "no override"."""


def has_function_mode() -> bool:
    """Whether a mode is active that may change what torch functions do. The mode that stands for
    the default device only fills in an argument.
    """
    if not function_mode_depth():
        return False
    modes = [torch._C._get_function_stack_at(i) for i in range(function_mode_depth())]
    return any(type(mode) is not DeviceContext for mode in modes)


_ASKS: Final = re.compile(r"_(get|len|is|has)_(torch_)?function_(stack|mode)\w*")
_MOVES: Final = re.compile(r"_(push|pop)_(mode|torch_function)\w*")


def _questions() -> Iterator[Any]:
    """The functions in C that read the stack of modes, and those of `torch.overrides` that call
    them and move nothing.
    """
    for name, f in vars(torch._C).items():
        if _ASKS.fullmatch(name):
            yield f
    for f in vars(torch.overrides).values():
        if isinstance(f, types.FunctionType) and f.__module__ == "torch.overrides":
            names = f.__code__.co_names
            if any(map(_ASKS.fullmatch, names)) and not any(map(_MOVES.match, names)):
                yield f


MODE_QUESTIONS: Final = tuple(_questions())
"""The functions that tell which modes are active. A trace is one, and no program may see it."""


@contextlib.contextmanager
def without_mode(mode: Any) -> Iterator[bool]:
    """Take a mode off the stack, if it is on it; gives whether it is the innermost one. torch takes
    a mode off by itself while the mode handles a call.
    """
    before = [torch._C._get_function_stack_at(i) for i in range(function_mode_depth())]
    _replace_modes([other for other in before if other is not mode])
    try:
        yield not before or before[-1] is mode
    finally:
        _replace_modes(before)


@contextlib.contextmanager
def without_modes() -> Iterator[None]:
    """Take all modes off the stack, but for the default device: questions of this system's own are
    no calls of the program's. Without it a mode of the user's would see them.
    """
    before = [torch._C._get_function_stack_at(i) for i in range(function_mode_depth())]
    _replace_modes([mode for mode in before if type(mode) is DeviceContext])
    try:
        yield
    finally:
        _replace_modes(before)


def _replace_modes(modes: list[Any]) -> None:
    for _ in range(function_mode_depth()):
        torch._C._pop_torch_function_stack()
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)


def is_core_function(f: Any) -> bool:
    """Whether a function in C++ is one of torch's own, which takes a tensor as it is. Ops of
    `torch.ops` are of C++ too, and hand a tensor with a `__torch_function__` to it.
    """
    return str(getattr(f, "__module__", "")).partition(".")[2].startswith("_C")


def sees_ops(kind: type) -> bool:
    """Whether modes of a class see every op or function of torch. torch's own function modes are
    about the few functions that they name; a trace does not hand its calls to the others.
    """
    if issubclass(kind, TorchDispatchMode):
        return True
    return issubclass(kind, TorchFunctionMode) and kind.__module__.partition(".")[0] != "torch"


ENTER_MODE: Final = (TorchFunctionMode.__enter__, TorchDispatchMode.__enter__)
"""What `with` calls for a mode. Without it, a mode that is entered by a call goes unnoticed."""

_PLAIN_DISPATCH: Final[Any] = torch.Tensor.__torch_dispatch__


@functools.cache
def is_plain(kind: Any) -> bool:
    """Whether ops on tensors of a class are torch's own and return plain tensors, as for
    `nn.Parameter`: the class overrides neither functions nor kernels.
    """
    plain = kind is torch.Tensor or kind.__torch_function__ is disabled_torch_function
    return plain and kind.__torch_dispatch__ is _PLAIN_DISPATCH


DISPATCHING_WRAPPERS: Final = frozenset(("torch._jit_internal",))
"""Modules whose wrappers choose between two implementations (`boolean_dispatch`). Their body is the
wrapper itself; unwrapping them would lose the choice."""

SAME_SIGNATURE_MODULES: Final = frozenset(("torch", "torch.functional", "torch._tensor"))
"""Modules whose Python functions have the signatures of the ops that they are named after, so that
the rule of the op applies to them."""

ATTENTION_BY_OPS: Final[Any] = activation._is_make_fx_tracing
"""What `nn.MultiheadAttention` asks before it calls a kernel that computes all of it: where the
answer is yes, it computes by single ops, and gives the result the layout that the kernel gives."""

# `DisableTorchFunction` is a context manager in which torch functions on tensors run as usual,
# without reaching modes or `__torch_function__`. Rules and the runtime need real results while a
# trace is active; the public `torch._C.DisableTorchFunctionSubclass` leaves modes on.


class _Parsed(Exception):
    """A call came to an op."""


class _NoOp(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, *_: Any, **__: Any) -> Any:
        raise _Parsed


def need_parsed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the `TypeError` of torch's parser if a function does not take these arguments.

    Nothing is computed: the call ends at the first op.
    """
    no_op = _NoOp()  # type: ignore[no-untyped-call]
    with DisableTorchFunction(), no_op, contextlib.suppress(_Parsed):
        try:
            func(*args, **kwargs)
        except (_Parsed, TypeError):
            raise
        except Exception:
            return  # of checks after the parser's
