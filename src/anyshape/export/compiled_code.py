"""`CompiledCode`: what a backend made of the variants of an exported program.

A variant is compiled once, over its symbols, for every size that the variant serves. Compiled code
assumes more than the program does: the grad mode, the layouts of the inputs, for some programs
conditions on sizes. A call that none of the code made so far may serve gets code of its own, up to
`config.recompile_limit`; beyond that, and where the stance or a mode of the caller forbids compiled
code, the generated Python runs. No call has another result for it.

The segments of a variant that branches on data are compiled one by one, each when it first runs. A
segment with effects, or that changes modes for those after it, runs as it is.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, final

from anyshape.config import config
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, RecompileLimitError, counted
from anyshape.interop.backend import lower_program
from anyshape.interop.example import example_hints, flat_example
from anyshape.interop.stance import is_watched, stance
from anyshape.tensor.current import is_tracing
from anyshape.trace.mode.execution_modes import MODE_CHANGES
from anyshape.trace.record.effect.effect import UNLOWERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.interop.backend import Backend, Lowered
    from anyshape.trace.capture import Captured


@final
class CompiledCode:
    """The code of one program by one backend. Threads may share it."""

    def __init__(self, name: str, backend: Backend) -> None:
        self._name = name
        self.backend = backend
        self._made: dict[Captured, list[Lowered]] = {}
        self._ends: set[Captured] = set()  # those that have as much code as they may
        self._turn = threading.Lock()

    def prepare(self, variants: Iterable[Captured]) -> None:
        """Compile the variants, and the first segments of those that branch, at example sizes."""
        for variant in variants:
            first = variant.parts[0]
            if first not in self._made and _is_for_compilers(first, variant):
                flat = flat_example(variant, example_hints(variant), new=True)
                self._lower(first, flat)

    @property
    def lowered(self) -> list[Lowered]:
        """All code made so far."""
        return [one for made in self._made.values() for one in made]

    def run(self, variant: Captured, flat: list[Any]) -> tuple[Sequence[Any], Any]:
        """As `Captured.run` has it."""
        if is_tracing() or is_watched(is_lowered=True, fullgraph=False):
            return variant.run(flat)

        def call(part: Captured, frame: list[Any]) -> Sequence[Any]:
            for lowered in self._made.get(part, ()):
                if lowered.holds is None or lowered.holds(frame) is None:
                    return lowered.run(frame)
            if part not in self._ends and _is_for_compilers(part, variant):
                made = self._next(part, frame)
                if made is not None:
                    return made.run(frame)
            out: Sequence[Any] = part.program.function()(frame)
            return out

        return variant.run(flat, call)

    def _next(self, part: Captured, frame: list[Any]) -> Lowered | None:
        """Code for a call that has none; None where no more may be made."""
        chosen, made = stance(), self._made.get(part, [])
        if chosen in ("force_eager", "eager_on_recompile"):
            return None
        why = [str(one.holds(frame)) for one in made if one.holds is not None]
        if chosen == "fail_on_recompile":
            what = f"{self._name} would be compiled again"
            raise RecompileLimitError(what, why="; ".join(why) or "it is the first call")
        if len(made) >= config.recompile_limit:
            self._ends.add(part)
            times = counted(len(made), "time", "times")
            told = f"{self._name} was compiled {times}, which is its limit; other calls"
            warn(AnyshapeWarning(f"{told} run as plain Python: {why[-1]}", code="AS702"))
            return None
        return self._lower(part, frame)

    def _lower(self, part: Captured, frame: list[Any]) -> Lowered:
        with self._turn:
            made = lower_program(part, self.backend, False, frame, self._name)
            self._made.setdefault(part, []).append(made)
            return made


def _is_for_compilers(part: Captured, variant: Captured) -> bool:
    """Whether a part of a variant may be given to a compiler; see the head of this file."""
    functions = {node.func for node in part.graph.nodes}
    if len(variant.parts) > 1 and not functions.isdisjoint(MODE_CHANGES):
        return False
    return functions.isdisjoint(UNLOWERED)
