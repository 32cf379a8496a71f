"""The runtime wrapper of a compiled graph: generated Python that runs before and after it.

Before: the symbols are read from the inputs, and asserts over them are checked. After: numbers that
the program returns are computed, and inputs that it returns are returned themselves. Asserts over
data-dependent numbers go into the graph, where the compiler places them; those with a product of
such numbers are checked after it, because torch's engine cancels factors that may be 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from anyshape.env.obligation import in_program_order
from anyshape.errors import RuntimeAssertError
from anyshape.expr.node import Atom
from anyshape.expr.table.op import PRODUCT
from anyshape.expr.text.python import SCOPE
from anyshape.expr.traverse import names_of, nodes_below
from anyshape.interop.assert_failure import AssertFailures
from anyshape.interop.exact_float import EXACT
from anyshape.interop.fx_graph import to_backend_fx
from anyshape.interop.lowerable import unused_draws
from anyshape.interop.storage_bounds import find_storage_bounds
from anyshape.rules.dispatch.table import PURE
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.graph.codegen import defined, fail, number_source, numpy_scalar, truth
from anyshape.trace.graph.graph import SYMBOLIC, Name, Value, names_object, operand_of
from anyshape.trace.mode.execution_modes import MODE_CHANGES, keep_modes
from anyshape.trace.record.effect.held import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import GraphModule

    from anyshape.env import Obligation
    from anyshape.interop.fakes import Fakes
    from anyshape.trace.capture import Captured


class RuntimeWrapper:
    """The wrapper of one program. `early`, `inner` and `late` are the asserts by where they run;
    the inner ones are keyed by the message that the graph fails with.
    """

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self._inputs = captured.inputs
        self._known = {"", *[bind.name for bind in self._inputs.binds]}
        self.inner: dict[str, Obligation] = {}
        self.late: list[Obligation] = []
        self.storage = find_storage_bounds(captured)
        listed = [*captured.runtime_asserts, *self.storage.asserts]
        self.early = [o for o in listed if o.symbol in self._known]
        behind: list[Obligation] = []  # those that the program checks after one of `late`
        for o in in_program_order(listed):
            if o.symbol in self._known:
                continue
            if self._multiplies(o):
                self.late.append(o)
                continue
            message = o.message or f"{o.text} does not hold"
            self.inner[f"anyshape assert {len(self.inner)}: {message}"] = o
            if self.late:
                behind.append(o)
        self.failures = AssertFailures(self.inner, behind)
        self._scope: dict[str, Any] = {
            **SCOPE,
            "torch": torch,
            "defined": defined,
            "numpy_scalar": numpy_scalar,
            "fail": fail,
            "refuse": self._refuse,
            "explain": self._explain,
            "early": self.early,
            "late": self.late,
            "keep_modes": keep_modes,
            "plain": self._plain,
        }
        self.outputs: list[Any] = []  # of the graph
        self._places: dict[Any, str] = {}
        for i, leaf in enumerate(self._inputs.leaves):
            if leaf.value is not None:
                self._places[leaf.value] = f"flat[{i}]"
            elif names_object(leaf.name):
                self._places[Name(leaf.name)] = f"flat[{i}]"
        for value, tensor in captured.graph.constants:
            self._places[value] = self._object(tensor)
        for o in self.late:
            self._need(o.condition)
        self._returned = ", ".join([self._output(leaf) for leaf in captured.graph.outputs])
        for value in unused_draws(captured.graph):
            self._returned_by_graph(value)

    # ------------------------------------------------------------------ asserts

    def _multiplies(self, o: Obligation) -> bool:
        """Whether a condition has a product of data-dependent numbers."""
        products = [n for n in nodes_below((o.condition,)) if type(n) is Atom and n.op is PRODUCT]
        return any(name not in self._known for p in products for name in names_of(p))

    def check_early(self, flat: list[Any]) -> None:
        """Raise unless the asserts over the inputs hold."""
        lines = ["def check(flat):", *self._before("fail({}, locals())"), "    return"]
        exec("\n".join(lines), self._scope)  # our own text
        self._scope["check"](flat)

    def _refuse(self, o: Obligation, flat: list[Any], values: dict[str, Any]) -> None:
        """Raise for a failed assert over the inputs, or an earlier check; nothing has run yet."""
        first, is_open = o.first_failing(values)
        if is_open or not o.recorded:
            self._run_uncompiled(flat)
        fail(first)

    def _explain(self, error: RuntimeError, flat: list[Any]) -> None:
        """Raise our error for an assert that failed in the graph; return for any other error.

        If a check that the graph does not make may have failed before, the uncompiled program runs
        to find the first failure, unless the effects of the graph forbid a second run.
        """
        found = self.failures.find(error)
        if found is None:
            return
        o, is_open = found
        if is_open and not self._has_effects:
            self._run_uncompiled(flat)
        fail(o)

    def _plain(self, flat: list[Any]) -> Any:
        return self._captured.program.function()(flat)

    def _run_uncompiled(self, flat: list[Any]) -> None:
        """Run the uncompiled program, which raises for the first assert that fails."""
        try:
            self._captured.program.function()(flat)
        except RuntimeAssertError:
            raise
        except Exception:  # an op failed before the assert
            return

    @cached_property
    def _has_effects(self) -> bool:
        """Whether the program writes to tensors from outside, or draws random numbers."""
        graph = self._captured.graph
        outer = [leaf.value for leaf in self._inputs.leaves] + [v for v, _ in graph.constants]
        writes = any(v is not None and v.root.version > 0 for v in outer)
        return writes or any(node.func not in PURE for node in graph.nodes)

    # ------------------------------------------------------------------ outputs

    def _object(self, x: Any) -> str:
        name = f"o{len(self._scope)}"
        self._scope[name] = x
        return name

    def _need(self, operand: Any) -> None:
        """Make the graph return the numbers that an expression needs."""
        for name in names_of(operand):
            if name not in self._known:
                self._returned_by_graph(Name(name))

    def _returned_by_graph(self, leaf: Any) -> str:
        place = self._places.get(leaf)
        if place is None:
            place = self._places[leaf] = f"out[{len(self.outputs)}]"
            self.outputs.append(leaf)
        return place

    def _output(self, leaf: Any) -> str:
        kind = type(leaf)
        if kind is Value:
            return self._returned_by_graph(leaf)
        if kind is Name:
            if leaf not in self._known:
                self._returned_by_graph(leaf)
            return str(leaf)
        if kind in SYMBOLIC:
            operand = operand_of(leaf)
            self._need(operand)
            return number_source(leaf)
        if kind is Held:
            return f"{self._object(leaf)}.object" if leaf.is_loose else self._object(leaf.object)
        if kind is SymSize:
            return f"torch.Size(({''.join(f'{self._output(n)}, ' for n in leaf)}))"
        return repr(leaf) if kind in (int, bool, str, type(None)) else self._object(leaf)

    # ------------------------------------------------------------------ code

    def module(self, fakes: Fakes) -> GraphModule:
        """The graph in the form that compilers take."""
        graph = self._captured.graph
        return to_backend_fx(graph, self._inputs, self.inner, self.outputs, fakes.fixed)

    def run(
        self,
        compiled: Callable[..., Sequence[Any]],
        fakes: Fakes,
        conditions: Sequence[str] = (),
    ) -> Callable[..., Any]:
        """The function of the flat inputs. Where one of the conditions over their symbols does not
        hold, the uncompiled program runs.
        """
        binds = [
            f"torch.scalar_tensor({name}, dtype=torch.float64)"
            if isinstance(fakes.numbers[name], torch.Tensor)
            else name
            for name in [b.name for b in self._inputs.binds if b.name not in fakes.fixed]
        ]
        tensors = [f"flat[{i}]" for i, x in enumerate(self._inputs.leaves) if x.value is not None]
        given = [b.name for b in self._inputs.sizes if b.dim is None and b.name in binds]
        conditions = [*[f"-{EXACT} <= {name} <= {EXACT}" for name in given], *conditions]
        lines = ["def run(flat):", *self._before("refuse({}, flat, locals())")]
        lines += [f"    if not ({text}): return plain(flat)" for text in conditions]
        call = f"out = compiled({', '.join(binds + tensors)})"
        if any(node.func in MODE_CHANGES for node in self._captured.graph.nodes):
            call = f"with keep_modes(): {call}"
        lines += [
            "    try:",
            f"        {call}",
            "    except RuntimeError as error:",
            "        explain(error, flat)",
            "        raise",
        ]
        for leaf, place in self._places.items():
            if type(leaf) is Name:
                lines.append(f"    {leaf} = {place}")
        lines += [
            f"    if not {truth(o)}: fail(late[{i}], locals())" for i, o in enumerate(self.late)
        ]
        lines.append(f"    return [{self._returned}]")
        self._scope["compiled"] = compiled
        exec("\n".join(lines), self._scope)  # our own text
        made: Callable[..., Any] = self._scope["run"]
        return made

    def _before(self, end: str) -> list[str]:
        """Code that reads the symbols and checks asserts over them; `end` handles a failure."""
        lines = [f"{bind.name} = {bind.text()}" for bind in self._inputs.binds]
        lines += [
            f"if not {truth(o)}: {end.format(f'early[{i}]')}" for i, o in enumerate(self.early)
        ]
        return [f"    {line}" for line in lines]
