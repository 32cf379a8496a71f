"""The sentence that explains a verdict, from the rung that answered and its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.domain import INF, NINF

if TYPE_CHECKING:
    from anyshape.domain import Bound
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool


def explain(k: Knowledge, b: Bool, answer: bool | None, why: object) -> str:
    """One sentence for a verdict."""
    if answer is None:
        return f"nothing known decides {k.brief(b)}"
    rung, *data = why if isinstance(why, tuple) else ("identity",)
    if rung == "range":
        e, lo, hi = data
        return f"{k.brief(e)} is in {interval_text(lo, hi)}"
    if rung == "elimination":
        e, lo, hi = data
        return f"{k.brief(e)} is {_bound_text(lo, hi)} by the known relations"
    if rung == "known":
        return f"it follows from {data[0].describe(k.brief)}"
    if rung == "hole":
        return f"{k.brief(data[0])} is known not to be 0"
    if rung == "congruence":
        return f"{k.brief(data[0])} is never 0 by its remainders"
    if rung == "power":
        return f"{k.brief(data[0])} is never 0, because no integer has such a power"
    if rung == "part":
        return f"{k.brief(data[0])} {'holds' if answer else 'does not hold'}"
    return _PLAIN[str(rung)]


_PLAIN: Final = {
    "identity": "it holds or fails by structure",
    "parts": "each part holds, or none does",
    "search": "all assignments left agree",
    "solver": "the solver proved it",
    "real": "the ranges of both sides decide it",
}


def interval_text(lo: Bound, hi: Bound) -> str:
    """An interval with infinite ends as text."""
    low = "(-inf" if lo == NINF else f"[{lo}"
    high = "inf)" if hi == INF else f"{hi}]"
    return f"{low}, {high}"


def _bound_text(lo: Bound, hi: Bound) -> str:
    if lo >= 0 and hi <= 0:
        return "0"
    return f"at least {lo}" if lo >= 0 else f"at most {hi}"
