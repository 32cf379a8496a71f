"""The modes that ops run in besides the tracer's: gradients, inference, autocast, default dtype,
and settings of the process.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import ConstraintError, LoadError
from anyshape.rules.dispatch.autocast import POLICIES, autocast_state
from anyshape.torch_compat.process_flag import (
    FLAG_GETTERS,
    FLAG_SETTERS,
    Place,
    read_flags,
    set_flags,
)
from anyshape.torch_compat.thread_state import (
    pop_saved_tensors_hooks,
    push_saved_tensors_hooks,
    set_grad_enabled,
)
from anyshape.trace.record.effect.deferral import defer, is_deferring

if TYPE_CHECKING:
    from collections.abc import Iterator

_CACHE: Final = "cache"
_IDLE: Final = "idle"


def autocast_dtypes() -> dict[str, torch.dtype]:
    """The dtype that autocast has, or would have, on each device."""
    return {device: torch.get_autocast_dtype(device) for device in POLICIES}


def autocast_setting(dtypes: dict[str, torch.dtype]) -> tuple[tuple[str, Any], ...]:
    """What `autocast_state` gives, whether casts of leaves are not kept, and the dtypes on devices
    where autocast is off, unless they are the caller's `dtypes`.
    """
    state: tuple[tuple[str, Any], ...] = autocast_state()
    now, on = autocast_dtypes(), dict(state)
    idle = tuple((d, now[d]) for d in POLICIES if d not in on and now[d] is not dtypes[d])
    if not torch.is_autocast_cache_enabled():
        state = (*state, (_CACHE, False))
    return (*state, (_IDLE, idle)) if idle else state


def set_autocast(setting: tuple[Any, ...], left: bool = False) -> None:
    """Make autocast what `autocast_setting` gave. Its casts of leaves live until the outermost
    block is `left`, which may be one of the caller's.
    """
    dtypes = _callers.kept[-1].autocast_dtypes if _callers.kept else {}
    _make_autocast(setting, dtypes, left=left)


def _make_autocast(setting: tuple[Any, ...], dtypes: dict[str, torch.dtype], *, left: bool) -> None:
    wanted = dict(setting)
    torch.set_autocast_cache_enabled(wanted.pop(_CACHE, True))
    dtypes = {**dtypes, **dict(wanted.pop(_IDLE, ())), **wanted}
    for device in POLICIES:
        torch.set_autocast_enabled(device, device in wanted)
        if device in dtypes:
            torch.set_autocast_dtype(device, dtypes[device])
    if left and not _autocast_depth():
        torch.clear_autocast_cache()


class _Casts(threading.local):
    """How many traces keep the casts of autocast in this thread."""

    keepers = 0


_casts = _Casts()


@contextmanager
def keep_casts() -> Iterator[None]:
    """Let no block that is left inside, where a program is traced, end the casts that are kept."""
    torch.autocast_increment_nesting()
    _casts.keepers += 1
    try:
        yield
    finally:
        _casts.keepers -= 1
        torch.autocast_decrement_nesting()


def _autocast_depth() -> int:
    """How many blocks of autocast this thread is in: those of the callers of generated code."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting() - _casts.keepers


def autocast_devices(setting: tuple[Any, ...]) -> dict[str, torch.dtype]:
    """The devices on which a setting has autocast on, with their dtypes."""
    return {device: dtype for device, dtype in setting if device not in (_CACHE, _IDLE)}


def casts_kept(setting: tuple[Any, ...]) -> dict[str, torch.dtype]:
    """The devices, with their dtypes, on which autocast keeps the casts of leaves."""
    return {} if (_CACHE, False) in setting else autocast_devices(setting)


class _Inference(threading.local):
    """The inference modes that generated code has entered in this thread, innermost last."""

    def __init__(self) -> None:
        self.entered: list[Any] = []


_inference = _Inference()


def set_inference(enabled: bool) -> None:
    """Enter an inference mode, or leave the one entered last."""
    if not enabled and _inference.entered:
        _inference.entered.pop().__exit__(None, None, None)
        return
    mode = torch.inference_mode(enabled)
    mode.__enter__()
    _inference.entered.append(mode)


class _Hooks(threading.local):
    """The pairs of hooks for saved tensors that generated code has pushed in this thread."""

    pushed = 0


_hooks = _Hooks()


def set_saved_hooks(hooks: tuple[Any, Any] | None) -> None:
    """Let these hooks get the tensors that autograd saves; None: those of the caller, if any."""
    while _hooks.pushed:
        pop_saved_tensors_hooks()
        _hooks.pushed -= 1
    if hooks is not None:
        push_saved_tensors_hooks(*hooks)
        _hooks.pushed += 1


class _Callers(threading.local):
    """The modes of the callers of generated code in this thread, innermost last."""

    def __init__(self) -> None:
        self.kept: list[keep_modes] = []


_callers = _Callers()


def restore_grad() -> None:
    """Make the gradient mode that of the caller."""
    set_grad_enabled(_callers.kept[-1].grad)


def restore_autocast(left: bool = False) -> None:
    """Make autocast that of the caller; `left`: see `set_autocast`."""
    set_autocast(_callers.kept[-1].autocast, left)


