"""What an exported program adds to lists, dicts and sets from outside, as calls of its graph.

Such a container keeps what a call adds to it. The program adds the same, with the values of its own
call, if no call looks at what the ones before left there: its results depend on its inputs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import EffectError
from anyshape.trace.record import effect
from anyshape.trace.record.held import Held
from anyshape.trace.record.read import ABSENT, ITEM, KIND
from anyshape.trace.record.read_log import Unfolding
from anyshape.trace.record.scratch import is_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.trace.graph import Node
    from anyshape.trace.record.read_log import Entry
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer

_KEYS: Final = frozenset((bool, int, float, str, bytes))


def repeat_additions(recorder: Recorder, real: Any, shadow: Any, site: Any) -> bool:
    """Have the program add what the call adds to a container, which is its shadow now; False if it
    cannot, or if the call looks at what was there before.
    """
    found = _added(real, shadow)
    if found is None:
        return False
    keys, values = found
    if any(type(key) not in _KEYS for key in keys or ()):
        return False
    if is_looked_at(recorder.reads.values(), real, keys):
        return False
    with recorder.replaying():
        operands: list[Any] = [recorder.operand(x) for x in values]
        if type(real) is dict:
            operands = [*zip(keys or (), operands, strict=True)]
        method = "extend" if type(real) is list else "update"
        args: tuple[Any, ...] = (Held(real), method, (tuple(operands),), {})
        recorder.tracer.emit(effect.call_method, args).site = site
    return True


def _added(real: Any, shadow: Any) -> tuple[list[Any] | None, list[Any]] | None:
    """The keys, if there are any, and the values that were added; None for another change."""
    kind = type(real)
    if kind is list:
        was_kept = len(real) <= len(shadow) and all(
            a is b for a, b in zip(real, shadow, strict=False)
        )
        return (None, [*shadow[len(real) :]]) if was_kept else None
    if kind is dict and all(key in shadow for key in real):
        keys = [key for key, x in shadow.items() if key not in real or real[key] is not x]
        return keys, [shadow[key] for key in keys]
    if kind is set and not real - shadow:
        new = sorted(shadow - real, key=repr)
        return new, new
    return None


def is_looked_at(log: Iterable[Entry], c: Any, keys: Sequence[Any] | None) -> bool:
    """Whether a container has been looked at; with `keys`, at one of these, or at all of it."""
    for read in Unfolding(log, (), ()).places.values():
        if read.owner is c and read.kind != KIND:
            of_one = keys is not None and read.kind in (ITEM, ABSENT)
            if not of_one or (keys is not None and read.key in keys):
                return True
    return False


def need_unread(tracers: Sequence[Tracer]) -> None:
    """Refuse what one path or variant of a program assigns or adds, and another one reads: a later
    call may take that.
    """
    logs = [t.recorder.reads.values() for t in tracers if t.recorder is not None]
    for node in [node for tracer in tracers for node in tracer.graph.nodes]:
        if node.func is effect.set_attribute or node.func is effect.call_method:
            what = _read_elsewhere(node, logs)
            if what:
                raise EffectError(
                    f"the function {what}, at {node.site}",
                    why="on another side of a branch it reads what an earlier call left",
                    fix="return the value, or keep it in a buffer",
                )


def _read_elsewhere(node: Node, logs: list[Iterable[Entry]]) -> str:
    """What a call writes that is read, too, in words; empty if it is not."""
    if type(node.args[0]) is not Held:  # an object that the program makes
        return ""
    owner = node.args[0].object
    name = type(owner).__name__
    if node.func is effect.set_attribute:
        attribute = node.args[1]
        was_read = any(is_read(log, owner, attribute) for log in logs)
        return f"assigns {attribute} of a {name}" if was_read else ""
    (added,) = node.args[2]
    keys = None if type(owner) is list else added
    if type(owner) is dict:
        keys = [key for key, _ in added]
    return f"adds to a {name}" if any(is_looked_at(log, owner, keys) for log in logs) else ""
