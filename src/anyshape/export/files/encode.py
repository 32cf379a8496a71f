"""An exported program as plain data for `program.json`; `decode.py` is the inverse."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.obligation import in_program_order
from anyshape.errors import UnsupportedError
from anyshape.export.branches.branching import Branching, Part
from anyshape.export.files import (
    allowed_call,
    body,
    modules,
    outlet,
    plain,
    structure,
    weights,
)
from anyshape.export.files.callable_ops import name_of
from anyshape.export.files.modules import CallWriter
from anyshape.export.files.stand_in import Member, member_of
from anyshape.export.files.symbol_scope import ScopeWriter, Sites
from anyshape.export.files.written_out import WrittenOut
from anyshape.expr.node import Expr
from anyshape.symbolic.numpy_scalar import scalar_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.argument.condition import class_of
from anyshape.trace.graph.graph import SYMBOLIC, Name, Value, names_object, operand_of
from anyshape.trace.higher_order.body import Body
from anyshape.trace.opaque_call import OpaqueCall
from anyshape.trace.record.effect.effect import build, set_attribute, set_item
from anyshape.trace.sequence.list_meta import ListMeta

if TYPE_CHECKING:
    from anyshape.export.branches.branching import Branch
    from anyshape.export.program import ExportedProgram
    from anyshape.export.region import Refused
    from anyshape.tensor.meta import Meta
    from anyshape.trace.argument.inputs import Leaf
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.call_signature import CallSignature

FORMAT: Final = 7
_SYMBOLIC: Final = {SymInt: "int", SymBool: "bool", SymFloat: "real"}
_OF_OBJECTS: Final = (build, set_attribute, set_item)  # a loaded program has no module to assign to
_KNOWN: Final = frozenset((bool, int, float, str))


class _Shared(NamedTuple):
    """What all parts of a file refer to: lines, tensors and calls of modules by number, the length
    of expressions.
    """

    sites: Sites
    numbers: dict[int, int]
    calls: CallWriter
    written: WrittenOut


def encode(program: ExportedProgram) -> tuple[dict[str, Any], bytes]:
    """The data of a program, and its weights."""
    if program.state.is_incomplete:
        raise UnsupportedError(
            f"cannot save the constant {program.state.missing()[0]}",
            why="the program was loaded without weights",
            fix="call load_state_dict first",
        )
    sites = Sites()
    written = WrittenOut()
    constants: dict[int, torch.Tensor] = {}
    for part in [part for variant in program.variants for part in variant.parts]:
        for _, tensor in part.graph.constants:
            constants.setdefault(id(tensor), tensor)
    for tensor in program.state.values():
        constants.setdefault(id(tensor), tensor)
    numbers = {key: i for i, key in enumerate(constants)}
    names = {numbers[id(t)]: name for name, t in program.state.items()}
    records, data = weights.encode(
        list(constants.values()), [names.get(i, f"unnamed_{i}") for i in range(len(numbers))]
    )
    calls = CallWriter()
    shared = _Shared(sites, numbers, calls, written)
    content = {
        "constants": records,
        "format": FORMAT,
        "is_complete": program.is_complete,
        "name": program.name,
        "on_deviation": program.on_deviation,
        "outside": [[c.name, c.value] for c in program.constants if not c.is_code],
        "refused": [_refused(r, sites, written) for r in program.refused],
        "state": modules.encode_state(program.state, numbers),
        "torch": str(torch.__version__),
        "variants": [_Variant(v.parts[0], shared).encode(v) for v in program.variants],
    }
    content["modules"] = modules.encode_modules(program.state, calls)
    content["sites"] = [list(site) for site in sites.numbers]
    if written.is_too_long:
        raise UnsupportedError(
            f"cannot save expressions of {written.total} characters when written out",
            why="it could not be loaded: the memory of a load is bounded by the size of the file",
            code="AS511",
        )
    return content, data


def _refused(refused: Refused, sites: Sites, written: WrittenOut) -> dict[str, Any]:
    first = refused.guards[0]
    scope = ScopeWriter(first.condition.pool, first.knowledge.sources, sites, None, written)
    guards = [scope.obligation(o) for o in refused.guards]
    kind = type(refused.error).__name__
    return {"error": [kind, str(refused.error)], "guards": guards, "terms": scope.terms()}


class _Graph:
    """The graph of a program or of a segment, with its asserts and its result."""

    def __init__(self, part: Captured, shared: _Shared, *, has_facts: bool = True) -> None:
        self.part = part
        self.shared = shared
        self.sites = shared.sites
        self.numbers = shared.numbers
        env = part.tracer.env
        ranges = part.ranges if has_facts else None
        self.scope = ScopeWriter(env.pool, env.sources, shared.sites, env, shared.written, ranges)

    def graph(self, branch: Branch | None) -> dict[str, Any]:
        """The fields that a program and a segment ending in `branch` share."""
        part, scope = self.part, self.scope
        asserts = [scope.obligation(o) for o in part.runtime_asserts]
        found = {
            "asserts": asserts,
            "branch": None if branch is None else self._branch(branch),
            "constants": [self.numbers[id(t)] for _, t in part.graph.constants],
            "deviations": [
                {
                    "about": d.about,
                    "at": self.sites.number(d.site),
                    "condition": scope.text(d.condition),
                    "op": d.op,
                }
                for d in part.deviations
            ],
            "nodes": [self._node(n) for n in part.graph.nodes if n.func not in _OF_OBJECTS],
            "out_tree": None if branch is not None else structure.encode(part.out_spec),
            "outputs": [self._output(leaf) for leaf in part.graph.outputs],
            "recorded": self._recorded(asserts),
        }
        if part.graph.signatures:
            found["signatures"] = [self._signature(s) for s in part.graph.signatures]
        return found

    def _signature(self, signature: CallSignature) -> dict[str, Any]:
        """The arguments and results of a call of a module."""
        return {
            "call": self.shared.calls.number(signature.call),
            "in_tree": structure.encode(signature.in_spec),
            "inputs": list(map(self._arg, signature.inputs)),
            "out_tree": structure.encode(signature.out_spec),
            "outputs": list(map(self._arg, signature.outputs)),
        }

    def _branch(self, branch: Branch) -> dict[str, Any]:
        return {
            "at": self.sites.number(branch.site),
            "question": branch.question,
            "targets": [[answer, target] for answer, target in branch.targets.items()],
        }

    def segment(self, branch: Branch | None) -> dict[str, Any]:
        """A segment after the first."""
        leaves = self.part.inputs.leaves
        content = {**self.graph(branch), "frame": [self._entry(leaf) for leaf in leaves]}
        content["terms"] = self.scope.terms()
        return content

    def _entry(self, leaf: Leaf) -> Any:
        """The value at one place of a frame."""
        if leaf.value is None:
            return self._name(Name(leaf.name))
        return {**self._tensor(leaf.value.meta), "value": repr(leaf.value)}

    def _name(self, name: Name) -> Any:
        text = str.__str__(name)
        return {"symbol": text} if not names_object(text) else outlet.made(name)

    def _tensor(self, meta: Meta) -> dict[str, Any]:
        """What is known of a tensor, or of a list whose length only the run knows."""
        content: dict[str, Any] = {
            "device": str(meta.device),
            "dtype": plain.name_of(meta.dtype),
            "grad": bool(meta.requires_grad),
        }
        if isinstance(meta, ListMeta):
            content["list"] = [meta.items, meta.nested, meta.dense]
        sizes: tuple[Any, ...] = meta.shape  # None where the items of a list differ
        content["shape"] = [None if n is None else self._size(n) for n in sizes]
        return content

    def _recorded(self, asserts: list[dict[str, Any]]) -> list[Any]:
        """The recorded conditions in the order of the program; those that are asserts by number."""
        found = [o for o in in_program_order(self.part.runtime_asserts) if o.recorded]
        numbers = {tuple(o.values()): i for i, o in enumerate(asserts)}
        written = [self.scope.obligation(o) for o in found]
        return [numbers.get(tuple(o.values()), o) for o in written]

    def _node(self, node: Any) -> dict[str, Any]:
        is_outlet = node.func in outlet.OUTLETS
        return {
            "args": outlet.arguments(node, self._arg)
            if is_outlet
            else list(map(self._arg, node.args)),
            "at": self.sites.number(node.site),
            "call": self.shared.calls.number(node.module_call),
            "kwargs": [[name, self._arg(a)] for name, a in node.kwargs.items()],
            "op": allowed_call.encode(node.func)
            if type(node.func) is OpaqueCall
            else name_of(node.func),
            "outs": self._outs(node.outs),
        }

    def _outs(self, outs: Any) -> Any:
        kind = type(outs)
        if outs is None:
            return None
        if kind is tuple:
            return [self._outs(part) for part in outs]
        if kind is Name:
            return self._name(outs)
        return {**self._tensor(outs.meta), "value": outs.index}

    def _size(self, n: Any) -> Any:
        return n if type(n) is int else {"int": self.scope.text(n.expr)}

    def _arg(self, a: Any) -> Any:
        """An argument of an op."""
        kind = type(a)
        if kind is Value:
            return {"value": repr(a)}
        if kind is Name:
            return self._name(a)
        if kind is Body:
            return {
                "body": body.encode(a, self._node, self._arg, self._outs, self.scope.obligation)
            }
        if scalar_of(a):
            return {"numpy": [scalar_of(a), self.scope.text(operand_of(a))]}
        if kind in SYMBOLIC:
            return {_SYMBOLIC[kind]: self.scope.text(operand_of(a))}
        if kind not in _KNOWN:  # an instance of a subclass is saved as one of these
            for known in (bool, int, float, str):
                if isinstance(a, known):
                    a = known(a)
                    break
        return plain.encode(a, "an argument of an op", self._arg)

    def _output(self, a: Any) -> Any:
        """A leaf of the result; a member of an enum of numbers or text is saved as one of these."""
        if type(a) is Name:
            if names_object(a):
                return outlet.made(a)
            found = self.part.tracer.env.pool.by_name[str.__str__(a)]
            return {"int" if type(found) is Expr else "real": self.scope.text(found)}
        if isinstance(a, Member) or (isinstance(a, Enum) and not isinstance(a, int | float | str)):
            return _member(a)
        return self._arg(a)


class _Variant(_Graph):
    def encode(self, variant: Captured) -> dict[str, Any]:
        """A variant, whose first segment, or only one, is this."""
        v, scope = variant, self.scope
        tensors = [x for x in v.inputs.examples if isinstance(x, torch.Tensor)]
        is_plain = not v.tracer.asked_class or all(class_of(x) is torch.Tensor for x in tensors)
        if not is_plain or not v.tracer.observations.are_usual:
            raise UnsupportedError(
                "the program depends on state of its tensors that a file does not hold",
                why="it read attributes, gradients or views of tensors, which are checked here",
                fix="do not let the program depend on them",
                code="AS511",
            )
        first, *others = v.segments if isinstance(v, Branching) else [Part(v, None)]
        content: dict[str, Any] = {
            **self.graph(first.branch),
            "binds": [list(bind[:-1]) for bind in v.inputs.binds],  # scalars of NumPy are constants
            "door": {
                "device": str(v.tracer.device) if v.tracer.asked_device else None,
                "distinct": v.tracer.asked_identity,
                "dtype": plain.name_of(v.tracer.dtype),
                "exact": v.tracer.asked_class,
                "gradients": v.tracer.asked_grad,
                "handles": v.tracer.handles_errors,
                "layouts": v.tracer.asked_layout,
                "settings": [
                    [place.getter, list(place.args), self._arg(value)]
                    for place, value in v.tracer.read_places.items()
                ],
            },
            "guards": [scope.obligation(o) for o in v.guards],
            "in_tree": structure.encode(v.inputs.spec),
            "inputs": [self._leaf(leaf) for leaf in v.inputs.leaves],
            "relations": [[i, d, self._size(n)] for i, d, n in v.inputs.relations],
            "replacements": [[name, scope.text(e)] for name, e in v.replacements.items()],
            "segments": [_Graph(p, self.shared, has_facts=False).segment(b) for p, b in others],
        }
        content["terms"] = scope.terms()
        return content

    def _leaf(self, leaf: Leaf) -> dict[str, Any]:
        example = leaf.example
        content: dict[str, Any] = {"name": leaf.name, "twin": leaf.twin}
        if not isinstance(example, torch.Tensor):
            return {**content, "plain": _given(example, leaf.name)}
        content["example"] = {
            "device": str(example.device),
            "dtype": plain.name_of(example.dtype),
            "grad": example.requires_grad,
            "offset": int(example.storage_offset()),
            "shape": list(example.shape),
            "strides": list(example.stride()),
        }
        content["shape"] = [self._size(n) for n in leaf.shape]
        content["layout"] = None
        if leaf.value is not None:
            layout = leaf.value.meta.layout.found()
            content["layout"] = {
                "offset": layout.offset,
                "order": None if layout.order is None else list(layout.order),
                "strides": None if layout.strides is None else list(layout.strides),
            }
        return content


def _given(example: Any, name: str) -> Any:
    """A value among the inputs, which keeps its type."""
    if isinstance(example, Member | Enum):
        return _member(example)
    return plain.encode(example, f"the input {name}")


def _member(x: Member | Enum) -> Any:
    member = member_of(x) if isinstance(x, Enum) else x
    return {"enum": [member.of, member.name]}
