"""`BranchEnv`: an environment whose open questions are branches of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.trace.path.segment_env import SegmentEnv

if TYPE_CHECKING:
    from anyshape.env.asker import Asker
    from anyshape.export.branches.branch_tracer import BranchTracer
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Expr
    from anyshape.expr.real import Real


class BranchEnv(SegmentEnv):
    """An environment whose open questions are branches of the program.

    Questions over backed symbols are guards of the whole variant, wherever they are asked.
    """

    path: BranchTracer

    def __init__(self, asker: Asker | None = None) -> None:
        super().__init__(asker)
        self.unbounded: set[str] = set()  # sizes that the spec names, without an upper bound

    def _guard_open(self, p: Bool) -> bool:
        """The truth of a condition that is not decided: guarded, or the answer of this path."""
        if self._over_backed(p) is None and self.asker.settle(self, p) is None:
            return bool(self.path.decide(p))
        return super()._guard_open(p)

    def value(self, e: Expr) -> int:
        """The value of `e`: proved, guarded, or the answer of this path."""
        simple = self.simplify(e)
        if simple.is_const or simple.hint is not None or e.hint is not None:
            return super().value(e)
        return int(self.path.decide(simple))

    def real_value(self, r: Real) -> float:
        """The value of `r`: guarded, or the answer of this path."""
        return super().real_value(r) if r.hint is not None else float(self.path.decide(r))
