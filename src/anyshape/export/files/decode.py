"""The inverse of `encode.py`: a program from plain data that may be damaged or hostile.

Everything is checked: LoadError is the only exception. Nothing from the file is executed, and only
the names of ops are looked up, in the table of those that a program may call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import LoadError
from anyshape.export.constant import Constant
from anyshape.export.explore import Exploration
from anyshape.export.files import checked, modules, structure, weights
from anyshape.export.files.decode_graph import GraphReader, Shared
from anyshape.export.files.decode_segment import branching
from anyshape.export.files.format_version import upgraded, version_of
from anyshape.export.files.symbol_scope import ScopeReader, read_sites
from anyshape.export.files.written_out import WrittenOut
from anyshape.export.program import ExportedProgram
from anyshape.export.region import Refused
from anyshape.export.state.identifier import identifiers_of
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.torch_compat.process_flag import GETTERS, Place
from anyshape.torch_compat.tensor_subclass import make_wrapper_subclass
from anyshape.trace.argument.inputs import Bind, Leaf
from anyshape.trace.graph.codegen import guard_function
from anyshape.trace.graph.graph import INPUT, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.export.files.stand_in import Classes

_PROGRAM: Final = (
    "constants", "format", "is_complete", "modules", "name", "on_deviation", "outside", "refused",
    "sites", "state", "torch", "variants",
)  # fmt: skip
_VARIANT: Final = (
    "asserts", "binds", "branch", "constants", "deviations", "door", "guards", "in_tree", "inputs",
    "nodes", "out_tree", "outputs", "recorded", "relations", "replacements", "segments", "terms",
)  # fmt: skip
_ADDED: Final = {"recorded": 3}  # keys of a variant, and the version that added each
_OPTIONAL: Final = ("signatures",)
_EXAMPLE: Final = ("device", "dtype", "grad", "offset", "shape", "strides")
_MAX_VARIANTS: Final = 64


class SavedExample(torch.Tensor):
    """The metadata of an example input: a tensor without data, on a device that may be absent."""

    stands_for = torch.Tensor

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Raise: there is no data."""
        raise RuntimeError(f"{func} of an example that was saved without its data")


def wanted_weights(data: Any) -> set[str]:
    """The entries of the weights without parameters and persistent buffers."""
    data = upgraded(data, version_of(data))
    return weights.wanted_keys(data.get("constants"), modules.saved_numbers(data.get("state")))


def decode(
    data: Any, size: int, weights_file: bytes, classes: Classes, sizes: Mapping[str, int]
) -> ExportedProgram:
    """The program in the data, with its weights; it may use `classes`. The data takes `size` bytes
    of the file; the entries of the weights that are in `sizes` were left out.
    """
    version = version_of(data)
    records, _, is_complete, modules_, name, on_deviation, outside, refused, *rest = checked.fields(
        upgraded(data, version), _PROGRAM, "program.json"
    )
    sites_, state_, torch_, variants = rest
    checked.text(torch_, "the version of torch")
    sites = read_sites(sites_)
    constants, devices = weights.decode(records, weights_file, sizes)
    found = Exploration()
    found.is_complete = checked.flag(is_complete, "is_complete")
    if not 0 < len(checked.items(variants, "variants")) <= _MAX_VARIANTS:
        raise LoadError(f"a program with {len(variants)} variants")
    state, calls = modules.decode(state_, modules_, constants, devices)
    names = identifiers_of(state)
    tensors = [*zip(constants, devices, strict=True)]
    shared = Shared(version, sites, tensors, classes, WrittenOut(size), calls, names)
    for i, v in enumerate(variants):
        found.variants.append(_Variant(v, shared, i).program)
    first = found.variants[0].inputs
    if any(v.inputs.spec != first.spec for v in found.variants):
        raise LoadError("the variants have inputs of different structures")
    order = [bind.name for bind in first.binds]
    if len(checked.items(refused, "refused")) > _MAX_VARIANTS:
        raise LoadError(f"a program that refuses {len(refused)} kinds of inputs")
    for i, r in enumerate(refused):
        found.refused.append(_refused(r, shared, order, f"refusal {i}"))
    checked.one_of(on_deviation, ("follow", "raise"), "on_deviation")
    name = checked.text(name, "name")
    listed = [_constant(pair) for pair in checked.items(outside, "outside")]
    rebuild = structure.rebuilt
    return ExportedProgram(name, found, state, on_deviation, rebuild=rebuild, constants=listed)


