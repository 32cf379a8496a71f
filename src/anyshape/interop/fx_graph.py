"""The graph as a `torch.fx.GraphModule`: flat inputs in order, flat outputs, asserts as nodes.

`to_fx` is the whole program over its flat inputs. `to_backend_fx` is what compilers of torch take:
the symbols of the inputs are inputs of their own and come first, then the tensors; asserts are
`aten._assert_scalar`, which such compilers keep and learn from.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import fx

from anyshape.expr.python import source
from anyshape.rules.autocast import autocast_state
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat.aten_op import ASSERT_SCALAR, assert_true
from anyshape.torch_compat.thread_state import set_grad_enabled
from anyshape.trace.codegen import SAME
from anyshape.trace.execution_modes import MODE_CHANGES, set_autocast, set_inference
from anyshape.trace.graph import SYMBOLIC, Name, Value, leaves, operand_of
from anyshape.trace.spelling import OPERATORS, method_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyshape.env import Obligation
    from anyshape.trace.capture import Captured
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
_INDEXING: Final = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


# What torch's symbolic integers do not have is computed at a value, which torch guards.


def _power(base: Any, exponent: Any, *modulus: Any) -> Any:
    """`math.pow`, or the builtin with a modulus."""
    if modulus:
        return pow(int(base), int(exponent), int(modulus[0]))
    return math.pow(base, exponent)


def _round(x: Any, *digits: Any) -> Any:
    """`round`; torch's class ignores the digits of an integer."""
    return round(int(x) if digits and isinstance(x, int | torch.SymInt) else x, *digits)


def _bit_length(n: Any) -> int:
    return int(n).bit_length()


def _bit_count(n: Any) -> int:
    return int(n).bit_count()


_FUNCTIONS: Final[dict[str, Any]] = {
    "max": torch.sym_max,
    "min": torch.sym_min,
    "sum": torch.sym_sum,
    "abs": abs,
    "round": _round,
    "float": torch.sym_float,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "pow": _power,
    "fromhex": float.fromhex,
    "bit_length": _bit_length,
    "bit_count": _bit_count,
    **{
        name: getattr(math, name)
        for name in ("sqrt", "isqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan")
    },
}


def to_fx(captured: Captured) -> fx.GraphModule:
    """A module that computes the outputs of a traced program from the flat list of its inputs."""
    graph, asserts = captured.graph, captured.runtime_asserts
    writer = _Writer(graph, {id(o): _said(o) for o in asserts}, assert_true)
    writer.take_leaves(captured.inputs)
    return writer.write(asserts, graph.outputs)


def to_backend_fx(
    graph: Graph,
    inputs: Inputs,
    asserts: Mapping[str, Obligation],
    outputs: Sequence[Any],
    fixed: Mapping[str, int],
) -> fx.GraphModule:
    """A module that computes `outputs` from symbols and tensors.

    `asserts` are by the message to fail with. Symbols in `fixed` are numbers instead of inputs.
    """
    messages = {id(o): message for message, o in asserts.items()}
    writer = _Writer(graph, messages, ASSERT_SCALAR, for_backend=True)
    writer.take_symbols(inputs, fixed)
    return writer.write(list(asserts.values()), outputs)


def _said(o: Obligation) -> str:
    return o.message or f"{o.text} does not hold"


