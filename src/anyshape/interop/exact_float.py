"""Floats of integer expressions, which torch's compilers compute as tensors of float64.

Eager execution computes integers exactly and rounds once. A compiler computes every step in
float64, which is the same as long as no step is above 2**53.
"""

from __future__ import annotations

from typing import Any, Final

from anyshape.interop.arithmetic import compute, interpreter
from anyshape.symbolic.sym_float import SymFloat
from anyshape.trace.graph.graph import Graph, leaves, operand_of

_LARGE: Final = 1 << 16  # a size that is as large as sizes in such floats are
EXACT: Final = 1 << 53
"""Integers up to this one are floats; where a program is given larger ones, it runs as it is."""


def has_inexact_float(graph: Graph) -> bool:
    """Whether a float of the program has a step that float64 would round, at sizes up to 2**16."""
    found: list[bool] = []

    def step(function: Any, *args: Any) -> Any:
        result = compute(function, *args)
        found.append(type(result) is int and abs(result) > EXACT)
        return result

    interpret = interpreter(lambda _: _LARGE, step)
    for node in graph.nodes:
        for x in leaves((*node.args, *node.kwargs.values())):
            if type(x) is SymFloat:
                try:
                    interpret(operand_of(x))
                except (ArithmeticError, ValueError):
                    continue  # it is undefined at that size
    return any(found)
