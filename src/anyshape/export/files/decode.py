"""The inverse of `encode.py`: a program from plain data that may be damaged or hostile.

Everything is checked: LoadError is the only exception. Nothing from the file is executed, and only
the names of ops are looked up, in the table of those that a program may call.
"""

from __future__ import annotations

import keyword
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.errors import AnyshapeError, LoadError
from anyshape.events import Deviation
from anyshape.export.constant import Constant
from anyshape.export.explore import Exploration, Refused
from anyshape.export.files import checked, plain, structure, weights
from anyshape.export.files.callable_ops import find, need_types
from anyshape.export.files.guarded_op import guarded
from anyshape.export.files.outlet import OUTLETS, Outlets
from anyshape.export.files.scope import ScopeReader, read_sites
from anyshape.export.files.stand_in import Member
from anyshape.export.files.version import upgraded, version_of
from anyshape.export.files.written_out import WrittenOut
from anyshape.export.program import ExportedProgram
from anyshape.expr.table.op_numpy import WIDTHS
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.torch_compat.tensor_subclass import make_wrapper_subclass
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.capture import Captured
from anyshape.trace.codegen import guard_function
from anyshape.trace.graph import CONSTANT, INPUT, RESULT, SYMBOLIC, Name, Node, Value, operand_of
from anyshape.trace.graph import leaves as leaves_of
from anyshape.trace.inputs import Bind, Inputs, Leaf
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from anyshape.export.files.scope import SavedSite
    from anyshape.export.files.stand_in import Classes

_PROGRAM: Final = (
    "constants", "format", "is_complete", "name", "on_deviation", "outside", "refused", "sites",
    "state", "torch", "variants",
)  # fmt: skip
_VARIANT: Final = (
    "asserts", "binds", "constants", "deviations", "door", "guards", "in_tree", "inputs", "nodes",
    "out_tree", "outputs", "recorded", "relations", "replacements", "terms",
)  # fmt: skip
_ADDED: Final = {"recorded": 3}  # keys of a variant, and the version that added each
_EXAMPLE: Final = ("device", "dtype", "grad", "offset", "shape", "strides")
_MAX_VARIANTS: Final = 64


class SavedExample(torch.Tensor):
    """The metadata of an example input: a tensor without data, on a device that may be absent."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Raise: there is no data."""
        raise RuntimeError(f"{func} of an example that was saved without its data")


class _Shared(NamedTuple):
    """What all variants of a file refer to."""

    version: int
    sites: list[SavedSite]
    constants: list[torch.Tensor]
    classes: Classes
    length: WrittenOut


def decode(data: Any, size: int, weights_file: bytes, classes: Classes) -> ExportedProgram:
    """The program in the data, with its weights; it may use `classes`. The data takes `size` bytes
    of the file.
    """
    version = version_of(data)
    records, _, is_complete, name, on_deviation, outside, refused, sites_, state_, *rest = (
        checked.fields(upgraded(data, version), _PROGRAM, "program.json")
    )
    torch_, variants = rest
    checked.text(torch_, "the version of torch")
    sites = read_sites(sites_)
    constants = weights.decode(records, weights_file)
    found = Exploration()
    found.is_complete = checked.flag(is_complete, "is_complete")
    if not 0 < len(checked.items(variants, "variants")) <= _MAX_VARIANTS:
        raise LoadError(f"a program with {len(variants)} variants")
    shared = _Shared(version, sites, constants, classes, WrittenOut(size))
    for i, v in enumerate(variants):
        found.variants.append(_Variant(v, shared, i).captured)
    first = found.variants[0].inputs
    if any(v.inputs.spec != first.spec for v in found.variants):
        raise LoadError("the variants have inputs of different structures")
    order = [bind.name for bind in first.binds]
    if len(checked.items(refused, "refused")) > _MAX_VARIANTS:
        raise LoadError(f"a program that refuses {len(refused)} kinds of inputs")
    for i, r in enumerate(refused):
        found.refused.append(_refused(r, shared, order, f"refusal {i}"))
    state: dict[str, torch.Tensor] = {}
    for pair in checked.items(state_, "state"):
        key, number = checked.items(pair, "state", 2)
        if checked.text(key, "state") in state:
            raise LoadError(f"state has {key[:60]!r} twice")
        state[key] = constants[checked.number(number, "state", 0, len(constants) - 1)]
    checked.one_of(on_deviation, ("follow", "raise"), "on_deviation")
    name = checked.text(name, "name")
    listed = [_constant(pair) for pair in checked.items(outside, "outside")]
    rebuild = structure.rebuilt
    return ExportedProgram(name, found, state, on_deviation, rebuild=rebuild, constants=listed)


