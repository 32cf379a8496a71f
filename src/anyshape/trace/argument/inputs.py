"""The inputs of a program: flat leaves with the names users know them by, and their symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.config import config
from anyshape.errors import ArgumentError
from anyshape.symbolic.numpy_scalar import RANGES, NumpyInt, scalar_name
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout, dense_order
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.tensor_subclass import is_fake, is_wrapper, kind_of
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED, Known, Spot
from anyshape.trace.argument.wrapper_form import WrapperForm
from anyshape.trace.graph.graph import GIVEN, Name
from anyshape.trace.options import REPLAYED
from anyshape.trace.tracer import symbol_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.argument.size_chooser import SizeChooser
    from anyshape.trace.graph.graph import Value
    from anyshape.trace.tracer import Tracer


class Bind(NamedTuple):
    """The value of a symbol: `(the size - constant) / factor`, of a leaf and a dimension; the leaf
    itself where `dim` is None, as a number of Python of the class `kind`, if it is one of NumPy.
    """

    name: str
    leaf: int
    dim: int | None
    factor: int = 1
    constant: int = 0
    kind: type[int] | type[float] | None = None

    def read(self, flat: Sequence[Any]) -> Any:
        """The value for a call."""
        x = flat[self.leaf] if self.dim is None else flat[self.leaf].size(self.dim)
        if self.kind is not None:
            return self.kind(x)
        return x if self.factor == 1 and not self.constant else (x - self.constant) // self.factor

    def text(self, size: str = "") -> str:
        """The same as Python, where `size` is the source of the leaf or its size."""
        if not size:
            size = f"flat[{self.leaf}]" + ("" if self.dim is None else f".size({self.dim})")
        if self.kind is not None:
            return f"{self.kind.__name__}({size})"
        if self.factor == 1 and not self.constant:
            return size
        return f"({size} - {self.constant}) // {self.factor}"


class Leaf(NamedTuple):
    """One input: its name, and what the input contract says of it.

    `value` is its place in the graph; None for a number, and for a tensor that was given before, as
    leaf number `twin`.
    """

    name: str
    value: Value | None
    example: Any
    shape: tuple[Any, ...] = ()
    twin: int | None = None


OWNED: Final = object()  # the example of a leaf that is a container of the caller's


class Kind:
    """What the input contract has to know of a tensor that was an example, without its data."""

    def __init__(self, t: torch.Tensor) -> None:
        self.kind = kind_of(t)
        self.dtype = t.dtype
        self.device = t.device
        self.requires_grad = t.requires_grad
        self._strides = tuple(t.stride())
        self._offset = int(t.storage_offset())

    def dim(self) -> int:
        """The rank."""
        return len(self._strides)

    def stride(self) -> tuple[int, ...]:
        """The strides that it had."""
        return self._strides

    def storage_offset(self) -> int:
        """The offset that it had."""
        return self._offset


class Inputs:
    """The inputs of one trace: what the program gets instead, and what binds the symbols."""

    def __init__(self, names: list[str], examples: list[Any], spec: Any) -> None:
        self.names = names
        self.examples = examples
        self.spec = spec
        self.leaves: list[Leaf] = []
        self.binds: list[Bind] = []
        self.relations: list[tuple[int, int | None, SymInt]] = []  # sizes that must be equal
        self.owners: list[Bind] = []  # the containers, which come last
        self.forms: dict[int, WrapperForm] = {}  # of inputs that wrap other tensors

    @classmethod
    def of_leaves(cls, leaves: list[Leaf], binds: list[Bind]) -> Inputs:
        """Inputs that are symbolic already."""
        inputs = cls([leaf.name for leaf in leaves], [], None)
        inputs.leaves, inputs.binds = leaves, binds
        return inputs

    def symbolize(self, tracer: Tracer, choose: SizeChooser) -> list[Any]:
        """The leaves to run the program with, in order."""
        choose.prepare(tracer.env, self.example_sizes())
        made: dict[int, Any] = {}
        places: dict[int, int] = {}
        stand_ins = []
        for i, example in enumerate(self.examples):
            if isinstance(example, torch.Tensor):
                stand_in = None if choose.separate else made.get(id(example))
                if stand_in is None:
                    stand_in = made[id(example)] = self._tensor(tracer, i, example, choose)
                    places[id(example)] = i
                else:
                    twin = places[id(example)]
                    self.leaves.append(Leaf(self.names[i], None, example, twin=twin))
            else:
                stand_in = self._number(tracer, i, example, choose)
                self.leaves.append(Leaf(self.names[i], None, example))
            stand_ins.append(stand_in)
        return stand_ins

    def own(self, count: int) -> list[Name]:
        """Add containers of the caller's as inputs; their names in the program."""
        names = [Name(f"{GIVEN}{i}") for i in range(count)]
        for name in names:
            self.owners.append(Bind(name, len(self.leaves), None))
            self.leaves.append(Leaf(name, None, OWNED))
        return names

    @property
    def named(self) -> list[Bind]:
        """All that has a name in the program besides tensors: numbers and containers."""
        return [*self.binds, *self.owners]

    def release(self) -> None:
        """Replace the example tensors by their kinds, without data."""
        self.examples = []
        self.leaves = [
            leaf._replace(example=Kind(leaf.example))
            if isinstance(leaf.example, torch.Tensor)
            else leaf
            for leaf in self.leaves
        ]

    @property
    def sizes(self) -> list[Bind]:
        """What binds the integers; floats have no range to speak of."""
        return [bind for bind in self.binds if not bind.name.startswith("f")]

    def example_sizes(self) -> dict[tuple[int, int | None], Any]:
        """All sizes and numbers of the example, by leaf and dimension."""
        found: dict[tuple[int, int | None], Any] = {}
        for i, x in enumerate(self.examples):
            if isinstance(x, torch.Tensor):
                found.update({(i, d): n for d, n in enumerate(x.shape)})
            else:
                found[i, None] = x
        return found

    def _tensor(self, tracer: Tracer, i: int, t: torch.Tensor, choose: SizeChooser) -> SymTensor:
        if type(t) is SymTensor:
            raise ArgumentError(
                f"{self.names[i]} is a traced tensor of another trace", code="AS302"
            )
        wraps = is_wrapper(type(t)) and type(t) is not SymTensor
        taken = wraps or (tracer.options.effects != REPLAYED and is_fake(t))
        taken = taken and t.layout is torch.strided  # the sizes of jagged tensors are no numbers
        why = None if taken else untraceable(t)
        if why is not None:
            raise ArgumentError(
                f"{self.names[i]} {why}; only plain strided tensors can be traced", code="AS302"
            )
        shape = tuple(
            self._size(tracer, Spot(i, f"{self.names[i]}.size({d})", d, n), choose)
            for d, n in enumerate(t.shape)
        )
        meta = Meta(shape, t.dtype, _layout(t), t.device, t.requires_grad)
        stand_in = tracer.input(meta)
        kind = kind_of(t)
        if kind is not torch.Tensor:
            stand_in._kind = kind
        if wraps:
            self.forms[i] = WrapperForm(t)
        self.leaves.append(Leaf(self.names[i], stand_in._value, t, shape))
        return stand_in

    def _size(self, tracer: Tracer, spot: Spot, choose: SizeChooser) -> Any:
        kind = choose(spot)
        n = spot.value
        if isinstance(kind, Known):
            return self._known(spot, kind)
        known: dict[str, Any] = {}
        if not isinstance(kind, str):
            kind, known = kind
            known = dict(known)
        if kind == STATIC:
            return int(n)
        if kind == BACKED:
            frozen = config.specialize_zero_one and not config.backed_size_oblivious
            if n in (0, 1) and frozen and "min" not in known:
                return int(n)
            e = tracer.env.backed(known.pop("hint", int(n)), source=spot.source, **known)
        elif kind == UNBACKED:
            e = tracer.env.unbacked(source=spot.source, size=True, **{"hint": int(n), **known})
        else:
            raise ArgumentError(
                f"{spot.source} cannot be {kind!r}", fix="static, backed or unbacked"
            )
        self.binds.append(Bind(symbol_name(e), spot.leaf, spot.dim))
        return SymInt(e, tracer.env)

    def _known(self, spot: Spot, known: Known) -> Any:
        size = known.size
        if known.binds:
            symbol = size if known.symbol is None else known.symbol
            name = symbol_name(symbol.expr)
            self.binds.append(Bind(name, spot.leaf, spot.dim, known.factor, known.constant))
        if not known.binds or known.symbol is not None:
            self.relations.append((spot.leaf, spot.dim, size))
        return size

    def _number(self, tracer: Tracer, i: int, x: Any, choose: SizeChooser) -> Any:
        scalar = scalar_name(x)
        if type(x) not in (int, float, bool) and not scalar:
            return x
        spot = Spot(i, self.names[i], None, x)
        kind = choose(spot)
        known: dict[str, Any] = {}
        if isinstance(kind, Known):
            return self._known(spot, kind)
        if not isinstance(kind, str):
            kind, known = kind
            known = dict(known)
        if kind == STATIC:
            return x
        env = tracer.env
        if scalar in RANGES:
            low, high = RANGES[scalar]
            e = env.backed(int(x), source=self.names[i], size=False, min=low, max=high)
            self.binds.append(Bind(symbol_name(e), i, None, kind=int))
            return NumpyInt(e, env, scalar)
        if type(x) is float or scalar:
            hint = known.get("hint", float(x)) if kind == BACKED or scalar else None
            real = env.real(hint, source=self.names[i])
            self.binds.append(Bind(real.args[0], i, None, kind=float if scalar else None))
            return SymFloat(real, env, scalar)
        if type(x) is bool:
            known = {"min": 0, "max": 1, "hint": int(known.get("hint", x))}
            x = int(x)
            truth = True
        else:
            truth = False
        if kind == BACKED:
            e = env.backed(known.pop("hint", x), source=self.names[i], size=False, **known)
        else:
            e = env.unbacked(source=self.names[i], **known)
        self.binds.append(Bind(symbol_name(e), i, None))
        return SymInt(e, env) == 1 if truth else SymInt(e, env)


def untraceable(x: Any) -> str | None:
    """Why a tensor cannot be an input of a trace: it is not plain memory with strides."""
    if not isinstance(x, torch.Tensor):
        return None
    if type(x) not in (torch.Tensor, torch.nn.Parameter, SymTensor):
        return f"is of class {type(x).__name__}"
    if x.layout is not torch.strided:
        return f"has layout {x.layout}"
    if x.is_nested:
        return "is nested"
    return "is quantized" if x.is_quantized else None


def _layout(t: torch.Tensor) -> Layout:
    """The layout of an example as a class of layouts: dense in its order, else its strides."""
    if t.is_contiguous() and not t.storage_offset():
        return CONTIGUOUS
    offset = int(t.storage_offset())
    order = tuple(range(t.dim())) if t.is_contiguous() else dense_order(t.shape, t.stride())
    if order is None:
        return Layout(strides=tuple(t.stride()), offset=offset)
    return Layout(order=order, offset=offset)
