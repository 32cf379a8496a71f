"""`ModeRecorder`: the part of a tracer that records changes of the modes that ops run in.

A mode that the program changes becomes a call in the graph, before the next op. What it leaves
changed it leaves to its caller, too, for what comes after it runs in the same modes as after eager
execution; only inference mode must be as it was.

Where the modes of a call are not guarded, the program runs in those of its caller. There, `with`
blocks of the program set their mode even if it is the one that the trace began with, and what
follows them runs in the caller's mode again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.autocast import autocast_state
from anyshape.torch_compat.thread_state import saved_tensors_hooks, set_grad_enabled
from anyshape.torch_compat.torch_function import function_mode_depth
from anyshape.trace.execution_modes import (
    leave_modes,
    restore_autocast,
    restore_grad,
    set_autocast,
    set_inference,
    set_saved_hooks,
)
from anyshape.trace.graph import Node

if TYPE_CHECKING:
    from anyshape.torch_compat.process_flag import Place
    from anyshape.trace.graph import Graph
    from anyshape.trace.module_call import ModuleCall

_is_grad_enabled: Final = torch.is_grad_enabled
_is_inference: Final = torch.is_inference_mode_enabled
_default_dtype: Final = torch.get_default_dtype
_SETS_GRAD: Final = torch.no_grad | torch.enable_grad | torch.set_grad_enabled
_RECOMPUTES: Final = "torch.utils.checkpoint"  # its hooks give the tensors that were saved


class ModeRecorder:
    """The modes at this point of the trace, and at its start."""

    graph: Graph
    epoch: int
    module_call: ModuleCall | None

    def __init__(self, *, follows_caller: bool = False) -> None:
        self._grad = _is_grad_enabled()
        self._inference = self.uses_inference = _is_inference()
        self.dtype = self._dtype = _default_dtype()
        self._autocast = autocast_state()
        self._autocast_is_set = not self._autocast  # else the program sets it, whatever it is
        self._hooks = self._outer_hooks = _hooks()
        self._follows_caller = follows_caller
        self._blocks: dict[Any, int] = {}  # how many the program is in, by what they set
        self._set: dict[Any, Any] = {}  # what the program has set; nothing is the caller's
        self.caller_flags: list[Any] | None = None  # all of them, where a part has run already
        self.read_places: dict[Place, Any] = {}  # those that an exported program has read
        self.flags: dict[Place, Any] = {}  # the settings of the process that the program has made
        self.started_in = (
            self._grad,
            self._inference,
            self._autocast,
            self._dtype,
            function_mode_depth(),
        )

    @property
    def modes(self) -> tuple[Any, ...]:
        """The modes, for `enter_modes`."""
        flags = tuple(self.flags.items())
        return (self._grad, self._inference, self._autocast, self._dtype, self._inner_hooks, flags)

    @property
    def _inner_hooks(self) -> Any:
        return None if _is_same(self._hooks, self._outer_hooks) else self._hooks

    def set_modes(self, modes: tuple[Any, ...]) -> None:
        """Take back what was recorded since `modes` was read."""
        self._grad, self._inference, self._autocast, self._dtype, hooks, flags = modes
        self.flags = dict(flags)
        self._hooks = self._outer_hooks if hooks is None else hooks

    def put_flags(self, found: dict[Place, Any]) -> None:
        """Note what settings of the process are from here on."""
        if any(place.is_coupled for place in found):
            self.flags = {p: value for p, value in self.flags.items() if not p.is_coupled}
        self.flags.update(found)
        self.epoch += 1  # the same call may give another value from here on

    def block(self, manager: Any) -> Any:
        """What a `with` statement enters in place of a context manager that sets a mode."""
        if not self._follows_caller or not isinstance(manager, _SETS_GRAD | torch.autocast):
            return manager
        return _Block(self, manager)

    def follow_modes(self, kind: Any = None, more: int = 0) -> None:
        """Set the modes of the blocks that the program is in; outside of them, the caller's.

        A program that was traced under autocast runs under it, whoever calls it.
        """
        self._blocks[kind] = self._blocks.get(kind, 0) + more
        grad, _, autocast, *_ = self.started_in
        for func, restore, was, state in (
            (set_grad_enabled, restore_grad, grad, _is_grad_enabled()),
            (set_autocast, restore_autocast, autocast, autocast_state()),
        ):
            is_own = self._blocks.get(func) or state != was or (func is set_autocast and was)
            wanted = state if is_own else None
            if wanted != self._set.get(func):
                self._set[func] = wanted
                self.epoch += func is set_autocast
                if wanted is None:
                    self._mode_change(restore)
                else:
                    self._mode_change(func, wanted)

    def sync_modes(self) -> None:
        """Record the changes of modes since the last call."""
        self._switch_modes()
        self._switch_hooks()

    def _switch_modes(self) -> None:
        if _is_inference() is not self._inference:
            self._inference = _is_inference()
            self.uses_inference = True
            self._mode_change(set_inference, self._inference)
        if _is_grad_enabled() is not self._grad:
            if self._grad:
                self._need_backward()
            self._grad = _is_grad_enabled()
            self._change(set_grad_enabled, self._grad)
        now = autocast_state()
        if now != self._autocast or not self._autocast_is_set:
            self._autocast = now
            self._autocast_is_set = True
            self.epoch += 1  # the same call may give another value from here on
            self._change(set_autocast, now)
        if _default_dtype() is not self._dtype:
            self._dtype = _default_dtype()
            self.epoch += 1
            self._mode_change(torch.set_default_dtype, self._dtype)

    def _need_backward(self) -> None:
        """Raise if gradients are off for a forward whose backward would be lost."""
        raise NotImplementedError

    def _switch_hooks(self) -> None:
        """Note which hooks get the tensors that autograd saves."""
        now = _hooks()
        if not _is_same(now, self._hooks):
            self._hooks = now
            self._mode_change(set_saved_hooks, self._inner_hooks)

    def _change(self, func: Any, state: Any) -> None:
        """Set the gradient mode or autocast."""
        if self._follows_caller:
            self.follow_modes()
        else:
            self._mode_change(func, state)

    def _mode_change(self, func: Any, *state: Any) -> None:
        node = Node(func, state, {}, capture_site(), self.epoch, self.module_call)
        self.graph.nodes.append(node)

    def settle_modes(self) -> None:
        """Record the modes that the program has changed and leaves changed, as its caller sees."""
        if self.started_in[1] != _is_inference():
            raise refused(
                UnsupportedError,
                "the program changes inference mode and leaves it changed",
                fix="change it in a with block, or outside the traced function",
            )
        grad, _, autocast, dtype, _ = self.started_in
        pairs = (
            (grad, _is_grad_enabled()),
            (autocast, autocast_state()),
            (dtype, _default_dtype()),
        )
        left = [None if was == now else now for was, now in pairs]
        if any(state is not None for state in left):
            self.graph.nodes.append(Node(leave_modes, tuple(left), {}, None, self.epoch, None))


class _Block:
    """A `with` block that sets a mode."""

    __slots__ = ("_func", "_manager", "_recorder")

    def __init__(self, recorder: ModeRecorder, manager: Any) -> None:
        is_autocast = isinstance(manager, torch.autocast)
        self._recorder, self._manager = recorder, manager
        self._func = set_autocast if is_autocast else set_grad_enabled

    def __enter__(self) -> Any:
        entered = self._manager.__enter__()
        self._recorder.follow_modes(self._func, 1)
        return entered

    def __exit__(self, *error: Any) -> Any:
        handled = self._manager.__exit__(*error)
        self._recorder.follow_modes(self._func, -1)
        return handled


def _hooks() -> Any:
    found = saved_tensors_hooks()
    return None if found is None or found[0].__module__ == _RECOMPUTES else found


def _is_same(a: Any, b: Any) -> bool:
    """Whether two pairs of hooks are the same; each is read as a new pair."""
    both = a is not None and b is not None
    return (a[0] is b[0] and a[1] is b[1]) if both else a is b