def _constant(data: Any) -> Constant:
    name, value = [checked.text(part, "outside") for part in checked.items(data, "outside", 2)]
    return Constant(name, value)


def _refused(data: Any, shared: _Shared, order: list[str], where: str) -> Refused:
    error, guards_, terms = checked.fields(data, ("error", "guards", "terms"), where)
    scope = ScopeReader(terms, shared.sites, where, None, shared.length)
    guards = scope.obligations(guards_, where)
    if not guards or not set(names_of(*[o.condition for o in guards])) <= set(order):
        raise LoadError(f"{where} has no guards over the sizes of the inputs")
    kind, text = [checked.text(part, where) for part in checked.items(error, where, 2)]
    if not kind.isidentifier():
        checked.refuse(where, "the name of an error", kind)
    return Refused(guards, type(kind, (Exception,), {})(text), guard_function(guards, order))


class _Variant:
    """Reads one variant, into `captured`."""

    def __init__(self, data: Any, shared: _Shared, number: int) -> None:
        self.where = where = f"variant {number}"
        keys = tuple([key for key in _VARIANT if _ADDED.get(key, 1) <= shared.version])
        part = dict(zip(keys, checked.fields(data, keys, where), strict=True))
        self.classes = classes = shared.classes
        self.tracer = Tracer()
        self.graph = self.tracer.graph
        self.scope = ScopeReader(
            part["terms"], shared.sites, f"{where}, terms", self.tracer.env, shared.length
        )
        self.values: dict[str, Value] = {}
        self.outlets = Outlets(self.arg)
        self.inputs = Inputs([], [], None)
        self._inputs(part)
        self._constants(part["constants"], shared.constants)
        guards = self.scope.obligations(part["guards"], f"{where}, guards")
        asserts = self.scope.asserts(part["asserts"], part.get("recorded"), f"{where}, asserts")
        for i, node in enumerate(checked.items(part["nodes"], f"{where}, nodes")):
            self._node(node, f"{where}, node {i}")
        outputs = checked.items(part["outputs"], f"{where}, outputs")
        self.graph.outputs = [self._returned(x, f"{where}, outputs") for x in outputs]
        self._deviations(part["deviations"])
        self._checks(part["door"])
        out_spec = structure.decode(part["out_tree"], f"{where}, out_tree", classes)
        if out_spec.num_leaves != len(outputs):
            raise LoadError(
                f"{where} has {len(outputs)} outputs for {out_spec.num_leaves} leaves of out_tree"
            )
        try:
            self.graph.verify()
        except AnyshapeError as e:
            raise LoadError(f"{where}: {e.what[:300]}") from e
        self._need_defined(guards, asserts)
        self.scope.learn(part["replacements"])
        self.tracer.close()
        self.captured = Captured(self.tracer, self.inputs, out_spec)
        self.captured.__dict__["guards"] = guards
        self.captured.__dict__["runtime_asserts"] = asserts
        self._need_code()

    def _need_code(self) -> None:
        """Generate the code, so that an error appears on loading and not on the first call."""
        try:
            self.captured.program.function()
            _ = self.captured.contract
        except Exception as e:
            why = f"{type(e).__name__}: {str(e)[:200]}"
            raise LoadError(
                f"{self.where} has calls for which no code can be generated", why=why
            ) from e

    # ------------------------------------------------------------------ inputs

    def _inputs(self, part: dict[str, Any]) -> None:
        where, inputs = f"{self.where}, inputs", self.inputs
        inputs.spec = structure.decode(part["in_tree"], f"{self.where}, in_tree", self.classes)
        for i, leaf in enumerate(checked.items(part["inputs"], where)):
            inputs.leaves.append(self._leaf(leaf, i, f"{where}[{i}]"))
        inputs.names = [leaf.name for leaf in inputs.leaves]
        inputs.examples = [leaf.example for leaf in inputs.leaves]
        if inputs.spec.num_leaves != len(inputs.leaves):
            raise LoadError(
                f"{where}: {len(inputs.leaves)} for {inputs.spec.num_leaves} leaves of in_tree"
            )
        where = f"{self.where}, binds"
        for bind in checked.items(part["binds"], where):
            name, i, d, factor, constant = checked.items(bind, where, 5)
            if type(name) is not str or not self._is_symbol(name):
                checked.refuse(where, "the name of a symbol", name)
            i, d = self._place(i, d, where)
            is_float = type(inputs.leaves[i].example) is float
            if is_float is not (name in self.scope.reals):
                raise LoadError(f"{where} gives {name} the value of {inputs.leaves[i].name[:60]}")
            factor = checked.number(factor, where, 1, checked.MAX_SIZE)
            constant = checked.number(constant, where, -checked.MAX_SIZE, checked.MAX_SIZE)
            inputs.binds.append(Bind(name, i, d, factor, constant))
        if len({bind.name for bind in inputs.binds}) != len(inputs.binds):
            raise LoadError(f"{where} has a symbol twice")
        where = f"{self.where}, relations"
        for relation in checked.items(part["relations"], where):
            i, d, n = checked.items(relation, where, 3)
            size = self._size(n, where)
            if type(size) is not SymInt:
                checked.refuse(where, "an expression", n)
            inputs.relations.append((*self._place(i, d, where), size))

    def _is_symbol(self, name: str) -> bool:
        return name in self.tracer.env.symbols or name in self.scope.reals

    def _place(self, i: Any, d: Any, where: str) -> tuple[int, int | None]:
        """A leaf and a dimension of it; None for a number."""
        leaf = self.inputs.leaves[checked.number(i, where, 0, len(self.inputs.leaves) - 1)]
        if leaf.value is None:
            if d is not None or type(leaf.example) not in (int, float, bool):
                checked.refuse(where, f"a place in {leaf.name}", d)
            return i, None
        return i, checked.number(d, where, 0, len(leaf.shape) - 1)

    def _leaf(self, data: Any, i: int, where: str) -> Leaf:
        if type(data) is dict and "plain" in data:
            name, plain, twin = checked.fields(data, ("name", "plain", "twin"), where)
            if twin is not None:
                checked.refuse(where, "an input without a twin", twin)
            return Leaf(checked.text(name, where), None, self._plain(plain, where))
        names = ("example", "layout", "name", "shape", "twin")
        example_, layout_, name, shape_, twin = checked.fields(data, names, where)
        example = self._example(example_, where)
        checked.text(name, where)
        if twin is not None:
            checked.number(twin, where, 0, i - 1)
            if self.inputs.leaves[twin].value is None or shape_ != [] or layout_ is not None:
                checked.refuse(where, "the twin of a tensor", twin)
            return Leaf(name, None, example, twin=twin)
        shape = self._shape(shape_, where)
        if len(shape) != example.dim():
            raise LoadError(f"{where} has {len(shape)} sizes for {example.dim()} dimensions")
        layout = self._layout(layout_, len(shape), where)
        meta = Meta(shape, example.dtype, layout, example.device, example.requires_grad)
        value = Value(len(self.graph.inputs), INPUT, meta)
        self.graph.inputs.append(value)
        self.values[repr(value)] = value
        return Leaf(name, value, example, shape)

    def _plain(self, data: Any, where: str) -> Any:
        if type(data) is dict and "enum" in data:
            return self._member(data, where)
        found = self.arg(data, where)
        if any(type(x) in (Value, *SYMBOLIC) for x in leaves_of(found)):
            raise LoadError(f"{where} is not a plain value")
        return found

    def _member(self, data: dict[str, Any], where: str) -> Any:
        (parts,) = checked.fields(data, ("enum",), where)
        of, name = [checked.text(part, where) for part in checked.items(parts, where, 2)]
        return self.classes.member(Member(of, name))

    def _returned(self, data: Any, where: str) -> Any:
        is_member = type(data) is dict and "enum" in data
        return self._member(data, where) if is_member else self.arg(data, where)

    def _example(self, data: Any, where: str) -> torch.Tensor:
        device, dtype, grad, offset, shape_, strides_ = checked.fields(data, _EXAMPLE, where)
        shape, strides = checked.sizes(shape_, where), checked.sizes(strides_, where)
        dtype = checked.one_of(dtype, checked.DTYPES, where)
        if len(shape) != len(strides):
            raise LoadError(f"{where} has {len(shape)} sizes and {len(strides)} strides")
        reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        reach += checked.number(offset, where, 0, checked.MAX_SIZE)
        if max(math.prod(shape), reach) > checked.MAX_SIZE >> 8:
            raise LoadError(f"{where} is a tensor of impossible shape {list(shape)}")
        if checked.flag(grad, where) and not (dtype.is_floating_point or dtype.is_complex):
            raise LoadError(f"{where} requires gradients and is {dtype}")
        made: torch.Tensor = make_wrapper_subclass(
            SavedExample,
            shape,
            strides=strides,
            storage_offset=offset,
            dtype=dtype,
            device=checked.device(device, where),
            requires_grad=grad,
        )
        return made

    def _layout(self, data: Any, rank: int, where: str) -> Layout:
        offset, order, strides = checked.fields(data, ("offset", "order", "strides"), where)
        checked.number(offset, where, 0, checked.MAX_SIZE)
        if strides is not None:
            if order is not None or len(checked.sizes(strides, where)) != rank:
                checked.refuse(where, "a layout", strides)
            return Layout(strides=tuple(strides), offset=offset)
        if order is None:
            return Layout(offset=offset) if offset else CONTIGUOUS
        if sorted(checked.sizes(order, where)) != list(range(rank)):
            checked.refuse(where, "an order of the dimensions", order)
        return Layout(order=tuple(order), offset=offset)

    def _checks(self, data: Any) -> None:
        where = f"{self.where}, door"
        names = ("device", "distinct", "dtype", "gradients", "handles", "layouts")
        device, distinct, dtype, gradients, handles, layouts = checked.fields(data, names, where)
        self.tracer.asked_device = device is not None
        if device is not None:
            self.tracer.device = checked.device(device, where)
        self.tracer.asked_identity = checked.flag(distinct, where)
        self.tracer.handles_errors = checked.flag(handles, where)
        self.tracer.dtype = checked.one_of(dtype, checked.DTYPES, where)
        self.tracer.asked_grad = checked.flag(gradients, where)
        self.tracer.asked_layout = checked.flag(layouts, where)

    # ------------------------------------------------------------------ the graph

    def _constants(self, data: Any, constants: list[torch.Tensor]) -> None:
        where = f"{self.where}, constants"
        seen: set[int] = set()
        for number in checked.items(data, where):
            tensor = constants[checked.number(number, where, 0, len(constants) - 1)]
            if number in seen:
                raise LoadError(f"{where} has {number} twice")
            seen.add(number)
            with DisableTorchFunction():
                meta = meta_of_real(tensor)
            value = Value(len(self.graph.constants), CONSTANT, meta)
            self.graph.constants.append((value, tensor))
            self.values[repr(value)] = value

    def _node(self, data: Any, where: str) -> None:
        args_, at, kwargs_, op, outs = checked.fields(
            data, ("args", "at", "kwargs", "op", "outs"), where
        )
        func = self._op(op, where)
        if func in OUTLETS:
            args = self.outlets.arguments(func, checked.items(args_, where), where)
            checked.items(kwargs_, where, 0)
            node = Node(func, args, {}, self.scope.site(at), 0)
            node.outs = self.outlets.define(func, outs, where)
            self.graph.nodes.append(node)
            return
        args = tuple([self.arg(x, where) for x in checked.items(args_, where)])
        kwargs: dict[str, Any] = {}
        for pair in checked.items(kwargs_, where):
            name, x = checked.items(pair, where, 2)
            if type(name) is not str or not _is_parameter(name) or name in kwargs:
                checked.refuse(where, "the name of an argument", name)
            kwargs[name] = self.arg(x, where)
        need_types(func, args, kwargs, where)
        node = Node(guarded(func, kwargs), args, kwargs, self.scope.site(at), 0)
        node.outs = self._outs(outs, node, where, 0)
        self.graph.nodes.append(node)

    def _op(self, name: Any, where: str) -> Any:
        try:
            return find(checked.text(name, where))
        except LoadError as e:
            raise LoadError(f"{where}: {e.what}", why=e.why, fix=e.fix) from None

    def _outs(self, data: Any, node: Node, where: str, depth: int) -> Any:
        if data is None:
            return None
        if type(data) is list:
            if depth > checked.MAX_DEPTH:
                raise LoadError(f"{where} is nested too deeply")
            if depth > 0 and not data:  # an op may return no tensors, but no empty tuple among them
                checked.refuse(where, "a result of a call", data)
            return tuple([self._outs(part, node, where, depth + 1) for part in data])
        if type(data) is dict and "symbol" in data:
            (name,) = checked.fields(data, ("symbol",), where)
            if type(name) is not str or not self._is_symbol(name):
                checked.refuse(where, "the name of a symbol", name)
            return Name(name)
        device, dtype, grad, shape, number = checked.fields(
            data, ("device", "dtype", "grad", "shape", "value"), where
        )
        meta = Meta(
            self._shape(shape, where),
            checked.one_of(dtype, checked.DTYPES, where),
            CONTIGUOUS,
            checked.device(device, where),
            checked.flag(grad, where),
        )
        value = Value(checked.number(number, where, 0, 1 << 40), RESULT, meta, node)
        if repr(value) in self.values:
            raise LoadError(f"{where} defines {value}, which is already defined")
        self.values[repr(value)] = value
        return value

    def _shape(self, data: Any, where: str) -> tuple[Any, ...]:
        if len(checked.items(data, where)) > checked.MAX_RANK:
            raise LoadError(f"{where} has {len(data)} dimensions")
        return tuple([self._size(n, where) for n in data])

    def _size(self, data: Any, where: str) -> Any:
        if type(data) is dict:
            (text,) = checked.fields(data, ("int",), where)
            return SymInt(self.scope.int(text), self.tracer.env)
        return checked.number(data, where, 0, checked.MAX_SIZE)

    def _deviations(self, data: Any) -> None:
        where = f"{self.where}, deviations"
        for d in checked.items(data, where):
            about, at, condition, op = checked.fields(d, ("about", "at", "condition", "op"), where)
            self.tracer.deviations.append(
                Deviation(
                    self.tracer.env,
                    checked.text(op, where),
                    self.scope.bool(condition),
                    checked.text(about, where),
                    self.scope.site(at),
                )
            )

    def _need_defined(self, guards: Any, asserts: Any) -> None:
        """Raise unless every symbol is defined before it is used."""
        known = {bind.name for bind in self.inputs.binds}
        need = [o.condition for o in guards] + [n.expr for _, _, n in self.inputs.relations]
        self._need(need, known, "the guards")
        due: dict[str, list[Any]] = {}
        for o in asserts:
            due.setdefault(o.symbol, []).append(o.condition)
        self._need([p for name in known for p in due.pop(name, ())], known, "the asserts")
        for i, node in enumerate(self.graph.nodes):
            parts = leaves_of((node.args, node.kwargs))
            self._need([operand_of(x) for x in parts if type(x) in SYMBOLIC], known, f"node {i}")
            for name in leaves_of(node.outs):
                if type(name) is Name and node.func not in OUTLETS:
                    if name in known:
                        raise LoadError(f"{self.where}, node {i} defines {name} again")
                    known.add(str(name))
                    self._need(due.pop(name, []), known, "an assert")
        rest = [operand_of(x) for x in leaves_of(_flat(self.graph.outputs)) if type(x) in SYMBOLIC]
        self._need(rest, known, "the outputs")

    def _need(self, operands: list[Any], known: set[str], what: str) -> None:
        missing = set(names_of(*operands)) - known if operands else None
        if missing:
            raise LoadError(
                f"{self.where}: {sorted(missing)[0]} is not defined before its use in {what}"
            )

    # ------------------------------------------------------------------ arguments

    def arg(self, data: Any, where: str, depth: int = 0) -> Any:
        """An argument of an op."""
        if type(data) is dict and len(data) == 1:
            ((tag, content),) = data.items()
            if tag == "value":
                value = self.values.get(content) if type(content) is str else None
                if value is None:
                    checked.refuse(where, "a value that is defined before", content)
                return value
            if tag == "numpy":
                scalar, text = checked.items(content, where, 2)
                checked.one_of(scalar, WIDTHS, where)
                return SymFloat(self.scope.real(text), self.tracer.env, scalar)
            if tag in _SYMBOLIC:
                make, read = _SYMBOLIC[tag]
                return make(getattr(self.scope, read)(content), self.tracer.env)
        return plain.decode(data, where, depth, self.arg)


_SYMBOLIC: Final[dict[str, tuple[Any, str]]] = {
    "int": (SymInt, "int"),
    "bool": (SymBool, "bool"),
    "real": (SymFloat, "real"),
}


def _is_parameter(name: str) -> bool:
    """Whether a text can be the name of an argument in generated code."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _flat(outputs: list[Any]) -> list[Any]:
    return [tuple(x) if isinstance(x, tuple) else x for x in outputs]
