"""States that are equal but for the names of symbols: a loop whose sizes change closes.

In each round of a loop, a size that only the run knows has a new symbol. Let r map the symbols of
an earlier state to those of a later one. What follows the earlier state follows the later one, too,
if r makes one state the other, and if each fact that was known at the earlier state holds at the
later one after r: what was traced from there relies on nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.ladder.decide import decide
from anyshape.errors import AnyshapeError
from anyshape.expr import ge0, parse
from anyshape.expr.boolean import Bool
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph import Value
from anyshape.trace.path.program_state import Spelled

if TYPE_CHECKING:
    from anyshape.trace.path.program_state import ProgramState
    from anyshape.trace.path.segment_env import SegmentEnv
    from anyshape.trace.path.segment_tracer import Moment

_SYMBOL: Final = re.compile(r"\b[uf][0-9]+\b")  # one that only the run knows


def renamed(moment: Moment, state: ProgramState, env: SegmentEnv) -> dict[str, str] | None:
    """The symbols of the later state, by those of the earlier one; None if the states differ."""
    names: dict[str, str] = {}
    if not _match(moment.state.key, state.key, names) or len(set(names.values())) < len(names):
        return None
    changed = {a for a, b in names.items() if a != b}
    if changed and not (_are_apart(moment.rest, changed) and _hold(moment, env, names, changed)):
        return None
    return names


def _match(a: Any, b: Any, names: dict[str, str]) -> bool:
    """Whether two keys are equal with other symbols, which are added to `names`."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(_match(x, y, names) for x, y in zip(a, b, strict=True))
    if type(a) is not Spelled:
        return bool(a == b)
    if _SYMBOL.sub("_", a) != _SYMBOL.sub("_", b):
        return False
    pairs = zip(_SYMBOL.findall(a), _SYMBOL.findall(b), strict=True)
    return all(names.setdefault(x, y) == y for x, y in pairs)


def _are_apart(rest: list[Any], changed: set[str]) -> bool:
    """Whether the other tensors of a frame have no size with a symbol that changes."""
    shapes = [n.expr for v in rest if type(v) is Value for n in v.meta.shape if type(n) is SymInt]
    return changed.isdisjoint(names_of(*shapes)) if shapes else True


def _hold(moment: Moment, env: SegmentEnv, names: dict[str, str], changed: set[str]) -> bool:
    """Whether all that was known at the earlier state holds now, with the other symbols."""
    knowledge, sizes = env.knowledge, set(env._sizes)
    try:
        for name in changed:
            old, new = env.symbols.get(name), env.symbols.get(names[name])
            is_size = old is not None and old.expr in sizes
            if is_size and (new is None or decide(knowledge, ge0(new.expr)) is not True):
                return False
        for p in env.learned[: moment.learned]:
            if not changed.isdisjoint(names_of(p)):
                text = _SYMBOL.sub(lambda m: names.get(m[0], m[0]), str(p))
                found = parse(env.pool, text)
                if type(found) is not Bool or decide(knowledge, found) is not True:
                    return False
    except AnyshapeError:  # such as an expression that is too long
        return False
    return True
