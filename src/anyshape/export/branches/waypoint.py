"""Questions that paths have asked: a later path in the same state goes on as the earlier one did.

A later path may get to the question of an earlier one in three ways: around a loop, from the other
side of a branch, or by both. Let r map the symbols of the earlier state to expressions of the later
one. What follows the earlier state follows the later one, too, if r makes one state the other, and
if each fact that was known at the earlier state holds at the later one after r: what was traced
from there relies on nothing else.

r is given by the states for the symbols in them. For the others, about which facts are known
together with these, any expression will do that makes the facts hold. Those of the frame are at
first taken to be themselves: while paths are left to trace, each may be needed. Where the facts do
not hold so, such as those about the size of an earlier round, they are chosen, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.export.branches.liveness import names_in_metas
from anyshape.export.branches.witness import Witness
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import INPUT, Name, Value, names_object
from anyshape.trace.path.program_state import Spelled
from anyshape.trace.path.segment import key_of
from anyshape.trace.sequence.walker import WALKERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.export.branches.branch_tracer import BranchTracer
    from anyshape.export.branches.widening import Texts
    from anyshape.trace.path.program_state import ProgramState
    from anyshape.trace.path.segment import Segment

_NUMBERS: Final = (int, float, SymInt, SymFloat)
SYMBOL: Final = re.compile(r"\b[uf][0-9]+\b")  # one that only the run knows


class Waypoint(NamedTuple):
    """A question in a state. `order` is what the frame after it holds; `path` are the answers
    before it, and `facts` how many were known there.
    """

    segment: Segment
    state: ProgramState
    order: list[Any]
    path: list[Any]
    facts: int
    names: frozenset[str]  # the symbols there were
    tracer: BranchTracer
    numbers: Texts
    form: Any  # the state without the numbers in its variables


def met(point: Waypoint, state: ProgramState, tracer: BranchTracer) -> list[Any] | None:
    """What the frame that follows a question holds here, besides the tensors of the state, if the
    paths may go on as one; None where they may not.

    What is not needed of the frame is None.
    """
    is_before = comes_before(point, tracer.path)
    if not is_before and not (point.state.is_whole and state.is_whole):
        return None
    names: dict[str, str] = {}
    if not _match(point.state.key, state.key, names):
        return None
    count = len(state.values)
    live = tracer.tree.liveness(tracer).of(point.segment)
    rest = {i: x for i, x in enumerate(point.order) if i >= count and i in live}
    tensors = {i: tracer.same_tensor(x) for i, x in rest.items() if type(x) is Value}
    inputs = {str(x) for x in tensors.values() if x is not None}
    if None in tensors.values() or _memory(point.state, inputs) != _memory(state, inputs):
        return None
    if any(x.kind != INPUT for x in rest.values() if type(x) is Value) and not is_before:
        return None
    if any(names.setdefault(n, n) != n for n in _run_names(rest.values())):
        return None
    shared = tracer.names_before(_common(tracer.path, point.path))
    wanted = [x for x in rest.values() if type(x) is Name]
    if any(names_object(x) and x not in shared for x in wanted):
        return None
    numbers = {str(x) for x in wanted if not names_object(x)}
    found = Witness(point, tracer, dict(names), shared).find(numbers)
    if found is None and numbers:
        found = Witness(point, tracer, names, shared).find(set())
    if found is None:
        return None
    frame: list[Any] = []
    for i in range(count, len(point.order)):
        x = rest.get(i)
        if type(x) is Name and not names_object(x):
            x = found(str(x))
        frame.append(tensors.get(i, x))
    return frame if all(tracer.has(x) for x in frame) else None


def comes_before(point: Waypoint, path: Sequence[Any]) -> bool:
    """Whether a path passed a question."""
    return _common(path, point.path) == len(point.path)


def differing(a: Waypoint, b: Waypoint) -> list[str]:
    """The variables that differ between two states of the same frames; without plain numbers, if
    there are others.
    """
    found: dict[str, bool] = {}
    frames = zip(*[point.state.key[0][: len(a.state.at)] for point in (a, b)], strict=True)
    for (_, _, known, _), (_, _, other, _) in frames:
        before = dict(known)
        found.update({n: x[0] in _NUMBERS for n, x in other if before.get(n) != x})
    return [n for n, is_number in found.items() if not is_number] or list(found)


def form_of(state: ProgramState) -> Any:
    """A state without the numbers in its variables and in the sizes of its tensors, and without the
    lengths of its lists.
    """
    frames, others, tensors = state.form
    found = [
        (at, code, _without(known), tuple([_without(x) if x[0] in WALKERS else x for x in held]))
        for at, code, known, held in frames
    ]
    return (found, _without(tuple(others)), _without(tuple(tensors)))


def _without(key: Any) -> Any:
    if type(key) is tuple:
        if len(key) > 1 and key[0] in (int, SymInt):
            return int
        if len(key) > 1 and key[0] in (float, SymFloat):
            return float
        if len(key) == 2 and key[0] is list:
            return (list, tuple(dict.fromkeys([_without(x) for x in key[1]])))
        return tuple([_without(x) for x in key])
    return int if type(key) in (int, Spelled) else key


def _common(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many answers two paths begin with in common."""
    n = 0
    while n < min(len(a), len(b)) and key_of(a[n]) == key_of(b[n]):
        n += 1
    return n


def _memory(state: ProgramState, inputs: set[str]) -> list[Any]:
    """Which tensors of a state share memory with each other, with constants, and with these inputs.

    Calls do the same to the memory of another input, and to new memory.
    """
    numbers: dict[Any, Any] = {}
    return [
        root if type(root) is tuple or root in inputs else numbers.setdefault(root, len(numbers))
        for root in state.roots
    ]


def _run_names(rest: Any) -> list[str]:
    """The symbols that only the run knows in the sizes and strides of tensors."""
    names = names_in_metas([x for x in rest if type(x) is Value])
    return [n for n in sorted(names) if SYMBOL.fullmatch(n)]


def _match(a: Any, b: Any, names: dict[str, str]) -> bool:
    """Whether two keys are equal with other symbols, which are added to `names`."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(_match(x, y, names) for x, y in zip(a, b, strict=True))
    if type(a) is not Spelled:
        return bool(a == b)
    if SYMBOL.sub("_", a) != SYMBOL.sub("_", b):
        return False
    pairs = zip(SYMBOL.findall(a), SYMBOL.findall(b), strict=True)
    return all(names.setdefault(x, y) == y for x, y in pairs)
