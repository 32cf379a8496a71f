"""What `anyshape check` finds: recompilations, graph breaks, fallbacks, errors, each once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.site import capture
from anyshape.errors import AnyshapeError
from anyshape.events import Fallback, GraphBreak, Recompilation, TraceEnd, subscribe

if TYPE_CHECKING:
    from anyshape.events import Subscription

KINDS: Final = ("recompilation", "break", "fallback", "error")
_BREAK_FIX: Final = (
    "keep the value symbolic (torch.where, torch.cond), or allow the break; each answer is a branch"
    " of the same program"
)


class Finding:
    """Something that was found, and how often; `place` is a file and a line."""

    def __init__(self, kind: str, function: str, place: tuple[str, int], text: str) -> None:
        self.kind = kind
        self.function = function
        self.file, self.line = place
        self.text = text
        self.fix = ""
        self.called_at: str | None = None
        self.count = 0

    def members(self, allowed: bool) -> dict[str, Any]:
        """The finding as an object of JSON."""
        return {**vars(self), "allowed": allowed}


class Watch:
    """Collects what happens in the body of a `with` block, in all threads."""

    def __init__(self) -> None:
        self.findings: dict[tuple[Any, ...], Finding] = {}
        self.functions: dict[str, list[int]] = {}  # traces, calls of the largest graph
        self._subscription: Subscription | None = None

    def __enter__(self) -> Watch:
        kinds = (Recompilation, Fallback, GraphBreak, TraceEnd)
        self._subscription = subscribe(self._handle, *kinds, everywhere=True)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._subscription is not None
        self._subscription.close()

    def _handle(self, event: Any) -> None:
        if type(event) is TraceEnd:
            counts = self.functions.setdefault(_whole(event.function), [0, 0])
            if event.error is None:
                counts[0] += 1
                counts[1] = max(counts[1], len(event.tracer.graph.nodes))
        elif type(event) is Recompilation:
            self._recompiled(event)
        elif type(event) is Fallback:
            place = _place(capture())
            function = _whole(event.function)
            self._add(("fallback", event.function), "fallback", function, place, event.why)
        else:
            text, place = event.asked, _place(event.site)
            key = ("break", place, text)
            found = self._add(key, "break", getattr(event.site, "function", ""), place, text)
            found.fix = _BREAK_FIX if event.tracer is not None else ""

    def _recompiled(self, event: Recompilation) -> None:
        reason, caller = event.reasons[0], capture()
        place = _place(reason.site or caller)
        key = ("recompilation", event.function, place, reason.place)
        found = self._add(key, "recompilation", _whole(event.function), place, reason.text)
        found.fix = reason.fix
        if reason.site is not None and caller is not None:
            found.called_at = "{}:{}".format(*_place(caller))

    def raised(self, error: BaseException, place: tuple[str, int]) -> None:
        """The script raised an error."""
        ours = error if isinstance(error, AnyshapeError) else None
        text = f"{type(error).__name__}: {error if ours is None else ours.what}"
        if ours is not None and ours.why:
            text = f"{text} ({ours.why})"
        found = self._add(("error", place, text), "error", "", place, text)
        found.fix = "" if ours is None else ours.fix

    def _add(
        self, key: tuple[Any, ...], kind: str, function: str, place: tuple[str, int], text: str
    ) -> Finding:
        """The finding of a key, with one more occurrence, the latest text and place."""
        found = self.findings.get(key)
        if found is None:
            found = self.findings[key] = Finding(kind, function, place, text)
        found.text = text
        found.count += 1
        return found


def _whole(function: str) -> str:
    """The function that a piece belongs to: the name of a piece ends with its first line."""
    return re.sub(r"(\[\d+\])+$", "", function)


def _place(site: Any) -> tuple[str, int]:
    return ("", 0) if site is None else (site.file, site.line)
