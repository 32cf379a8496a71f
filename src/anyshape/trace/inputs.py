"""The inputs of a program: flat leaves with the names users know them by, and their symbols."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.config import config
from anyshape.errors import ArgumentError
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout, dense_order
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.tracer import symbol_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.attribute import Attribute
    from anyshape.trace.graph import Value
    from anyshape.trace.tracer import Tracer

STATIC: Final = "static"
BACKED: Final = "backed"
UNBACKED: Final = "unbacked"


class Spot(NamedTuple):
    """A size or a number among the inputs: leaf number `leaf`, named `source`; `dim` is None for a
    number.
    """

    leaf: int
    source: str
    dim: int | None
    value: Any


class Known(NamedTuple):
    """A size that is already a number: bound to this place, or a relation of the input contract.

    Where it binds, `symbol` (the size itself, if None) is `(size - constant) / factor`.
    """

    size: Any
    binds: bool
    symbol: Any = None
    factor: int = 1
    constant: int = 0


class Bind(NamedTuple):
    """The value of a symbol: `(the size - constant) / factor`, of a leaf and a dimension; the leaf
    itself where `dim` is None.
    """

    name: str
    leaf: int
    dim: int | None
    factor: int = 1
    constant: int = 0

    def read(self, flat: Sequence[Any]) -> Any:
        """The value for a call."""
        x = flat[self.leaf] if self.dim is None else flat[self.leaf].size(self.dim)
        return x if self.factor == 1 and not self.constant else (x - self.constant) // self.factor

    def text(self, size: str = "") -> str:
        """The same as Python, where `size` is the source of the leaf or its size."""
        if not size:
            size = f"flat[{self.leaf}]" + ("" if self.dim is None else f".size({self.dim})")
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


class Kind:
    """What the input contract has to know of a tensor that was an example, without its data."""

    def __init__(self, t: torch.Tensor) -> None:
        self.kind = type(t)
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

    def __init__(
        self,
        fn: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        attributes: Sequence[Attribute] = (),
    ) -> None:
        pairs, self.spec = tree.flatten_with_path((args, kwargs))
        names = parameter_names(fn, args)
        self.names = [_name(path, names) for path, _ in pairs] + [a.name for a in attributes]
        self.examples = [leaf for _, leaf in pairs] + [a.owner[a.key] for a in attributes]
        self.leaves: list[Leaf] = []
        self.binds: list[Bind] = []
        self.relations: list[tuple[int, int | None, SymInt]] = []  # sizes that must be equal

    @classmethod
    def of_leaves(cls, leaves: list[Leaf], binds: list[Bind]) -> Inputs:
        """Inputs that are symbolic already."""
        inputs = cls(None, (), {})
        inputs.names = [leaf.name for leaf in leaves]
        inputs.leaves, inputs.binds = leaves, binds
        return inputs

    def symbolize(self, tracer: Tracer, choose: Callable[[Spot], Any]) -> list[Any]:
        """The leaves to run the program with, in order."""
        separate = getattr(choose, "separate", False)
        prepare = getattr(choose, "prepare", None)
        if prepare is not None:
            prepare(tracer.env, self.example_sizes())
        made: dict[int, Any] = {}
        places: dict[int, int] = {}
        stand_ins = []
        for i, example in enumerate(self.examples):
            if isinstance(example, torch.Tensor):
                stand_in = None if separate else made.get(id(example))
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

    def release(self) -> None:
        """Let go of the data of the examples."""
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

    def _tensor(
        self, tracer: Tracer, i: int, t: torch.Tensor, choose: Callable[[Spot], Any]
    ) -> SymTensor:
        if type(t) is SymTensor:
            raise ArgumentError(f"{self.names[i]} is a traced tensor of another trace")
        if t.layout is not torch.strided:
            raise ArgumentError(f"{self.names[i]} has layout {t.layout}; only strided tensors work")
        shape = tuple(
            self._size(tracer, Spot(i, f"{self.names[i]}.size({d})", d, n), choose)
            for d, n in enumerate(t.shape)
        )
        meta = Meta(shape, t.dtype, _layout(t), t.device, t.requires_grad)
        stand_in = tracer.input(meta)
        self.leaves.append(Leaf(self.names[i], stand_in._value, t, shape))
        return stand_in

    def _size(self, tracer: Tracer, spot: Spot, choose: Callable[[Spot], Any]) -> Any:
        kind = choose(spot)
        n = spot.value
        if type(kind) is Known:
            return self._known(spot, kind)
        if isinstance(kind, tuple):
            kind, known = kind
        else:
            known = {}
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

    def _number(self, tracer: Tracer, i: int, x: Any, choose: Callable[[Spot], Any]) -> Any:
        if type(x) not in (int, float, bool):
            return x
        spot = Spot(i, self.names[i], None, x)
        kind = choose(spot)
        known: dict[str, Any] = {}
        if type(kind) is Known:
            return self._known(spot, kind)
        if isinstance(kind, tuple):
            kind, known = kind
        if kind == STATIC:
            return x
        env = tracer.env
        if type(x) is float:
            real = env.real(known.get("hint", x) if kind == BACKED else None, source=self.names[i])
            self.binds.append(Bind(real.args[0], i, None))
            return SymFloat(real, env)
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


def _layout(t: torch.Tensor) -> Layout:
    """The layout of an example as a class of layouts: dense in its order, else its strides."""
    if t.is_contiguous() and not t.storage_offset():
        return CONTIGUOUS
    offset = int(t.storage_offset())
    order = tuple(range(t.dim())) if t.is_contiguous() else dense_order(t.shape, t.stride())
    if order is None:
        return Layout(strides=tuple(t.stride()), offset=offset)
    return Layout(order=order, offset=offset)


def _plain_names(target: Any) -> list[str] | None:
    """The names of the positional parameters of a Python function, found without a signature."""
    bound = hasattr(target, "__self__")
    code = getattr(target, "__code__", None)
    if code is None or hasattr(target, "__wrapped__"):
        return None
    return list(code.co_varnames[int(bound) : code.co_argcount])


def parameter_names(fn: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the positional arguments of a call."""
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    plain = _plain_names(target)
    if plain is not None and len(plain) >= len(args):
        return plain[: len(args)]
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(len(args))]
    names: list[str] = []
    for i in range(len(args)):
        p = parameters[i] if i < len(parameters) else None
        variadic = next((q for q in parameters if q.kind is inspect.Parameter.VAR_POSITIONAL), None)
        if p is not None and p.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(p.name)
        elif variadic is not None:
            names.append(f"{variadic.name}[{i - parameters.index(variadic)}]")
        else:
            names.append(f"args[{i}]")
    return names


def _name(path: Any, names: list[str]) -> str:
    where, first, *rest = path
    head = names[first.idx] if where.idx == 0 else str(first.key)
    return head + pytree.keystr(tuple(rest))