def _constant(data: Any) -> Constant:
    name, value = [checked.text(part, "outside") for part in checked.items(data, "outside", 2)]
    return Constant(name, value)


def _refused(data: Any, shared: Shared, order: list[str], where: str) -> Refused:
    error, guards_, terms = checked.fields(data, ("error", "guards", "terms"), where)
    scope = ScopeReader(terms, shared.sites, where, None, shared.length)
    guards = scope.obligations(guards_, where)
    if not guards or not set(names_of(*[o.condition for o in guards])) <= set(order):
        raise LoadError(f"{where} has no guards over the sizes of the inputs")
    kind, text = [checked.text(part, where) for part in checked.items(error, where, 2)]
    if not kind.isidentifier():
        checked.refuse(where, "the name of an error", kind)
    return Refused(guards, type(kind, (Exception,), {})(text), guard_function(guards, order))


class _Variant(GraphReader):
    """Reads one variant, into `program`."""

    def __init__(self, data: Any, shared: Shared, number: int) -> None:
        where = f"variant {number}"
        keys = tuple([key for key in _VARIANT if _ADDED.get(key, 1) <= shared.version])
        keys += tuple([key for key in _OPTIONAL if type(data) is dict and key in data])
        part = dict(zip(keys, checked.fields(data, keys, where), strict=True))
        super().__init__(part["terms"], shared, where)
        self._inputs(part)
        guards = self.scope.obligations(part["guards"], f"{where}, guards")
        self._checks(part["door"])
        following = checked.items(part["segments"], f"{where}, segments")
        out_spec = None
        if not following:
            out_spec = structure.decode(part["out_tree"], f"{where}, out_tree", self.classes)
        elif part["out_tree"] is not None:
            raise LoadError(f"{where} goes on and has an out_tree")
        captured = self.captured(part, guards, out_spec)
        self.program = captured
        if following:
            self.program = branching(captured, part["branch"], following, self)
        elif part["branch"] is not None:
            raise LoadError(f"{where} has a branch and no segments")
        self.need_code(self.program)

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
        settings = data.get("settings", ()) if type(data) is dict else ()
        if settings != ():
            data = {key: value for key, value in data.items() if key != "settings"}
            self._settings(settings, f"{where}, settings")
        names = ("device", "distinct", "dtype", "exact", "gradients", "handles", "layouts")
        device, distinct, dtype, *rest = checked.fields(data, names, where)
        exact, gradients, handles, layouts = rest
        self.tracer.asked_class = checked.flag(exact, where)
        self.tracer.asked_device = device is not None
        if device is not None:
            self.tracer.device = checked.device(device, where)
        self.tracer.asked_identity = checked.flag(distinct, where)
        self.tracer.handles_errors = checked.flag(handles, where)
        self.tracer.dtype = checked.one_of(dtype, checked.DTYPES, where)
        self.tracer.asked_grad = checked.flag(gradients, where)
        self.tracer.asked_layout = checked.flag(layouts, where)

    def _settings(self, data: Any, where: str) -> None:
        """Settings of the process that the program has read; in files since they are conditions."""
        for row in checked.items(data, where):
            getter, args, value = checked.items(row, where, 3)
            checked.one_of(getter, GETTERS, where)
            words = tuple([checked.text(word, where) for word in checked.items(args, where)])
            self.tracer.read_places[Place(getter, words)] = self._plain(value, where)
