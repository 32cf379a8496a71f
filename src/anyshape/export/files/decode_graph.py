"""The graph of a program, or of a segment of one, from plain data that may be hostile."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import AnyshapeError, LoadError
from anyshape.events import Deviation
from anyshape.export.files import allowed_call, body, checked, plain, structure
from anyshape.export.files.callable_ops import find, need_types
from anyshape.export.files.defined import need, need_defined
from anyshape.export.files.guarded_op import guarded
from anyshape.export.files.modules import CALLS_SINCE
from anyshape.export.files.outlet import OUTLETS, Outlets
from anyshape.export.files.stand_in import Member
from anyshape.export.files.symbol_scope import ScopeReader
from anyshape.expr.table.op_numpy import WIDTHS
from anyshape.symbolic.numpy_scalar import BOOL, RANGES, NumpyBool, NumpyInt
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.argument.inputs import Inputs
from anyshape.trace.capture import Captured
from anyshape.trace.graph.call_signature import PLAIN, CallSignature
from anyshape.trace.graph.graph import CONSTANT, RESULT, SYMBOLIC, Name, Node, Value
from anyshape.trace.graph.graph import leaves as leaves_of
from anyshape.trace.higher_order.body import parameter
from anyshape.trace.higher_order.runtime import linearize, vjp
from anyshape.trace.opaque_call import OpaqueCall
from anyshape.trace.sequence.list_meta import KINDS, ListMeta
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    import torch

    from anyshape.export.files.stand_in import Classes
    from anyshape.export.files.symbol_scope import SavedSite
    from anyshape.export.files.written_out import WrittenOut
    from anyshape.trace.graph.module_call import ModuleCall


_NODE: Final = ("args", "at", "kwargs", "op", "outs")


class Shared(NamedTuple):
    """The tables that all variants of a file share."""

    version: int
    sites: list[SavedSite]
    constants: list[tuple[torch.Tensor, torch.device]]
    classes: Classes
    length: WrittenOut
    calls: list[ModuleCall]
    names: dict[int, str]  # of tensors, by id


class GraphReader:
    """Reads a graph over the symbols in `terms`."""

    def __init__(self, terms: Any, shared: Shared, where: str) -> None:
        self.where = where
        self.shared = shared
        self.classes = shared.classes
        self.tracer = Tracer()
        self.graph = self.tracer.graph
        self.scope = ScopeReader(
            terms, shared.sites, f"{where}, terms", self.tracer.env, shared.length
        )
        self.values: dict[str, Value] = {}
        self._fields = _NODE if shared.version < CALLS_SINCE else (*_NODE, "call")
        self.outlets = Outlets(self.arg)
        self.inputs = Inputs([], [], None)

    def captured(self, part: dict[str, Any], guards: list[Any], out_spec: Any) -> Captured:
        """The traced program, once the inputs are read."""
        where = self.where
        self._constants(part["constants"], self.shared.constants)
        asserts = self.scope.asserts(part["asserts"], part.get("recorded"), f"{where}, asserts")
        for i, node in enumerate(checked.items(part["nodes"], f"{where}, nodes")):
            self.graph.nodes.append(self.node(node, f"{where}, node {i}"))
        outputs = checked.items(part["outputs"], f"{where}, outputs")
        self.graph.outputs = [self._returned(x, f"{where}, outputs") for x in outputs]
        for i, x in enumerate(checked.items(part.get("signatures", []), f"{where}, signatures")):
            self.graph.signatures.append(self._signature(x, f"{where}, signature {i}"))
        self._deviations(part["deviations"])
        if out_spec is not None and out_spec.num_leaves != len(outputs):
            raise LoadError(
                f"{where} has {len(outputs)} outputs for {out_spec.num_leaves} leaves of out_tree"
            )
        try:
            self.graph.verify()
        except AnyshapeError as e:
            raise LoadError(f"{where}: {e.what[:300]}") from e
        known = {bind.name for bind in self.inputs.binds}
        early = [o.condition for o in guards] + [n.expr for _, _, n in self.inputs.relations]
        need(where, early, known, "the guards")
        need_defined(where, self.graph, asserts, known)
        self.scope.learn(part["replacements"])
        self.tracer.close()
        captured = Captured(self.tracer, self.inputs, out_spec)
        captured.guards, captured.runtime_asserts = guards, asserts
        return captured

    def need_code(self, captured: Captured) -> None:
        """Generate the code, so that an error appears on loading and not on the first call."""
        try:
            for part in captured.parts:
                part.program.function()
            _ = captured.contract
        except Exception as e:
            why = f"{type(e).__name__}: {str(e)[:200]}"
            raise LoadError(
                f"{self.where} has calls for which no code can be generated", why=why
            ) from e

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
        if type(data) is dict and "made" in data:
            return self.outlets.made(data, where)
        is_member = type(data) is dict and "enum" in data
        return self._member(data, where) if is_member else self.arg(data, where)

    def _constants(self, data: Any, constants: list[tuple[torch.Tensor, torch.device]]) -> None:
        where = f"{self.where}, constants"
        seen: set[int] = set()
        for number in checked.items(data, where):
            tensor, device = constants[checked.number(number, where, 0, len(constants) - 1)]
            if number in seen:
                raise LoadError(f"{where} has {number} twice")
            seen.add(number)
            with DisableTorchFunction():
                meta = meta_of_real(tensor)
                meta.device = device
            value = Value(len(self.graph.constants), CONSTANT, meta)
            value.name = self.shared.names.get(id(tensor))
            self.graph.constants.append((value, tensor))
            self.values[repr(value)] = value

    def node(self, data: Any, where: str) -> Node:
        """A call."""
        args_, at, kwargs_, op, outs, *rest = checked.fields(data, self._fields, where)
        call = self._call(rest[0], where) if rest else None
        func = self._op(op, where)
        if func in OUTLETS:
            args = self.outlets.arguments(func, checked.items(args_, where), where)
            checked.items(kwargs_, where, 0)
            node = Node(func, args, {}, self.scope.site(at), 0, call)
            node.outs = self.outlets.define(func, outs, where)
            return node
        args = tuple([self.arg(x, where) for x in checked.items(args_, where)])
        kwargs: dict[str, Any] = {}
        for pair in checked.items(kwargs_, where):
            name, x = checked.items(pair, where, 2)
            if type(name) is not str or not _is_parameter(name) or name in kwargs:
                checked.refuse(where, "the name of an argument", name)
            kwargs[name] = self.arg(x, where)
        need_types(func, args, kwargs, where)
        is_opaque = type(func) is OpaqueCall
        func = func if is_opaque else guarded(func, kwargs)
        node = Node(func, args, kwargs, self.scope.site(at), 0, call)
        node.outs = self._outs(outs, node, where, 0)
        if is_opaque and len([*leaves_of(node.outs or ())]) != len(func.taken):
            raise LoadError(f"{where} takes other results than {func.__name__} gives")
        return node

    def _signature(self, data: Any, where: str) -> CallSignature:
        """The arguments and results of a call of a module."""
        names = ("call", "in_tree", "inputs", "out_tree", "outputs")
        number, in_tree, inputs_, out_tree, outputs_ = checked.fields(data, names, where)
        call = self._call(number, where)
        if call is None or not call.path:
            raise LoadError(f"{where} is that of no module")
        inputs, outputs = self._leaves(inputs_, where), self._leaves(outputs_, where)
        in_spec = structure.decode(in_tree, f"{where}, in_tree", self.classes)
        out_spec = structure.decode(out_tree, f"{where}, out_tree", self.classes)
        if (in_spec.num_leaves, out_spec.num_leaves) != (len(inputs), len(outputs)):
            raise LoadError(f"{where} has other leaves than its structures")
        parts = in_spec.children() if in_spec.type is tuple else []
        if [part.type for part in parts] != [tuple, dict]:
            raise LoadError(f"{where} has a structure that is not that of arguments")
        return CallSignature(call, inputs, in_spec, outputs, out_spec)

    def _leaves(self, data: Any, where: str) -> list[Any]:
        found = [self.arg(x, where) for x in checked.items(data, where)]
        for x in found:
            if type(x) is not Value and type(x) not in PLAIN:
                checked.refuse(where, "a tensor or a plain value", x)
        return found

    def _call(self, number: Any, where: str) -> ModuleCall | None:
        calls = self.shared.calls
        return None if number is None else calls[checked.number(number, where, 0, len(calls) - 1)]

    def _parameter(self, data: Any, where: str) -> Value | Name:
        """A parameter of a body: a value or a symbol from around it, or one that it is given."""
        if type(data) is dict and len(data) == 1 and ("value" in data or "made" in data):
            found: Value | Name = self.arg(data, where)
            return found
        if type(data) is not dict:
            checked.refuse(where, "a parameter", data)
        known = self.values.get(f"v{data.get('value')}")  # bodies of one call may share it
        if known is not None and known.node is not None and known.node.func is parameter:
            return known
        node = Node(parameter, (), {}, None, 0)
        made: Value | Name = self._outs(data, node, where, 1)
        return made

    def _op(self, name: Any, where: str) -> Any:
        if type(name) is dict:
            return allowed_call.decode(name, where, self.classes)
        try:
            return find(checked.text(name, where))
        except LoadError as e:
            raise LoadError(f"{where}: {e.what}", why=e.why, fix=e.fix, code=e.code) from None

    def _outs(self, data: Any, node: Node, where: str, depth: int) -> Any:
        if data is None:
            return None
        if type(data) is list:
            if depth > checked.MAX_DEPTH:
                raise LoadError(f"{where} is nested too deeply")
            if depth > 0 and not data:  # an op may return no tensors, but no empty tuple among them
                checked.refuse(where, "a result of a call", data)
            return tuple([self._outs(part, node, where, depth + 1) for part in data])
        if type(data) is dict and "made" in data and node.func in (linearize, vjp):
            return self.outlets.new(data, where)
        if type(data) is dict and "symbol" in data:
            (name,) = checked.fields(data, ("symbol",), where)
            if type(name) is not str or not self._is_symbol(name):
                checked.refuse(where, "the name of a symbol", name)
            return Name(name)
        meta, number = self.meta(data, where)
        value = Value(checked.number(number, where, 0, 1 << 40), RESULT, meta, node)
        if repr(value) in self.values:
            raise LoadError(f"{where} defines {value}, which is already defined")
        self.values[repr(value)] = value
        return value

    def meta(self, data: Any, where: str) -> tuple[Meta, Any]:
        """What is known of a tensor or of a list, and its name."""
        fields = ("device", "dtype", "grad", "shape", "value")
        if type(data) is dict and "list" in data:
            return self._list(data, where)
        device, dtype, grad, shape, name = checked.fields(data, fields, where)
        meta = Meta(
            self._shape(shape, where),
            checked.one_of(dtype, checked.DTYPES, where),
            CONTIGUOUS,
            checked.device(device, where),
            checked.flag(grad, where),
        )
        return meta, name

    def _list(self, data: Any, where: str) -> tuple[ListMeta, Any]:
        fields = ("device", "dtype", "grad", "list", "shape", "value")
        device, dtype, grad, kind, shape_, name = checked.fields(data, fields, where)
        items, nested, dense = checked.items(kind, where, 3)
        length, *sizes = checked.items(shape_, where) or [None]
        rest = self._shape([n for n in sizes if n is not None], where)
        known = iter(rest)
        shape = [self._size(length, where)]
        shape += [None if n is None else next(known) for n in sizes]
        meta = ListMeta(
            tuple(shape),
            checked.one_of(items, KINDS, where),
            dtype=checked.one_of(dtype, checked.DTYPES, where),
            device=checked.device(device, where),
            requires_grad=checked.flag(grad, where),
            dense=checked.flag(dense, where),
            nested=checked.flag(nested, where),
        )
        return meta, name

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
            if tag == "made":
                return self.outlets.made(data, where)
            if tag == "body":
                return body.decode(content, where, self, depth + 1, self._parameter)
            if tag == "numpy":
                scalar, text = checked.items(content, where, 2)
                checked.one_of(scalar, (*WIDTHS, *RANGES, BOOL), where)
                env = self.tracer.env
                if scalar == BOOL:
                    return NumpyBool(self.scope.bool(text), env)
                if scalar in RANGES:
                    return NumpyInt(self.scope.int(text), env, scalar)
                return SymFloat(self.scope.real(text), env, scalar)
            if tag in _SYMBOLIC:
                make, read = _SYMBOLIC[tag]
                return make(getattr(self.scope, read)(content), self.tracer.env)
        return plain.decode(data, where, depth, self.arg)

    def _is_symbol(self, name: str) -> bool:
        return name in self.tracer.env.symbols or name in self.scope.reals


_SYMBOLIC: Final[dict[str, tuple[Any, str]]] = {
    "int": (SymInt, "int"),
    "bool": (SymBool, "bool"),
    "real": (SymFloat, "real"),
}


def _is_parameter(name: str) -> bool:
    """Whether a text can be the name of an argument in generated code."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
