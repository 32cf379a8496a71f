"""A trace that starts from what an earlier trace of the same call read.

An export traces a program many times, for different sizes. A trace whose effects are refused leaves
everything outside as it was, so the next one would read the same: all variants share one view of
the objects outside. What the earlier trace assigned, and took back, is looked up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.trace.options import REFUSED

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder


def follow(recorder: Recorder, previous: Recorder) -> None:
    """Let a new recorder know what one knows whose trace ended well."""
    if not _is_shared(previous) or not _is_shared(recorder):
        return
    changed = previous.changed
    recorder.reads.update(previous.reads)
    recorder.known.update(
        {place: value for place, value in previous.known.items() if place[0] not in changed}
        if changed
        else previous.known
    )
    recorder.in_class.update(previous.in_class)
    recorder.described.update(previous.described)
    recorder._kinds |= previous._kinds
    recorder.supers.update(previous.supers)
    recorder._looked_up.update(previous._looked_up)
    recorder._outside.update(previous._outside)
    recorder._dict_owners.update(previous._dict_owners)
    recorder.knows_hooks = previous.knows_hooks
    for place, old in previous._spaces.items():
        space = recorder.space(old.real)
        for name, value in old.kept.items():
            if (place, name) not in previous._globals:
                space[name] = value


def _is_shared(r: Recorder) -> bool:
    """Whether what a trace knows holds for another: it had no inputs outside, nor assigned to
    classes, which others look at.
    """
    assigned = any(isinstance(o, type) for o, _ in r.changed.values())
    return r.options.effects == REFUSED and r.root is None and not r.inputs and not assigned
