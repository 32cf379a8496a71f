"""`PathEnv`: an environment whose open questions are decided by running the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.trace.path.segment_env import SegmentEnv

if TYPE_CHECKING:
    from anyshape.compile.tree.trace_path import PathTracer
    from anyshape.env.fact import Fact
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Expr
    from anyshape.expr.real import Real


class PathEnv(SegmentEnv):
    """An environment whose open questions are decided by running the program.

    Before the first decision, questions over backed symbols become guards of the entry; after
    it they belong to one path, so they are decisions too, and what must hold is asserted there.
    """

    path: PathTracer

    def _guard_open(self, p: Bool) -> bool:
        """The truth of a condition that is not decided: guarded at the entry, or by the run."""
        if not self.path.answers and self._over_backed(p) is not None:
            return super()._guard_open(p)
        return bool(self.path.decide(p))

    def value(self, e: Expr) -> int:
        """The value of `e`: proved, guarded at the entry, or decided by the run."""
        simple = self.simplify(e)
        if simple.is_const:
            return simple.c
        if not self.path.answers and (simple.hint is not None or e.hint is not None):
            return super().value(e)
        return int(self.path.decide(simple))

    def real_value(self, r: Real) -> float:
        """The value of `r`: guarded at the entry, or decided by the run."""
        if not self.path.answers and r.hint is not None:
            return super().real_value(r)
        return float(self.path.decide(r))

    def _oblige(self, fact: Fact) -> None:
        if not self.path.answers:
            super()._oblige(fact)
        else:
            self._assert(fact)
