"""There is one of each expression per pool: copies are the object, pickling is refused."""

from __future__ import annotations

import copy
import pickle

import pytest

from anyshape.expr import Pool, ge0, symbol
from anyshape.expr.real import apply


@pytest.mark.parametrize("kind", ["expression", "condition", "real", "atom"])
def test_copies_are_the_object_and_pickling_is_refused(kind: str) -> None:
    u = symbol(Pool(), "u0")
    node = {
        "expression": u.shift(1),
        "condition": ge0(u),
        "real": apply("float", u),
        "atom": u.pool.atoms[0],
    }[kind]
    assert copy.copy(node) is node
    assert copy.deepcopy([node])[0] is node
    with pytest.raises(TypeError, match="belongs to one pool"):
        pickle.dumps(node)
