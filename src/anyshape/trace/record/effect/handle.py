"""`Handle`: the handle of a hook that a program registers, while the program is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.hooks import RemovableHandle

from anyshape.trace.record.effect.autograd_effect import add_hook, remove_hook

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder


class Handle(RemovableHandle):
    """Stands for the handle of that name; the program removes the hook where the trace does."""

    def __init__(self, recorder: Recorder, t: Any, method: str, hook: Any) -> None:
        self._recorder = recorder
        self._name = recorder.compute(add_hook, t, method, recorder.operand(hook))
        recorder.effects += 1
        recorder.know(recorder.born(self), self._name)

    @property  # type: ignore[misc]  # to be taken for torch's class is the point
    def __class__(self) -> type:
        return RemovableHandle

    def remove(self) -> None:
        """Have the program remove the hook."""
        self._recorder.emit(remove_hook, self._name)

    def __getattr__(self, name: str) -> Any:
        raise self._recorder.unsupported(f"the attribute .{name} of the handle of a hook")
