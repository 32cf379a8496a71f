"""`Part`: a stretch of the graph as a function of tensors and numbers, in a canonical form.

Values and symbols are numbered by their first use, inside and outside of the part. The `key` is the
text of the calls over these numbers, with what compiled code takes for granted of the inputs: two
parts of one program with equal keys are the same function of their inputs.

A part takes for granted of a tensor its sizes, its strides, its dtype and its device; of a
parameter, or any other constant, also whether it requires gradients. Of a number it takes its
range, or how it follows from other numbers. Constants among the arguments are compared by value;
objects that are not plain data, by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.expr.text.python import source
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.graph.graph import CONSTANT, SYMBOLIC, Name, Value, leaves, operand_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyshape.env import Env
    from anyshape.expr import Expr
    from anyshape.interop.regions.layout import Layouts
    from anyshape.trace.graph.graph import Node

_PLAIN: Final = (
    int, bool, str, type(None), type(...), torch.dtype, torch.device, torch.memory_format,
    torch.layout,
)  # fmt: skip


class NoRegionsError(Exception):
    """Why a program, or a stretch of it, is not lowered in regions."""


class Part:
    """The calls `nodes`, from number `start` to before number `end`.

    `ins` and `symbols` are what it needs from outside, in canonical order; `fixed` has the symbols
    with a single value and `derived` those that follow from others. `outs` are the values and the
    names of symbols that are needed after it.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        start: int,
        last: Mapping[Any, int],
        env: Env,
        layouts: Layouts,
    ) -> None:
        self.start, self.end = start, start + len(nodes)
        self.nodes = nodes
        self.ins: list[Value] = []
        self.symbols: list[str] = []
        self.fixed: dict[str, int] = {}
        self.derived: dict[str, Expr] = {}
        self._env = env
        self._layouts = layouts
        self._numbers: dict[Value, str] = {}
        made = [leaf for node in nodes for leaf in leaves(node.outs)]
        self._inside = {leaf for leaf in made if type(leaf) is Value}
        self.names = {str(leaf): f"w{i}" for i, leaf in enumerate(made) if type(leaf) is Name}
        self._renamed = _Renamed(self)
        self.outs: list[Value | Name] = [x for x in made if last.get(x, -1) >= self.end]
        lines = [
            f"{self._text(n.outs)} = {id(n.func)}({self._text(n.args)}, {self._text(n.kwargs)})"
            for n in nodes
        ]
        lines.append(self._text(self.outs))
        lines += [self._given(v) for v in self.ins]  # which may add symbols, but no inputs
        lines += [self._number(name) for name in self.symbols]
        self.key = "\n".join(lines)

    def register(self, name: str) -> str:
        """The canonical name of a symbol from outside, after those that it follows from."""
        if name in self.names:
            return self.names[name]
        symbol = self._env.symbols.get(name)
        if symbol is None:
            raise NoRegionsError(f"{name} is a number that compiled code takes as a tensor")
        simple = self._env.simplify(symbol.expr)
        if simple.is_const:
            self.fixed[name] = int(simple.c)
            return f"({simple.c})"
        if simple is not symbol.expr:
            for other in names_of(simple):
                if other in self.names:
                    raise NoRegionsError(f"{name} follows from a number that is made later")
                self._renamed[other]
            self.derived[name] = simple
        self.symbols.append(name)
        return f"s{len(self.symbols) - 1}"

    def _given(self, v: Value) -> str:
        """What is taken for granted of an input."""
        meta = v.meta
        words = [self._text(tuple(meta.shape)), self._layout(v), str(meta.dtype), str(meta.device)]
        if v.kind == CONSTANT:
            words += [str(bool(meta.requires_grad)), v.kind]
        return " ".join(words)

    def _layout(self, v: Value) -> str:
        found = self._layouts.of(v)
        if found is None:
            raise NoRegionsError(f"the strides of {v} are known to the run only")
        order, strides = found
        return str(order) if strides is None else self._text(strides)

    def _number(self, name: str) -> str:
        if name in self.derived:
            return source(self.derived[name], self._renamed)
        return repr(tuple(self._env.range_of(self._env.symbols[name].expr)))

    def _text(self, x: Any) -> str:
        """An argument or a pattern in canonical form."""
        kind = type(x)
        if kind is Value:
            return self._value(x)
        if kind is Name:
            return self._renamed[str(x)]
        if kind in SYMBOLIC:
            return self._symbolic(kind, operand_of(x))
        if kind in (tuple, list, SymSize):
            return f"{kind.__name__}({', '.join(map(self._text, x))})"
        if kind is dict:
            pairs = [f"{self._text(k)}: {self._text(v)}" for k, v in x.items()]
            return f"{{{', '.join(pairs)}}}"
        if kind is slice:
            return f"slice({self._text(x.start)}, {self._text(x.stop)}, {self._text(x.step)})"
        if kind is float:
            return float.hex(x)
        return repr(x) if kind in _PLAIN else f"object {id(x)}"

    def _symbolic(self, kind: type, operand: Any) -> str:
        """A symbolic number; one that has a single value is that."""
        text = source(operand, self._renamed)  # which registers its symbols
        if kind is SymInt:
            simple = self._env.simplify(operand)
            if simple.is_const:
                return repr(int(simple.c))
        return f"{kind.__name__}<{text}>"

    def _value(self, v: Value) -> str:
        found = self._numbers.get(v)
        if found is None:
            if v in self._inside:
                found = f"v{len(self._numbers)}"
            else:
                found = f"i{len(self.ins)}"
                self.ins.append(v)
            self._numbers[v] = found
        return found

    def __repr__(self) -> str:
        return f"<calls {self.start} to {self.end}>"


class _Renamed(dict[str, str]):
    """The canonical names of symbols; a symbol that is met first gets the next one."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        self._part = part

    def __missing__(self, name: str) -> str:
        self[name] = new = self._part.register(name)
        return new


class LastUses:
    """The number of the last call that needs a value, or a symbol by its `Name`.

    What a part needs of a tensor are also the symbols of its sizes and strides, and what these
    follow from.
    """

    def __init__(
        self, nodes: Sequence[Node], outputs: Sequence[Any], env: Env, layouts: Layouts
    ) -> None:
        self._env = env
        self._layouts = layouts
        self._bases: dict[str, list[str]] = {}
        self.last: dict[Any, int] = {}
        for place, node in enumerate(nodes):
            for leaf in leaves((node.args, node.kwargs)):
                self._need(leaf, place)
        for leaf in leaves(outputs):
            self._need(leaf, len(nodes))

    def _need(self, x: Any, place: int) -> None:
        kind = type(x)
        if kind is Value:
            if self.last.get(x) != place:
                self.last[x] = place
                for n in (*x.meta.shape, *self._layouts.strides(x)):
                    self._need(n, place)
        elif kind in SYMBOLIC:
            for name in names_of(operand_of(x)):
                for needed in (name, *self._follows_from(name)):
                    self.last[Name(needed)] = place
        elif kind is Name:
            self.last[x] = place
        elif kind is SymSize:
            for n in x:
                self._need(n, place)

    def _follows_from(self, name: str) -> list[str]:
        if name not in self._bases:
            symbol = self._env.symbols.get(name)
            found = [] if symbol is None else names_of(self._env.simplify(symbol.expr))
            self._bases[name] = found
        return self._bases[name]
