"""`ExportedProgram`: one program for every size that its contract allows."""

from __future__ import annotations

import copy
from enum import Enum
from typing import TYPE_CHECKING, Any

from anyshape.env.fact import DECLARED
from anyshape.errors import (
    AnyshapeError,
    ArgumentError,
    ConstraintError,
    UnsupportedError,
    counted,
    text_of,
)
from anyshape.export.binding import Binding
from anyshape.export.branches.branching import branches_of
from anyshape.export.compiled_code import CompiledCode
from anyshape.export.constant import Constant, constants_of
from anyshape.export.contract import Contract, contract_of, ranges_of
from anyshape.export.files.save import dumps, save
from anyshape.export.files.stand_in import Member, member_of
from anyshape.export.match import ACCEPTED
from anyshape.export.report import report
from anyshape.export.retrace import is_exporting, retraced
from anyshape.export.state.call_path import calls_of
from anyshape.export.state.hierarchy import missing_error
from anyshape.export.state.stateful import Stateful
from anyshape.export.to_torch import to_torch
from anyshape.export.verify import Report, verify
from anyshape.interop.backend import INDUCTOR, find_backend
from anyshape.interop.fx_graph import to_fx
from anyshape.observe.explain import explain
from anyshape.observe.report.notebook import text_html
from anyshape.public_call import need_number, need_path, public
from anyshape.torch_compat.torch_function import has_function_mode, without_modes
from anyshape.trace import tree
from anyshape.trace.argument.call_structure import flatten_call

if TYPE_CHECKING:
    import inspect
    import os
    from collections.abc import Callable, Mapping

    import torch
    from torch.export import ExportedProgram as TorchProgram
    from torch.fx import GraphModule

    from anyshape.domain import Interval
    from anyshape.env import Obligation, Symbol
    from anyshape.events import Deviation
    from anyshape.export.draft import Problem
    from anyshape.export.explore import Exploration
    from anyshape.export.state.state import State
    from anyshape.interop.backend import Compiler, Lowered
    from anyshape.observe.profile_report import Node
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Graph
    from anyshape.trace.graph.module_call import ModuleCall


