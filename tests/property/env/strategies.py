"""Hypothesis strategies for environments: conditions as text over a few symbols."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from anyshape.expr.text.python import function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.env import Env
    from anyshape.expr import Bool

NAMES = ("s0", "u0", "u1", "u2")
UNDEFINED = (ZeroDivisionError, ValueError, OverflowError)
VALUES = range(-3, 7)

symbols = st.sampled_from(NAMES)
small = st.integers(-4, 6)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.integers(-3, 4), inner).map(lambda t: f"({t[0]}*{t[1]})"),
        pairs.map(lambda t: f"({t[0]}*{t[1]})"),
        st.tuples(inner, st.sampled_from(("//", "%")), st.sampled_from((2, 3, 4, -2))).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(st.sampled_from(("max", "min")), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    )


integers = st.recursive(st.one_of(symbols, symbols, small.map(str)), _grow, max_leaves=4)
signs = st.sampled_from(("<", "<=", "==", "!=", ">=", ">"))
relations = st.one_of(
    st.tuples(symbols, signs, small).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
    st.tuples(symbols, signs, symbols, small).map(lambda t: f"{t[0]} {t[1]} {t[2]} + {t[3]}"),
    st.tuples(integers, signs, integers).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
)
conditions = st.one_of(
    relations,
    relations,
    st.lists(relations, min_size=2, max_size=3).map(" and ".join),
    st.lists(relations, min_size=2, max_size=3).map(" or ".join),
)


def holding(env: Env, conditions: Iterable[Bool], values: range = VALUES) -> set[tuple[int, ...]]:
    """The assignments to all symbols, in order of `env.symbols`, under which all conditions hold.

    Sizes take no negative values; an assignment for which Python raises is left out.
    """
    names = list(env.symbols)
    ranges = [range(max(0, values[0]), values[-1] + 1) if n[0] == "s" else values for n in names]
    hold = function(list(conditions), names)
    found = set()
    for point in itertools.product(*ranges):
        try:
            if all(hold(*point)):
                found.add(point)
        except UNDEFINED:
            continue
    return found