class _Blocks(threading.local):
    """The blocks of `warnings.catch_warnings` that generated code has entered in this thread."""

    def __init__(self) -> None:
        self.entered: list[Any] = []


_blocks = _Blocks()


def enter_warnings(options: dict[str, Any]) -> Any:
    """Enter a block in which warnings are caught; gives the block."""
    block = warnings.catch_warnings(**options)
    block.__enter__()
    _blocks.entered.append(block)
    return block


def leave_warnings(block: Any) -> None:
    """Leave a block that was entered."""
    _blocks.entered.remove(block)
    block.__exit__(None, None, None)


def filter_warnings(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Change the filters of the block that was entered last."""
    getattr(warnings, name)(*args, **named)


def set_flag(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Call a function of torch that sets something of the process.

    A program leaves what it leaves in eager execution, since all its calls are repeated. After an
    exception the call is run again from where it began.
    """
    if name not in FLAG_SETTERS:
        raise LoadError(f"{name!r} is not a setting of this release of torch", code="AS504")
    if _callers.kept and _callers.kept[-1].flags is None:
        _callers.kept[-1].flags = read_flags()
    FLAG_SETTERS[name](*args, **named)


def need_flag(getter: str, args: tuple[Any, ...], value: Any) -> None:
    """Raise unless a setting of the process, which the program reads and sets, is what it was."""
    found = Place(getter, args).get() if getter in FLAG_GETTERS else None
    if found != value:
        raise ConstraintError(
            f"{getter}({', '.join(map(repr, args))}) is {found!r} in this process, and was"
            f" {value!r} when the program was exported",
            why="the program sets it, and then what it was",
            fix="set it as it was, or export again",
            code="AS202",
        )


def leave_modes(grad: bool | None, autocast: tuple[Any, ...] | None, dtype: Any) -> None:
    """Leave these modes to the caller when the program has ended; None: as they were.

    Effects that wait are done after the program; else the block around it leaves the modes.
    """
    if is_deferring():
        defer(partial(_set_modes, grad, autocast, dtype))
    elif _callers.kept:
        kept = _callers.kept[-1]
        kept.grad = kept.grad if grad is None else grad
        kept.autocast = kept.autocast if autocast is None else autocast
        kept.dtype = kept.dtype if dtype is None else dtype
    else:
        _set_modes(grad, autocast, dtype)


def _set_modes(grad: bool | None, autocast: tuple[Any, ...] | None, dtype: Any) -> None:
    if grad is not None:
        set_grad_enabled(grad)
    if autocast is not None:
        set_autocast(autocast)
    if dtype is not None:
        torch.set_default_dtype(dtype)


class keep_modes:  # noqa: N801  used as a statement of generated code
    """Restore what a program changes of these modes, unless it leaves them; after an exception all.

    Settings of the process are restored after an exception alone.
    """

    def __enter__(self) -> None:
        self.flags: list[Any] | None = None  # as they were, if one was set
        self.depth = len(_inference.entered)
        self.blocks = len(_blocks.entered)
        self.hooks, _hooks.pushed = _hooks.pushed, 0  # what a caller has pushed stays
        self.grad = torch.is_grad_enabled()
        self.autocast_dtypes = autocast_dtypes()
        self.autocast = autocast_setting(self.autocast_dtypes)
        self.autocast_depth = _autocast_depth()
        self.dtype = torch.get_default_dtype()
        self.entered_in = (self.grad, self.autocast, self.dtype)
        _callers.kept.append(self)

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        _callers.kept.pop()
        if error is not None:
            self.grad, self.autocast, self.dtype = self.entered_in
        while len(_inference.entered) > self.depth:
            _inference.entered.pop().__exit__(None, None, None)
        while len(_blocks.entered) > self.blocks:
            leave_warnings(_blocks.entered[-1])
        set_saved_hooks(None)
        _hooks.pushed = self.hooks
        set_grad_enabled(self.grad)
        while _autocast_depth() > self.autocast_depth:  # blocks that an error left open
            torch.autocast_decrement_nesting()
        if error is not None or autocast_setting(self.autocast_dtypes) != self.autocast:
            _make_autocast(self.autocast, self.autocast_dtypes, left=error is not None)
        if torch.get_default_dtype() is not self.dtype:
            torch.set_default_dtype(self.dtype)
        if error is not None and self.flags is not None:
            set_flags(self.flags)


def enter_modes(modes: tuple[Any, ...]) -> None:
    """Enter the modes in which a part of a program begins."""
    grad, inference, autocast, dtype, hooks, _ = modes  # settings stay as they were left
    if torch.is_inference_mode_enabled() is not inference:
        set_inference(inference)
    set_grad_enabled(grad)
    set_autocast(autocast)
    torch.set_default_dtype(dtype)
    set_saved_hooks(hooks)


WARNING_BLOCKS: Final = frozenset((enter_warnings, leave_warnings, filter_warnings))
MODE_CHANGES: Final = (
    set_grad_enabled,
    set_inference,
    set_autocast,
    set_saved_hooks,
    restore_grad,
    restore_autocast,
    torch.clear_autocast_cache,
    torch.set_default_dtype,
    set_flag,
    leave_modes,
)
