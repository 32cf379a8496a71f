"""`ModeRecorder`: the part of a tracer that records changes of the modes that ops run in.

A mode that the program changes becomes a call in the graph, before the next op. What it leaves
changed it leaves to its caller, too, for what comes after it runs in the same modes as after eager
execution; only inference mode must be as it was.

Where the modes of a call are not guarded, the program runs in those of its caller. There, blocks
and calls of the program set their mode even if it is the one that the trace began with, and what
follows a block runs in the caller's mode again.

Autocast keeps its casts of leaves until the outermost block is left; a program that has left one
tells `set_autocast`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.autocast import autocast_state
from anyshape.torch_compat.process_flag import FLAG_GETTERS
from anyshape.torch_compat.thread_state import saved_tensors_hooks, set_grad_enabled
from anyshape.torch_compat.torch_function import function_mode_depth
from anyshape.trace.graph.graph import Node
from anyshape.trace.mode.execution_modes import (
    autocast_dtypes,
    autocast_setting,
    leave_modes,
    restore_autocast,
    restore_grad,
    set_autocast,
    set_inference,
    set_saved_hooks,
)

if TYPE_CHECKING:
    from anyshape.torch_compat.process_flag import Place
    from anyshape.trace.graph.graph import Graph
    from anyshape.trace.graph.module_call import ModuleCall

_is_grad_enabled: Final = torch.is_grad_enabled
_is_inference: Final = torch.is_inference_mode_enabled
_default_dtype: Final = torch.get_default_dtype
MANAGERS: Final = (
    *(torch.no_grad, torch.enable_grad, torch.set_grad_enabled),
    torch.autocast,
)
_UNKNOWN: Final = object()
_RECOMPUTES: Final = "torch.utils.checkpoint"  # its hooks give the tensors that were saved


class ModeRecorder:
    """The modes at this point of the trace, and at its start."""

    graph: Graph
    epoch: int
    module_call: ModuleCall | None

    def __init__(self, *, follows_caller: bool = False) -> None:
        self._grad: bool | None = _is_grad_enabled()
        self._inference = self.uses_inference = _is_inference()
        self.dtype = self._dtype = _default_dtype()
        self.outer_dtypes = autocast_dtypes()  # the caller's
        self._autocast = self.outer_autocast = self._autocast_now()  # which is the caller's
        self.uses_autocast = False  # whether a block was entered, or a setting made
        self._autocast_depth = 0  # of the blocks of the program
        self._left_autocast = False  # whether all of these were left since the last op
        self._autocast_is_set = not self._autocast  # else the program sets it, whatever it is
        self._hooks = self._outer_hooks = _hooks()
        self._follows_caller = follows_caller
        self._own: set[Any] = set()  # what is set by the program here, whatever it is
        self._own_before: dict[int, list[tuple[Any, bool]]] = {}  # by the ids of managers
        self.has_read_grad = False
        self._set: dict[Any, Any] = {}  # what the program has set; nothing is the caller's
        self.caller_flags: list[Any] | None = None  # all of them, where a part has run already
        self.read_places: dict[Place, Any] = {}  # what an exported program has read of its caller's
        self.flags: dict[Place, Any] = {}  # the settings of the process that the program has made
        self.started_in = (
            self._grad,
            self._inference,
            autocast_state(),
            self._dtype,
            function_mode_depth(),
        )

    @property
    def modes(self) -> tuple[Any, ...]:
        """The modes, for `enter_modes`."""
        flags = tuple(self.flags.items())
        return (self._grad, self._inference, self._autocast, self._dtype, self._inner_hooks, flags)

    def is_callers(self, place: Place) -> bool:
        """Whether a setting or mode is what the caller has, as far as the program has seen to."""
        name = place.getter
        if name in FLAG_GETTERS:
            return place not in self.flags
        if name == "is_grad_enabled":
            return set_grad_enabled not in self._own and _is_grad_enabled() is self.started_in[0]
        if name == "is_inference_mode_enabled":
            return _is_inference() is self.started_in[1]
        if name == "get_default_dtype":
            return _default_dtype() is self.started_in[3]
        return set_autocast not in self._own and self._autocast_now() == self.outer_autocast

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

    def _autocast_now(self) -> tuple[Any, ...]:
        return autocast_setting(self.outer_dtypes)

    @property
    def outer_cache(self) -> bool:
        """Whether autocast kept its casts when the trace began."""
        return all(pair[1] is not False for pair in self.outer_autocast)

    def block(self, manager: Any) -> Any:
        """What a `with` statement enters in place of a context manager that sets a mode."""
        if self._follows_caller and isinstance(manager, torch.inference_mode) and not manager.mode:
            raise refused(
                UnsupportedError,
                "inference_mode(False) is entered, which sets what the caller has set",
                fix="use torch.enable_grad()",
            )
        return _Block(self, manager) if isinstance(manager, MANAGERS) else manager

    def enter_block(self, enter: Any, manager: Any) -> Any:
        """Enter a context manager that sets a mode: the mode is the program's."""
        func = _set_by(manager)
        known = self._own_before.setdefault(id(manager), [])
        if not (known and type(manager) is torch.set_grad_enabled):  # which has set it already
            known.append((manager, func in self._own))
        entered = enter(manager)
        if func is set_autocast:
            self.uses_autocast = True
            self._autocast_depth += 1
        self._own.add(func)
        self._follow_modes()
        return entered

    def leave_block(self, leave: Any, manager: Any, *error: Any) -> Any:
        """Leave a context manager: the mode is whose it was before."""
        known, func = self._own_before.get(id(manager)), _set_by(manager)
        if not known:
            kind = type(manager).__name__
            raise refused(UnsupportedError, f"a {kind} is left that the program has not entered")
        handled = leave(manager, *error)
        if func is set_autocast:
            self._autocast_depth -= 1
            self._left_autocast |= not self._autocast_depth
        _, was_own = known.pop()
        if not was_own:
            self._own.discard(func)
        self._follow_modes()
        return handled

    def set_grad(self, mode: bool) -> Any:
        """Call `torch.set_grad_enabled`, which may be all, or the head of a `with` statement.

        A program that has read the mode may set it to what it was.
        """
        was_own = set_grad_enabled in self._own
        made = torch.set_grad_enabled(mode)
        self._own_before[id(made)] = [(made, was_own)]
        self._note_grad()
        return made

    def set_grad_plainly(self, mode: bool) -> None:
        """Call torch's own setter, which is no context manager."""
        set_grad_enabled(mode)
        self._note_grad()

    def _note_grad(self) -> None:
        if not self.has_read_grad or _is_grad_enabled() is not self.started_in[0]:
            self._own.add(set_grad_enabled)
        self._follow_modes()

    def set_part_of_autocast(self, setter: Any, *args: Any) -> None:
        """Call one of the functions that set a part of autocast."""
        if self._follows_caller:
            raise refused(
                UnsupportedError,
                f"{setter.__name__} is called, which sets a part of the caller's autocast",
                fix="use a with block of torch.autocast",
            )
        setter(*args)
        self.uses_autocast = True

    def clear_casts(self) -> None:
        """Call `torch.clear_autocast_cache`."""
        self._left_autocast = False
        self._mode_change(torch.clear_autocast_cache)

    def _follow_modes(self) -> None:
        """Set the modes that the program has set here; the others are the caller's.

        A program that was traced under autocast runs under it, whoever calls it.
        """
        if not self._follows_caller:
            return
        autocast = self.outer_autocast
        for func, restore, was, state in (
            (set_grad_enabled, restore_grad, self.started_in[0], _is_grad_enabled()),
            (set_autocast, restore_autocast, autocast, self._autocast_now()),
        ):
            is_own = func in self._own or state != was or (func is set_autocast and was)
            wanted = state if is_own else None
            left = (True,) if func is set_autocast and self._left_autocast else ()
            if wanted != self._set.get(func) or (left and self._set.get(func) is not None):
                self._set[func] = wanted
                if func is set_autocast:
                    self.epoch += 1
                    self._left_autocast = False
                if wanted is None:
                    self._mode_change(restore, *left)
                else:
                    self._mode_change(func, wanted, *left)

    def sync_modes(self) -> None:
        """Record the changes of modes since the last call."""
        self._switch_modes()
        self._switch_hooks()

    def _switch_modes(self) -> None:
        if _is_inference() is not self._inference:
            self._inference = _is_inference()
            self.uses_inference = True
            if self._grad and not _is_grad_enabled():
                self._need_backward()
            self._mode_change(set_inference, self._inference)  # which sets the other two, too
            self._grad, self._set[set_grad_enabled] = None, _UNKNOWN
            if self._autocast or self._autocast_now():
                self._autocast_is_set, self._set[set_autocast] = False, _UNKNOWN
        if _is_grad_enabled() is not self._grad:
            if self._grad:
                self._need_backward()
            self._grad = _is_grad_enabled()
            self._change(set_grad_enabled, self._grad)
        now = self._autocast_now()
        if now != self._autocast or self._left_autocast or not self._autocast_is_set:
            left = (True,) if self._left_autocast else ()
            self._autocast = now
            self._autocast_is_set = True
            self.epoch += 1  # the same call may give another value from here on
            self._change(set_autocast, now, *left)
            self._left_autocast = False
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

    def _change(self, func: Any, *state: Any) -> None:
        """Set the gradient mode or autocast."""
        if self._follows_caller:
            self._follow_modes()
        else:
            self._mode_change(func, *state)

    def _mode_change(self, func: Any, *state: Any) -> None:
        node = Node(func, state, {}, capture_site(), self.epoch, self.module_call)
        self.graph.nodes.append(node)

    def settle_modes(self) -> None:
        """Record the modes that the program has changed and leaves changed, as its caller sees."""
        if self._autocast_depth:
            raise refused(
                UnsupportedError,
                "the program enters autocast and does not leave it",
                fix="enter it in a with block, or outside the traced function",
            )
        if self.started_in[1] != _is_inference():
            raise refused(
                UnsupportedError,
                "the program changes inference mode and leaves it changed",
                fix="change it in a with block, or outside the traced function",
            )
        grad, _, _, dtype, _ = self.started_in
        own = self._own if self._follows_caller else ()
        states = (
            (grad, _is_grad_enabled(), set_grad_enabled in own),
            (self.outer_autocast, self._autocast_now(), set_autocast in own),
            (dtype, _default_dtype(), False),
        )
        left = [now if was != now or is_own else None for was, now, is_own in states]
        if self._left_autocast or self._grad is False:
            self._switch_modes()  # what only this package has switched off for the last call
        if any(state is not None for state in left):
            self.graph.nodes.append(Node(leave_modes, tuple(left), {}, None, self.epoch, None))


class _Block:
    """A `with` block that sets a mode."""

    __slots__ = ("_manager", "_recorder")

    def __init__(self, recorder: ModeRecorder, manager: Any) -> None:
        self._recorder, self._manager = recorder, manager

    def __enter__(self) -> Any:
        return self._recorder.enter_block(type(self._manager).__enter__, self._manager)

    def __exit__(self, *error: Any) -> Any:
        return self._recorder.leave_block(type(self._manager).__exit__, self._manager, *error)


def _set_by(manager: Any) -> Any:
    return set_autocast if isinstance(manager, torch.autocast) else set_grad_enabled


def _hooks() -> Any:
    found = saved_tensors_hooks()
    return None if found is None or found[0].__module__ == _RECOMPUTES else found


def _is_same(a: Any, b: Any) -> bool:
    """Whether two pairs of hooks are the same; each is read as a new pair."""
    both = a is not None and b is not None
    return (a[0] is b[0] and a[1] is b[1]) if both else a is b
