"""Every op by name: the rows of the six tables, for all that interprets expressions."""

from __future__ import annotations

from typing import Final

from anyshape.expr.table import op_condition, op_function, op_integer, op_math, op_numpy, op_real
from anyshape.expr.table.op_condition import COMPARE
from anyshape.expr.table.op_integer import (
    BIT_AND,
    BIT_COUNT,
    BIT_LENGTH,
    BIT_OR,
    BIT_XOR,
    CEIL,
    CHOICE,
    FLOOR,
    FLOORDIV,
    GROUP,
    MAXIMUM,
    POWER,
    PRODUCT,
    ROUND,
    ROUNDINGS,
    SYMBOL,
    TRUNC,
    power_of,
)
from anyshape.expr.table.row import Op

__all__ = [
    "BIT_AND",
    "BIT_COUNT",
    "BIT_LENGTH",
    "BIT_OR",
    "BIT_XOR",
    "CEIL",
    "CHOICE",
    "COMPARE",
    "FLOOR",
    "FLOORDIV",
    "GROUP",
    "MAXIMUM",
    "OPS",
    "POWER",
    "PRODUCT",
    "ROUND",
    "ROUNDINGS",
    "SYMBOL",
    "TRUNC",
    "Op",
    "power_of",
]

OPS: Final[dict[str, Op]] = {
    row.name: row
    for row in (
        *(
            row
            for table in (op_integer, op_condition, op_real, op_function, op_numpy)
            for row in vars(table).values()
            if isinstance(row, Op)
        ),
        *op_math.ROWS.values(),
        *op_numpy.ROWS.values(),
    )
}
