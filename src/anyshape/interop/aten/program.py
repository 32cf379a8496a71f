"""`to_exported_program`: a traced program as a `torch.export.ExportedProgram`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Node

from anyshape.interop.aten.asserts import Asserts
from anyshape.interop.aten.call_structure import argument_names, need_plain_structure, spread_sizes
from anyshape.interop.aten.calls import CallWriter
from anyshape.interop.aten.module_stacks import ModuleStacks
from anyshape.interop.aten.segments import SegmentWriter
from anyshape.interop.aten.stretches import with_stretches
from anyshape.interop.aten.symbols import TorchSymbols, refuse
from anyshape.interop.aten.writer import AtenWriter
from anyshape.interop.example import example_of
from anyshape.tensor.meta import meta_of_real
from anyshape.torch_compat.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    TrainingIRVerifier,
    forget_pending,
)
from anyshape.torch_compat.fake_tensor import general_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.capture import Captured

PARAMETER: Final = "parameter"
BUFFER: Final = "buffer"
NON_PERSISTENT_BUFFER: Final = "non_persistent_buffer"
CONSTANT: Final = "constant"
_SAVED: Final = (PARAMETER, BUFFER)
_ORDER: Final = (PARAMETER, BUFFER, NON_PERSISTENT_BUFFER, CONSTANT)
_KINDS: Final = {
    PARAMETER: ("p", InputKind.PARAMETER),
    BUFFER: ("b", InputKind.BUFFER),
    NON_PERSISTENT_BUFFER: ("b", InputKind.BUFFER),
    CONSTANT: ("c", InputKind.CONSTANT_TENSOR),
}
_PLAIN: Final = (int, float, bool, str, type(None))
_NUMBERS: Final[dict[Any, Any]] = {
    torch.SymInt: SymIntArgument,
    torch.SymFloat: SymFloatArgument,
    torch.SymBool: SymBoolArgument,
}


class NamedTensor(NamedTuple):
    """A tensor that a program holds, under one name; `is_alias` if it has an earlier one."""

    name: str
    kind: str
    tensor: torch.Tensor
    is_alias: bool


def to_exported_program(
    captured: Captured, tensors: Sequence[NamedTensor], root: str, segments: Sequence[Any] = ()
) -> ExportedProgram:
    """A traced program as one of torch's. `root` is the qualified name of the class of the module;
    the constants of the graph are among the `tensors`. The `segments` of a program that branches on
    data are pairs of what was traced and the branch at its end.
    """
    return _Builder(captured, tensors, root, segments).build()


class _Builder:
    def __init__(
        self,
        captured: Captured,
        tensors: Sequence[NamedTensor],
        root: str,
        segments: Sequence[Any],
    ) -> None:
        need_plain_structure(captured.inputs.spec, "an argument")
        self.captured = captured
        self.tensors = tensors
        self.symbols = TorchSymbols(captured)
        self.writer = AtenWriter(self.symbols)
        self.stacks = ModuleStacks(root)
        self.inputs: list[InputSpec] = []
        self.state = {t.name: t.tensor for t in tensors if t.kind in _SAVED}
        self.constants: dict[str, Any] = {}
        self.segments = segments
        self.held: dict[int, Any] = {}  # the fake tensors of constants
        self.given: list[Any] = []  # the values of the inputs

    def build(self) -> ExportedProgram:
        """The program."""
        captured, writer = self.captured, self.writer
        writer.meta = {"nn_module_stack": self.stacks.top}
        with general_paths():
            self._take_tensors()
            count = len(self.inputs)
            self._take_inputs()
            bound = [bind.name for bind in captured.inputs.binds]
            asserts = Asserts(writer, captured.runtime_asserts, bound)
            calls = CallWriter(writer, asserts, self.stacks)
            if not self.segments:
                calls.prepare(captured.graph)
        with general_paths(), writer.recording():
            calls.write_guards(captured.guards)
            if self.segments:
                several = SegmentWriter(writer, self.segments, self.held, self.stacks)
                results, out_spec = several.write(writer, self.given)
            else:
                calls.write(captured.graph)
                flat, out_spec = spread_sizes(captured.graph.outputs, captured.out_spec)
                results = [writer.arg(x) for x in flat]
            need_plain_structure(out_spec, "the result")
            outputs = [writer.node_arg(x) for x in results]
        forget_pending(self.symbols.shape_env)
        writer.fx.output(tuple(outputs)).meta["val"] = None
        for node, tensor in writer.lifted.items():
            name = node.name.removeprefix("c_")
            self.constants[name] = tensor.clone()
            spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
            self.inputs.insert(count, spec)
            count += 1
        signature = ExportGraphSignature(self.inputs, [_output(x) for x in outputs])
        root, graph = writer.root, writer.fx
        if calls.regions.found or writer.has_regions:
            root = with_stretches(root, graph)
            graph = root.graph
        signatures = calls.signatures.written(root, graph)
        return ExportedProgram(
            root,
            graph,
            signature,
            self.state,
            self.symbols.ranges(),
            self._module_calls(out_spec, signatures),
            self._example(),
            self.constants,
            verifiers=[TrainingIRVerifier],
        )

    def _take_tensors(self) -> None:
        """Parameters, buffers and constants, in this order."""
        parts = [captured for captured, _ in self.segments] or [self.captured]
        held = {id(tensor): value for part in parts for value, tensor in part.graph.constants}
        for kind in _ORDER:
            for name, _, tensor, is_alias in [t for t in self.tensors if t.kind == kind]:
                value = held.get(id(tensor))
                if kind not in _SAVED and (value is not None or kind != CONSTANT):
                    self.constants[name] = tensor
                if is_alias or not (name in self.state or name in self.constants):
                    continue
                meta = meta_of_real(tensor) if value is None else value.meta
                prefix, of_kind = _KINDS[kind]
                fake = self.writer.fakes.of(meta, own=True)
                node = self.writer.placeholder(f"{prefix}_{name}", fake)
                if value is not None:
                    self.writer.values[value] = self.held[id(tensor)] = fake
                persistent = kind == BUFFER if of_kind is InputKind.BUFFER else None
                arg = TensorArgument(node.name)
                self.inputs.append(InputSpec(of_kind, arg, name, persistent))
                self.writer.last_constant = node

    def _take_inputs(self) -> None:
        leaves, binds = self.captured.inputs.leaves, self.captured.inputs.binds
        of_leaf = {bind.leaf: bind for bind in binds if bind.dim is None}
        nodes = []
        for i, leaf in enumerate(leaves):
            bind = of_leaf.get(i)
            if leaf.value is not None:
                val = self.writer.fakes.of(leaf.value.meta, own=True)
                self.writer.values[leaf.value] = val
            elif bind is not None:
                if type(leaf.example) is bool or bind.kind is not None:
                    raise refuse(f"{leaf.name}: {type(leaf.example).__name__} that varies")
                val = self.symbols.numbers[bind.name]
            else:
                val = leaf.example
            node = self.writer.placeholder(leaf.name, val)
            nodes.append(node)
            self.given.append(val)
            arg: Any
            if leaf.value is not None:
                arg = TensorArgument(node.name)
            elif bind is not None and type(val) in _NUMBERS:
                arg = _NUMBERS[type(val)](node.name)
                if val.node.expr.is_Symbol:
                    self.writer.numbers.made[val.node.expr] = node
            else:
                arg = ConstantArgument(node.name, val)
            self.inputs.append(InputSpec(InputKind.USER_INPUT, arg, None))
        for bind in binds:
            n = self.symbols.numbers[bind.name]
            e = n.node.expr if hasattr(n, "node") else None
            if bind.dim is not None and e is not None and e.is_Symbol:
                if bind.factor == 1 and not bind.constant:
                    self.writer.numbers.places.setdefault(e, (nodes[bind.leaf], bind.dim))
                else:
                    size = bind.factor * e + bind.constant
                    self.writer.solve(e, size, nodes[bind.leaf], bind.dim)

    def _module_calls(
        self, out_spec: Any, signatures: dict[str, ModuleCallSignature]
    ) -> list[ModuleCallEntry]:
        """The root, the modules in the order of their first call, and further calls that have
        signatures.
        """
        inputs = self.captured.inputs
        arguments = argument_names(inputs.spec, [leaf.name for leaf in inputs.leaves])
        root = ModuleCallSignature([], [], inputs.spec, out_spec, arguments)
        names = [*self.stacks.paths, *[name for name in signatures if "@" in name]]
        return [
            ModuleCallEntry("", root),
            *[ModuleCallEntry(name, signatures.get(name)) for name in names],
        ]

    def _example(self) -> Any:
        """Inputs of the sizes that are the hints of the symbols."""
        return example_of(self.captured, self.symbols.hints)


def _output(x: Any) -> OutputSpec:
    if not isinstance(x, Node) and type(x) not in _PLAIN:
        raise refuse(
            f"a result that is {x!r}",
            why="programs of torch return tensors, numbers and text",
            fix="keep it out of the result",
        )
    arg: Any = ConstantArgument("", x)
    if isinstance(x, Node):
        arg = _NUMBERS.get(type(x.meta["val"]), TensorArgument)(x.name)
    return OutputSpec(OutputKind.USER_OUTPUT, arg, None)
