"""`ExportedProgram`: one program for every size that its contract allows."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from anyshape.errors import ConstraintError
from anyshape.export.contract import Contract, contract_of
from anyshape.export.files.save import save
from anyshape.export.files.stand_in import Member, member_of
from anyshape.export.match import ACCEPTED
from anyshape.export.verify import Report, verify
from anyshape.interop.fx_graph import to_fx
from anyshape.observe.explain import explain
from anyshape.trace import tree
from anyshape.trace.call_structure import flatten_call

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import torch
    from torch.fx import GraphModule

    from anyshape.domain import Interval
    from anyshape.env import Obligation, Symbol
    from anyshape.events import Deviation
    from anyshape.export.explore import Exploration
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph import Graph


class ExportedProgram:
    """Callable like the function that was exported. It checks its inputs first.

    A program that branches on its sizes has several variants, each with the guards under which it
    applies; `graph`, `code`, `guards` and the like are those of the first, which serves the
    example.
    """

    def __init__(
        self,
        name: str,
        found: Exploration,
        state: dict[str, torch.Tensor],
        on_deviation: str,
        function: Any = None,
        *,
        rebuild: Callable[[list[Any], Any], Any] = tree.unflatten,
    ) -> None:
        self._rebuild = rebuild  # makes the result from its leaves
        self.function = function
        self.name = name
        self.variants: list[Captured] = found.variants
        self.refused = found.refused
        self.is_complete = found.is_complete
        self.state = state
        self.on_deviation = on_deviation
        leaves = self._first.inputs.leaves
        self._members = [i for i, leaf in enumerate(leaves) if type(leaf.example) is Member]

    @property
    def _first(self) -> Captured:
        return self.variants[0]

    @property
    def graph(self) -> Graph:
        """The calls of the first variant, in order."""
        return self._first.graph

    @property
    def code(self) -> str:
        """The generated Python of the first variant."""
        return self._first.code

    @property
    def guards(self) -> list[Obligation]:
        """The conditions on the inputs under which the first variant applies."""
        return self._first.guards

    @property
    def runtime_asserts(self) -> list[Obligation]:
        """What the first variant checks while it runs."""
        return self._first.runtime_asserts

    @property
    def deviations(self) -> list[Deviation]:
        """Where the program may differ from eager execution, over all variants."""
        return [d for v in self.variants for d in v.deviations]

    @property
    def symbols(self) -> dict[str, Symbol]:
        """The symbols of the first variant by name."""
        return dict(self._first.tracer.env.symbols)

    @property
    def range_constraints(self) -> dict[str, Interval]:
        """The range of each input size in the first variant, by the user's name for it."""
        env = self._first.tracer.env
        names = {bind.name for bind in self._first.inputs.sizes}
        return {env.symbols[n].label: env.range_of(env.symbols[n].expr) for n in sorted(names)}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on inputs that the contract allows."""
        flat = flatten_call(self._first.inputs.spec, args, kwargs, self.name, ACCEPTED)
        for i in self._members:
            if isinstance(flat[i], Enum):
                flat[i] = member_of(flat[i])
        variant = self.variant_for(flat)
        return self._rebuild(variant.program.function()(flat), variant.out_spec)

    def variant_for(self, flat: list[Any]) -> Captured:
        """The variant that serves some inputs; raises if none does."""
        first = self._first
        first.contract.need_inputs(flat)
        for variant in self.variants:
            if variant.contract.failed_guard(flat) is None:
                if variant is not first:  # it may depend on more, such as layouts
                    variant.contract.need_inputs(flat)
                return variant
        raise self._no_variant(flat)

    def _no_variant(self, flat: list[Any]) -> ConstraintError:
        guard = self._first.contract.failed_guard(flat)
        assert guard is not None
        sizes = self._first.contract.describe(flat)
        values = self._first.contract.values(flat)
        error = next((r.error for r in self.refused if r.holds(values)), None)
        if error is not None:
            return ConstraintError(
                f"{self.name} raises for {sizes}",
                why=f"{type(error).__name__}: {str(error).splitlines()[0]}",
            )
        return ConstraintError(
            f"{self.name} was not exported for {sizes}: {guard.text} does not hold",
            why=guard.describe(),
        )

    # ------------------------------------------------------------------ what it is

    def contract(self) -> Contract:
        """The inputs that it accepts, as text and as data."""
        return contract_of(self)

    def explain(self) -> str:
        """Inputs, symbols, guards, asserts, specializations, deviations, with the user's lines."""
        return explain(self.name, self.contract(), self.variants)

    def to_fx(self) -> GraphModule:
        """The first variant as a `torch.fx.GraphModule` over flat lists of inputs and outputs."""
        return to_fx(self._first)

    def verify(self, *calls: Any, eager: Any = None) -> Report:
        """Run calls (tuples of arguments) here and in eager execution, and compare."""
        return verify(self, calls, eager)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to one file, which `anyshape.load` reads."""
        save(self, path)

    def __repr__(self) -> str:
        return f"<ExportedProgram {self.name}: {len(self.variants)} variant(s)>\n{self.contract()}"