class ExportedProgram(Stateful):
    """Callable like the function that was exported. It checks its inputs first.

    A program that branches on its sizes has several `variants`, each with a graph, and with the
    guards under which it applies. The first one serves the example. A variant that branches on data
    has several `parts`, each with a graph. `code` is that of all variants; `graph`, `guards` and
    `runtime_asserts` are for programs of one.
    """

    def __init__(
        self,
        name: str,
        found: Exploration,
        state: State,
        on_deviation: str,
        function: Any = None,
        *,
        rebuild: Callable[[list[Any], Any], Any] = tree.unflatten,
        constants: list[Constant] | None = None,
    ) -> None:
        self._rebuild = rebuild  # makes the result from its leaves
        self.function = function
        self.name = name
        self.variants: list[Captured] = found.variants
        self.refused = found.refused
        self.is_complete = found.is_complete
        self.state = state
        self.problems: list[Problem] = []  # of a draft
        self.seconds: float | None = None  # that the export took; of a loaded program unknown
        self.profile: Node | None = None  # where they went, if a profile was taken
        self.on_deviation = on_deviation
        self._constants = constants
        self._code: CompiledCode | None = None
        self._binding = Binding(name, self._first.inputs, function)
        leaves = self._first.inputs.leaves
        self._members = [i for i, leaf in enumerate(leaves) if type(leaf.example) is Member]

    @property
    def _first(self) -> Captured:
        return self.variants[0]

    def _only(self, what: str) -> Captured:
        """The traced program of a program that is one; raises for several variants, and for several
        segments, each of which has `what`.
        """
        variant = self._variant(what)
        if len(variant.parts) > 1:
            raise self._branches(variant, what)
        return variant

    def _branches(self, variant: Captured, what: str) -> ArgumentError:
        listed = [str(branch.site or branch.question) for branch in branches_of(variant)]
        return ArgumentError(
            f"{self.name} branches on data: it has {len(variant.parts)} segments, each with {what}"
            " of its own",
            why="; ".join(dict.fromkeys(listed)),
            fix="choose one of program.variants[0].parts, or to_fx(segment=0)",
        )

    def _variant(self, what: str) -> Captured:
        """The variant of a program that has one; raises for several, each of which has `what`."""
        if len(self.variants) > 1:
            listed = [f"{i}: {_applies(v)}" for i, v in enumerate(self.variants)]
            raise ArgumentError(
                f"{self.name} has {len(self.variants)} variants, each with {what} of its own",
                why="; ".join(listed),
                fix="choose one of program.variants, or to_fx(variant=0)",
            )
        return self._first

    @property
    def graph(self) -> Graph:
        """The calls of a program of one variant, in order."""
        return self._only("a graph").graph

    @property
    def code(self) -> str:
        """The generated Python. Of several variants, each has a line that says when it applies."""
        if len(self.variants) == 1:
            return self._first.code
        return "".join([f"# if {_applies(v)}:\n{v.code}" for v in self.variants])

    @property
    def guards(self) -> list[Obligation]:
        """The conditions on the inputs of a program of one variant."""
        return self._variant("guards").guards

    @property
    def runtime_asserts(self) -> list[Obligation]:
        """What a program of one variant checks while it runs."""
        return self._only("runtime asserts").runtime_asserts

    @property
    def deviations(self) -> list[Deviation]:
        """Where the program may differ from eager execution, over all variants."""
        return [d for v in self.variants for d in v.deviations]

    @property
    def constants(self) -> list[Constant]:
        """What the function read outside of its arguments, which the program holds as it was:
        values, then code. Parameters, buffers and other tensors are in `state`.
        """
        if self._constants is None:
            self._constants = constants_of(self.variants)
        return self._constants

    @property
    def module_calls(self) -> list[ModuleCall]:
        """The calls of modules that the nodes of all graphs are part of; see `Node.module_stack`.
        A call is after those that it is in.
        """
        return calls_of(self.variants)

    @property
    def symbols(self) -> dict[str, Symbol]:
        """The symbols of a program of one variant, by name."""
        return dict(self._only("symbols").tracer.env.symbols)

    @property
    def range_constraints(self) -> dict[str, Interval]:
        """The range of each input size over all variants, by the user's name for it."""
        return ranges_of(self.variants)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the program on inputs that the contract allows."""
        self._need_weights()
        self.state.need_dtypes()
        args, kwargs = self._binding.arranged(args, kwargs)
        form, heads = self._first.inputs.spec, self._binding.heads
        flat = flatten_call(form, args, kwargs, self.name, ACCEPTED, heads)
        for i in self._members:
            if isinstance(flat[i], Enum):
                flat[i] = member_of(flat[i])
        variant = self.variant_for(flat)
        if is_exporting():
            return self._rebuild(*retraced(self, variant, flat))
        try:
            code = self._code
            leaves, out_spec = variant.run(flat) if code is None else code.run(variant, flat)
        except AnyshapeError:
            raise
        except Exception as e:
            if variant.tracer.handles_errors:
                raise _unhandled(self.name, e) from e
            raise
        return self._rebuild([*leaves], out_spec)

    def anyshape_signature(self) -> inspect.Signature:
        """The signature of a call, for an export of the program itself."""
        return self._binding.signature()

    def variant_for(self, flat: list[Any]) -> Captured:
        """The variant that serves some inputs; raises if none does. No mode of the caller's sees
        what the contract asks.
        """
        if has_function_mode():
            with without_modes():
                return self._variant_for(flat)
        return self._variant_for(flat)

    def _variant_for(self, flat: list[Any]) -> Captured:
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
        contract = self._first.contract
        values = contract.values(flat)
        branch = next((r for r in self.refused if r.holds(values)), None)
        if branch is not None:
            error = branch.error
            verb = "could not be exported" if branch.is_refusal else "raises"
            return ConstraintError(
                f"{self.name} {verb} for {contract.describe(flat, branch.guards)}",
                why=f"{type(error).__name__}: {str(error).splitlines()[0]}",
                code="AS202",
            )
        return ConstraintError(
            f"{self.name} was not exported for {contract.describe(flat, [guard])}:"
            f" {guard.text} does not hold",
            why=guard.describe(),
            fix="give sizes that the contract allows, or export for these too",
            code="AS202",
        )

    # ------------------------------------------------------------------ what it is

    @public
    def contract(self) -> Contract:
        """The inputs that it accepts, as text and as data."""
        return contract_of(self)

    @public
    def explain(self) -> str:
        """Inputs, tensors by name, symbols, guards, asserts, specializations, deviations, with the
        user's lines.
        """
        return explain(self.name, self.contract(), self.variants, self.state.lines())

    @public
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file that shows the program: what it accepts, its symbols, guards and
        asserts beside the user's source, its graph by module, and its profile if it has one.
        """
        need_path("report", path)
        report(self, path)

    def _need_weights(self) -> None:
        if self.state.is_incomplete:
            raise missing_error(self.name, self.state.missing())

    @public
    def to_fx(self, variant: int | None = None, segment: int | None = None) -> GraphModule:
        """A `torch.fx.GraphModule` over flat lists of inputs and outputs. A program of several
        variants needs the number of one, and a variant of several segments that of a segment. The
        module of a variant without branches checks its guards; that of a segment does not.
        """
        self._need_weights()
        if variant is not None:
            need_number("variant", variant, len(self.variants))
        chosen = self._variant("a graph") if variant is None else self.variants[variant]
        if segment is not None:
            need_number("segment", segment, len(chosen.parts))
        names = {id(tensor): name for name, tensor in self.state.items()}
        root = next((c.class_name for c in self.module_calls if c.path == ""), "")
        if len(chosen.parts) == 1 and not segment:
            return to_fx(chosen, guarded=True, names=names, root=root)
        if segment is None:
            raise self._branches(chosen, "a graph")
        return to_fx(chosen.parts[segment], names=names, root=root)

    @public
    def to_torch(self, variant: int | None = None) -> TorchProgram:
        """A `torch.export.ExportedProgram`, made from the graph without tracing again.

        It has one graph. Of several variants, that of all sizes but 0 and 1 stands for the others,
        with a warning; `variant` chooses one, which refuses all other sizes.
        """
        self._need_weights()
        return to_torch(self, variant)

    @public
    def compile(
        self,
        *,
        backend: str | Compiler = INDUCTOR,
        mode: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> ExportedProgram:
        """This program, run by the code that a compiler of torch makes of it: a new program over
        the same tensors. `backend`, `mode` and `options` are those of `anyshape.compile`.

        It is compiled here, once for all sizes, under the modes that hold here: for inference, call
        it under `torch.inference_mode()` or `torch.no_grad()`. Give a program its weights before.
        The code is not saved with the program.
        """
        found = find_backend(backend, mode, options)
        made = copy.copy(self)
        made._code = None if found.is_plain else CompiledCode(self.name, found)
        if made._code is not None and not self.state.is_incomplete:
            made._code.prepare(self.variants)
        return made

    def _rebind(self, tensors: Mapping[int, torch.Tensor]) -> None:
        super()._rebind(tensors)
        if self._code is not None:  # it is that of the other tensors
            self._code = CompiledCode(self.name, self._code.backend)

    @property
    def lowered(self) -> list[Lowered]:
        """What a backend has made of the program so far: nothing, unless it is from `compile`."""
        return [] if self._code is None else self._code.lowered

    @public
    def verify(self, *calls: Any, eager: Any = None) -> Report:
        """Run calls (tuples of arguments) here and in eager execution, and compare."""
        return verify(self, calls, eager)

    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to one file, which `anyshape.load` reads."""
        need_path("save", path)
        save(self, path)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickled as the file that `save` writes."""
        from anyshape.export.files.load import loads  # noqa: PLC0415  it imports this module

        return loads, (dumps(self),)

    def __repr__(self) -> str:
        variants = counted(len(self.variants), "variant", "variants")
        return f"<ExportedProgram {self.name}: {variants}>\n{self.contract()}"

    def _repr_html_(self) -> str:
        return text_html(repr(self))


def _unhandled(name: str, error: Exception) -> UnsupportedError:
    """The error of a run that the function itself may have handled."""
    return UnsupportedError(
        f"{name} raised {type(error).__name__}, which the function may handle: {text_of(error)}",
        why="the program was traced where nothing raised, and has no handlers",
        fix="check for the condition in place of handling the error",
    )


def _applies(variant: Captured) -> str:
    """When a variant applies, by the user's names."""
    found = [o.text for o in variant.guards if o.origin != DECLARED]
    return " and ".join(found) or "every size is allowed"
