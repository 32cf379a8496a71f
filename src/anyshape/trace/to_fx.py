"""The graph as a `torch.fx.GraphModule`: flat inputs in order, flat outputs, asserts as nodes."""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import fx

from anyshape.expr.python import source
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.graph import SYMBOLIC, Name, Value, operand_of
from anyshape.trace.spelling import OPERATORS, method_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env import Obligation
    from anyshape.trace.graph import Graph
    from anyshape.trace.inputs import Inputs

_OPERATORS: Final[dict[type, Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_AS_OPERATORS: Final = {
    *OPERATORS,
    "__getitem__",
    "__setitem__",
    "__neg__",
    "__invert__",
    "__abs__",
}
_FUNCTIONS: Final[dict[str, Any]] = {
    "max": torch.sym_max,
    "min": torch.sym_min,
    "sum": torch.sym_sum,
    "abs": abs,
    "round": round,
    "float": torch.sym_float,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "pow": math.pow,
    "fromhex": float.fromhex,
}


def to_fx(graph: Graph, inputs: Inputs, asserts: Sequence[Obligation]) -> fx.GraphModule:
    """A module that computes the graph from the flat list of inputs."""
    return _Writer(graph, inputs, asserts).write()


class _Same(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key


class _Writer:
    def __init__(self, graph: Graph, inputs: Inputs, asserts: Sequence[Obligation]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.fx = fx.Graph()
        self.root = torch.nn.Module()
        self.nodes: dict[Any, Any] = {}  # values, and names of symbols
        self.texts: dict[str, Any] = {}
        self.due: dict[str, list[Obligation]] = {}
        for o in asserts:
            self.due.setdefault(o.symbol, []).append(o)

    def write(self) -> fx.GraphModule:
        flat = []
        for leaf in self.inputs.leaves:
            clean = "".join(c if c.isalnum() else "_" for c in leaf.name)
            flat.append(self.fx.placeholder(clean))
            if leaf.value is not None:
                self.note(flat[-1], leaf.value)
        for name, i, dim, factor, constant in self.inputs.binds:
            node = flat[i] if dim is None else self.call(torch.Tensor.size, (flat[i], dim))
            if factor != 1 or constant:
                shifted = self.call(operator.sub, (node, constant))
                node = self.call(operator.floordiv, (shifted, factor))
            self.nodes[name] = node
        for name, *_ in self.inputs.binds:
            self.check(name)
        for value, tensor in self.graph.constants:
            self.constant(value, tensor)
        for step in self.graph.nodes:
            made = self.call(step.func, self.arg(step.args), self.arg(step.kwargs))
            if step.site is not None:
                made.meta["stack_trace"] = str(step.site)
            self.bind(step.outs, made)
        self.fx.output(self.arg(self.graph.outputs))
        self.fx.lint()
        return fx.GraphModule(self.root, self.fx)

    def call(self, func: Any, args: tuple[Any, ...], kwargs: Any = None) -> fx.Node:
        name = method_name(func) if args and isinstance(args[0], fx.Node) else None
        if name is None:
            return self.fx.call_function(func, args, kwargs or {})
        plain = getattr(operator, name, None) if name in _AS_OPERATORS else None
        if plain is not None:
            return self.fx.call_function(plain, args, kwargs or {})
        return self.fx.call_method(name, args, kwargs or {})

    def note(self, node: fx.Node, value: Value) -> None:
        self.nodes[value] = node
        node.meta["shape"] = value.meta.shape
        node.meta["dtype"] = value.meta.dtype

    def constant(self, value: Value, tensor: torch.Tensor) -> None:
        name = f"constant_{value.index}"
        if isinstance(tensor, torch.nn.Parameter):
            self.root.register_parameter(name, tensor)
        else:
            self.root.register_buffer(name, tensor)
        self.note(self.fx.get_attr(name), value)

    def bind(self, outs: Any, made: fx.Node) -> None:
        kind = type(outs)
        if kind is Value:
            self.note(made, outs)
        elif kind is Name:
            self.nodes[str(outs)] = made
            self.check(str(outs))
        elif kind is tuple:
            for i, part in enumerate(outs):
                if part is not None:
                    self.bind(part, self.call(operator.getitem, (made, i)))

    def check(self, name: str) -> None:
        for o in self.due.pop(name, ()):
            message = o.message or f"{o.text} does not hold"
            self.call(torch._assert, (self.number(source(o.condition, _Same())), message))

    def arg(self, x: Any) -> Any:
        kind = type(x)
        if kind is Value:
            return self.nodes[x]
        if kind in SYMBOLIC:
            return self.number(source(operand_of(x), _Same()))
        if kind is SymSize:
            return tuple([self.arg(part) for part in x])
        if kind in (tuple, list):
            return kind([self.arg(part) for part in x])
        if kind is dict:
            return {k: self.arg(part) for k, part in x.items()}
        if kind is slice:
            return slice(self.arg(x.start), self.arg(x.stop), self.arg(x.step))
        return x

    def number(self, text: str) -> Any:
        """The node that computes an expression; equal expressions share it."""
        found = self.texts.get(text)
        if found is None:
            found = self.texts[text] = self.expression(ast.parse(text, mode="eval").body)
        return found

    def expression(self, tree: Any) -> Any:
        kind = type(tree)
        if kind is ast.Constant:
            return tree.value
        if kind is ast.Name:
            return self.nodes[tree.id]
        if kind is ast.BinOp:
            return self.apply(_OPERATORS[type(tree.op)], tree.left, tree.right)
        if kind is ast.UnaryOp:
            return self.apply(_OPERATORS[type(tree.op)], tree.operand)
        if kind is ast.Compare:
            return self.apply(_OPERATORS[type(tree.ops[0])], tree.left, tree.comparators[0])
        if kind is ast.BoolOp:
            sign = operator.and_ if type(tree.op) is ast.And else operator.or_
            result = self.expression(tree.values[0])
            for part in tree.values[1:]:
                result = self.plain_or_call(sign, (result, self.expression(part)))
            return result
        if kind is ast.IfExp:
            return self.apply(torch.sym_ite, tree.test, tree.body, tree.orelse)
        if kind is ast.Tuple:
            return [self.expression(part) for part in tree.elts]
        assert kind is ast.Call
        name = tree.func.attr if type(tree.func) is ast.Attribute else tree.func.id
        if name in ("max", "min") and len(tree.args) > 2:
            result = self.expression(tree.args[0])
            for part in tree.args[1:]:
                result = self.plain_or_call(_FUNCTIONS[name], (result, self.expression(part)))
            return result
        return self.apply(_FUNCTIONS[name], *tree.args)

    def apply(self, func: Any, *operands: Any) -> Any:
        return self.plain_or_call(func, tuple([self.expression(o) for o in operands]))

    def plain_or_call(self, func: Any, args: tuple[Any, ...]) -> Any:
        symbolic = any(isinstance(a, fx.Node | list) for a in args)
        return self.call(func, args) if symbolic else func(*args)