class _Writer:
    def __init__(
        self,
        graph: Graph,
        messages: Mapping[int, str],
        assertion: Any,
        *,
        for_backend: bool = False,
    ) -> None:
        self.graph = graph
        self.for_backend = for_backend
        self.messages = messages  # by the identity of the assert
        self.assertion = assertion
        self.fx = fx.Graph()
        self.root = torch.nn.Module()
        self.nodes: dict[Any, Any] = {}  # values, and names of symbols
        self.texts: dict[str, Any] = {}
        self.due: dict[str, list[Obligation]] = {}

    def take_leaves(self, inputs: Inputs) -> None:
        """One placeholder for each leaf; sizes are read off them."""
        flat = []
        for leaf in inputs.leaves:
            flat.append(self.placeholder(leaf.name))
            if leaf.value is not None:
                self.note(flat[-1], leaf.value)
        for name, i, dim, factor, constant in inputs.binds:
            node = flat[i] if dim is None else self.call(torch.Tensor.size, (flat[i], dim))
            if factor != 1 or constant:
                shifted = self.call(operator.sub, (node, constant))
                node = self.call(operator.floordiv, (shifted, factor))
            self.nodes[name] = node

    def take_symbols(self, inputs: Inputs, fixed: Mapping[str, int]) -> None:
        """One placeholder for each symbol, then one for each tensor; floats come as tensors."""
        floats = {bind.name for bind in inputs.binds} - {bind.name for bind in inputs.sizes}
        for bind in inputs.binds:
            node: Any = fixed.get(bind.name)
            if node is None:
                node = self.placeholder(bind.name)
                if bind.name in floats:
                    node = self.call(torch.Tensor.item, (node,))
            self.nodes[bind.name] = node
        for leaf in inputs.leaves:
            if leaf.value is not None:
                self.note(self.placeholder(leaf.name), leaf.value)

    def placeholder(self, name: str) -> fx.Node:
        return self.fx.placeholder("".join(c if c.isalnum() else "_" for c in name))

    def write(self, asserts: Sequence[Obligation], outputs: Sequence[Any]) -> fx.GraphModule:
        for o in asserts:
            self.due.setdefault(o.symbol, []).append(o)
        for name in ["", *[name for name in self.nodes if type(name) is str]]:
            self.check(name)
        for value, tensor in self.graph.constants:
            self.constant(value, tensor)
        for step in self.graph.nodes:
            made = self.step(step.func, step.args, step.kwargs)
            if step.site is not None:
                made.meta["stack_trace"] = str(step.site)
            self.bind(step.outs, made)
        if self.for_backend:
            self.restore_modes()
        self.fx.output(self.arg(list(outputs)))
        self.fx.lint()
        return fx.GraphModule(self.root, self.fx)

    def restore_modes(self) -> None:
        """Leave the modes as they are now, for compilers run a graph more than once."""
        last = {s.func: s.args[0] for s in self.graph.nodes if s.func in MODE_CHANGES}
        now = {
            set_grad_enabled: torch.is_grad_enabled(),
            set_inference: False,
            set_autocast: autocast_state(),
            torch.set_default_dtype: torch.get_default_dtype(),
        }
        for func, state in last.items():
            if state != now[func]:
                self.call(func, (now[func],))

    def step(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.Node:
        if self.for_backend and func in _INDEXING:
            tensor, index, *value = args
            parts = index if type(index) is tuple else (index,)
            if any(type(part) is SymInt for part in parts):
                tensor, parts = self.select(tensor, parts)
                return self.call(func, (tensor, parts, *[self.arg(v) for v in value]))
        return self.call(func, self.arg(args), self.arg(kwargs))

    def select(self, tensor: Value, parts: tuple[Any, ...]) -> tuple[fx.Node, tuple[Any, ...]]:
        """A tensor and an index without symbolic numbers, for the same elements.

        Beside tensors a number is a tensor of one element; else it selects from its dimension.
        """
        if any(type(leaf) is Value for leaf in leaves(parts)):
            like = {"dtype": torch.int64, "device": tensor.meta.device}
            return self.arg(tensor), tuple(
                self.call(torch.full, ((1,), self.arg(part)), like)
                if type(part) is SymInt
                else self.arg(part)
                for part in parts
            )
        place = next((i for i, part in enumerate(parts) if part is ...), len(parts))
        node = self.arg(tensor)
        kept = list(parts)
        for i in reversed(range(len(parts))):
            if type(parts[i]) is SymInt:
                before = [part for part in parts[:i] if part is not None]
                after = [part for part in parts[i:] if part is not None]
                dim = len(before) if i < place else len(tensor.meta.shape) - len(after)
                node = self.call(torch.select, (node, dim, self.arg(parts[i])))
                del kept[i]
        return node, tuple([self.arg(part) for part in kept]) or (...,)

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
            condition = self.number(source(o.condition, SAME))
            self.call(self.assertion, (condition, self.messages[id(o)]))

    def arg(self, x: Any) -> Any:
        kind = type(x)
        if kind is Value:
            return self.nodes[x]
        if kind is Name:
            return self.nodes[str(x)]
        if kind in SYMBOLIC:
            return self.number(source(operand_of(x), SAME))
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
        args = tuple([self.expression(o) for o in operands])
        if func is operator.floordiv and type(args[1]) is int and args[1] < 0:
            # torch's engine folds quotients by negative numbers wrongly
            args = (self.plain_or_call(operator.neg, args[:1]), -args[1])
        return self.plain_or_call(func, args)

    def plain_or_call(self, func: Any, args: tuple[Any, ...]) -> Any:
        symbolic = any(isinstance(a, fx.Node | list) for a in args)
        return self.call(func, args) if symbolic else func(*args)
