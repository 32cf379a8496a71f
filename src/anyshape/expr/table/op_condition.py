"""The table of conditions: the three relations of an integer with zero, and/or/not, and the
comparison of two numbers of which one is a real, whose sign is its data.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from anyshape.expr.table.row import CONDITION, Op
from anyshape.expr.text.bounded_text import ANY, SUM

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

TRUE: Final = Op(
    "true",
    "",
    CONDITION,
    value=lambda: True,
    text="True",
    python="True",
    z3=lambda z: z.truth(True),
)
FALSE: Final = Op(
    "false",
    "",
    CONDITION,
    value=lambda: False,
    text="False",
    python="False",
    z3=lambda z: z.truth(False),
)
GE: Final = Op(
    "ge",
    "i",
    CONDITION,
    value=lambda x: x >= 0,
    text="0 <= {0}",
    level=SUM,
    python="({0} >= 0)",
    z3=lambda _z, x: x >= 0,
)
EQ: Final = Op(
    "eq",
    "i",
    CONDITION,
    value=lambda x: x == 0,
    text="0 == {0}",
    level=SUM,
    python="({0} == 0)",
    z3=lambda _z, x: x == 0,
)
NE: Final = Op(
    "ne",
    "i",
    CONDITION,
    value=lambda x: x != 0,
    text="0 != {0}",
    level=SUM,
    python="({0} != 0)",
    z3=lambda _z, x: x != 0,
)
RELATIONS: Final = (GE, EQ, NE)
AND: Final = Op(
    "and",
    "b*",
    CONDITION,
    value=lambda *parts: all(parts),
    text="{* and :SUM}",
    level=ANY,
    python="({* and })",
    z3=lambda z, *parts: z.And(*parts),
)
OR: Final = Op(
    "or",
    "b*",
    CONDITION,
    value=lambda *parts: any(parts),
    text="{* or :SUM}",
    level=ANY,
    python="({* or })",
    z3=lambda z, *parts: z.Or(*parts),
)
NOT: Final = Op(
    "not",
    "b",
    CONDITION,
    value=operator.not_,
    text="not ({0})",
    level=SUM,
    python="(not {0})",
    z3=lambda z, part: z.Not(part),
)
REAL: Final = Op(
    "real",
    "nn",
    CONDITION,
    value=lambda x, y, sign: COMPARE[sign](x, y),
    text="{0:SUM} {2} {1:SUM}",
    level=SUM,
    python="({0} {2} {1})",
)
