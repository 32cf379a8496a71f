"""Context managers, as a trace enters and leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import AnyshapeError
from anyshape.torch_compat.thread_state import dispatch_mode_depth

if TYPE_CHECKING:
    import types

    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder


class UnseenBlock:
    """A context manager of a library, which may enter a mode that sees the ops."""

    def __init__(self, recorder: Recorder, o: Any) -> None:
        self._recorder, self._o = recorder, o

    def __enter__(self) -> Any:
        depth = dispatch_mode_depth()
        found = self._o.__enter__()
        if dispatch_mode_depth() > depth:
            self._o.__exit__(None, None, None)
            raise self._recorder.refusal(f"a {type(self._o).__name__} looks at the ops")
        return found

    def __exit__(self, *error: Any) -> Any:
        return self._o.__exit__(*error)


class Block:
    """A context manager of the user's that runs as a twin."""

    def __init__(self, calls: Calls, o: Any, enter: Any, leave: Any) -> None:
        self._calls, self._o, self._enter, self._leave = calls, o, enter, leave

    def __enter__(self) -> Any:
        return self._calls.ready(self._enter)(self._o)

    def __exit__(self, kind: Any, error: Any, trace: types.TracebackType | None) -> Any:
        if isinstance(error, AnyshapeError):
            if not error.is_refusal:
                self._calls.operators.need_unseen(error)
            if self._calls.operators.does_effects:  # what was entered is left
                self._calls.ready(self._leave)(self._o, kind, error, trace)
            return False
        return self._calls.ready(self._leave)(self._o, kind, error, trace)
