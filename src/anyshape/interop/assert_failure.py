"""Which of our asserts failed inside compiled code.

A compiler keeps the condition of an assert but not always its message, and rewrites the condition.
So the conditions are recorded as the compiler got them, over torch's symbols, and evaluated at the
values in the frame that failed.
"""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

import sympy
import torch

from anyshape.errors import RuntimeAssertError
from anyshape.torch_compat.aten_op import ASSERT_SCALAR
from anyshape.torch_compat.message import GENERATED_CHECK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from torch.fx import GraphModule

    from anyshape.env import Obligation


class AssertFailures:
    """The asserts inside one graph, by the message that the graph fails with.

    `behind`: those that the program checks after one that the graph does not check.
    """

    def __init__(self, asserts: Mapping[str, Obligation], behind: Sequence[Obligation]) -> None:
        self._asserts = asserts
        self._behind = {id(o) for o in behind}
        self._conditions: list[tuple[sympy.Basic, Obligation]] = []

    @property
    def has_asserts(self) -> bool:
        """Whether the graph has asserts."""
        return bool(self._asserts)

    def note(self, module: GraphModule) -> None:
        """Record the conditions of a graph that a compiler is about to compile."""
        for node in module.graph.find_nodes(op="call_function", target=ASSERT_SCALAR):
            condition, message = node.args
            given = condition.meta.get("val") if isinstance(condition, torch.fx.Node) else None
            if isinstance(given, torch.SymBool) and message in self._asserts:
                self._conditions.append((given.node.expr, self._asserts[message]))

    def find(self, error: RuntimeError) -> tuple[Obligation, bool] | None:
        """The first assert of the program that is known to fail; None for any other error.

        Also whether one before it may have failed: one that the graph does not check, or whose
        symbols are unknown where the compiler put the check.
        """
        said = self._asserts.get(str(error))
        if said is not None:
            return said, id(said) in self._behind
        last = _last(error.__traceback__)
        if last is None:
            return None
        line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
        if not line.strip().startswith(GENERATED_CHECK):
            return None
        values = {
            name: sympy.sympify(value)
            for name, value in last.tb_frame.f_locals.items()
            if type(value) in (int, float, bool)
        }
        is_open = False
        for condition, o in self._conditions:
            holds = _truth(condition, values)
            if holds is False:
                return o, is_open or id(o) in self._behind
            is_open = is_open or holds is None
        raise RuntimeAssertError(f"{error} does not hold", why="the compiled code needs it")


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _truth(condition: Any, values: dict[str, Any]) -> bool | None:
    """The truth value of a condition; None if the value of a symbol is missing."""
    known = {s: values[s.name] for s in condition.free_symbols if s.name in values}
    if len(known) < len(condition.free_symbols):
        return None
    return bool(condition.xreplace(known) != sympy.false)
