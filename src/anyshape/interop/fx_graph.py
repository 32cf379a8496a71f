"""The graph as a `torch.fx.GraphModule`: flat inputs in order, flat outputs, asserts as nodes.

`to_fx` makes the whole program over its flat inputs. `to_backend_fx` makes the form that torch's
compilers take: the symbols of the inputs are inputs themselves and come first, then the tensors;
asserts are `aten._assert_scalar`, which compilers keep and learn from.

Asserts are in the order of the program, each as soon as its symbols are known, so that the graph
reports the first check of the program that fails.
"""

from __future__ import annotations

import enum
import operator
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import fx

from anyshape.env.fact import Fact
from anyshape.env.obligation import Obligation, in_program_order
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning
from anyshape.expr.traverse import names_of
from anyshape.interop.arithmetic import interpreter
from anyshape.interop.aten.module_stacks import ModuleStacks
from anyshape.symbolic.functions import sym_ite
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat.aten_op import ASSERT_SCALAR, assert_true
from anyshape.torch_compat.call_frame import APPLY
from anyshape.torch_compat.thread_state import set_grad_enabled
from anyshape.trace.graph.graph import SYMBOLIC, Graph, Name, Value, leaves, operand_of
from anyshape.trace.graph.spelling import OPERATORS, method_name
from anyshape.trace.higher_order.body import Body
from anyshape.trace.mode.execution_modes import (
    autocast_dtypes,
    autocast_setting,
    leave_modes,
    restore_autocast,
    restore_grad,
    set_autocast,
    set_inference,
)
from anyshape.trace.record.effect.effect import (
    COMPUTED,
    MADE,
    OUTLETS,
    set_attribute,
    set_item,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyshape.trace.argument.inputs import Inputs
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Node

_AS_OPERATORS: Final = {
    *OPERATORS,
    "__getitem__",
    "__setitem__",
    "__neg__",
    "__invert__",
    "__abs__",
}
_INDEXING: Final = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


_ASSIGNS: Final = (set_attribute, set_item)
LEFT_OUT: Final = {*OUTLETS, *COMPUTED, *MADE, *_ASSIGNS}
RESTORED: Final = {restore_grad: set_grad_enabled, restore_autocast: set_autocast}


def current_modes() -> dict[Any, Any]:
    """The modes here, by what sets them."""
    return {
        set_grad_enabled: torch.is_grad_enabled(),
        set_inference: False,
        set_autocast: autocast_setting(autocast_dtypes()),
        torch.set_default_dtype: torch.get_default_dtype(),
    }


def to_fx(
    captured: Captured,
    *,
    guarded: bool = False,
    names: Mapping[int, str] | None = None,
    root: str = "",
) -> fx.GraphModule:
    """A module that computes the outputs of a traced program from the flat list of its inputs. If
    it is `guarded`, it checks the guards first. `names` are the qualified names of constants by id,
    `root` is the name of the class of the exported module. Nodes have `val`, except in segments.
    """
    graph, asserts = captured.graph, in_program_order(captured.runtime_asserts)
    if guarded:
        facts = [
            Fact(o.condition, o.origin, o.site, f"a guard fails: {o}") for o in captured.guards
        ]
        asserts = [*[Obligation(f, captured.tracer.env.knowledge) for f in facts], *asserts]
    warn_of_outlets(graph)
    writer = _Writer(graph, {id(o): _message_of(o) for o in asserts}, assert_true)
    writer.names, writer.stacks = names or {}, ModuleStacks(root)
    writer.take_leaves(captured.inputs)
    made = writer.write(asserts, graph.outputs)
    if all(leaf.value is None or leaf.example is not None for leaf in captured.inputs.leaves):
        # Not at the top: it imports torch's compilers.
        from anyshape.interop.fx_values import add_values  # noqa: PLC0415

        add_values(captured, writer.nodes, writer.computed)
    return made


def warn_of_outlets(graph: Graph) -> None:
    """Tell which prints, warnings, log records and assignments a module of torch does not have."""
    left_out = [s for s in graph.nodes if s.func in OUTLETS or s.func in _ASSIGNS]
    said = [f"{step.func.__name__} at {step.site}" for step in left_out]
    if said:
        warn(
            AnyshapeWarning(
                f"the module leaves out what the program says or assigns: {'; '.join(said)}",
                code="AS711",
            )
        )


def to_backend_fx(
    graph: Graph,
    inputs: Inputs,
    asserts: Mapping[str, Obligation],
    outputs: Sequence[Any],
    fixed: Mapping[str, int],
) -> fx.GraphModule:
    """A module that computes `outputs` from symbols and tensors.

    `asserts` is keyed by the message to fail with. Symbols in `fixed` are constants, not inputs.
    """
    messages = {id(o): message for message, o in asserts.items()}
    writer = _Writer(graph, messages, ASSERT_SCALAR, for_backend=True)
    writer.take_symbols(inputs, fixed)
    return writer.write(list(asserts.values()), outputs)


def part_to_fx(
    nodes: list[Node],
    symbols: Sequence[str],
    fixed: Mapping[str, int],
    ins: Sequence[Value],
    outs: Sequence[Any],
) -> fx.GraphModule:
    """A module for a stretch of a graph: it computes `outs` from these symbols and values."""
    graph = Graph()
    graph.nodes = nodes
    writer = _Writer(graph, {}, ASSERT_SCALAR, for_backend=True)
    writer.nodes.update(fixed)
    for name in symbols:
        writer.nodes[name] = writer.placeholder(name)
    for value in ins:
        writer.note(writer.placeholder(repr(value)), value)
    return writer.write([], outs)


def _message_of(o: Obligation) -> str:
    return o.message or f"{o.text} does not hold"


def _plain_number(x: Any) -> Any:
    """A number of NumPy, or of a subclass of Python's, as the number that it is for an op."""
    kind: Any = type(x)
    if kind.__module__ == "numpy" and kind.__hash__ is not None and hasattr(kind, "item"):
        return x.item()
    if isinstance(x, enum.Enum) or kind in (int, float, bool):
        return x
    return int.__index__(x) if isinstance(x, int) else x


def _with_numbers(x: Any) -> Any:
    """Nested lists with numbers for symbolic truths."""
    if type(x) in (list, tuple):
        return [_with_numbers(part) for part in x]
    return sym_ite(x, 1, 0) if type(x) is SymBool else x


def _may_bound(x: Any) -> bool:
    """Whether a value may bound a slice: a number of NumPy with a fraction is an error."""
    return type(x).__module__ != "numpy" or hasattr(x, "__index__")


class _Applied:
    """`apply` of an autograd.Function, under a name that the code of the module can use."""

    def __init__(self, method: Any) -> None:
        self._method = method
        self.__name__ = f"{method.__self__.__name__}_apply"
        self.__module__ = method.__self__.__module__

    def __call__(self, *args: Any) -> Any:
        return self._method(*args)


class BodyModule(torch.nn.Module):
    """A body of a higher-order call, as a module among those of the graph."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body

    def forward(self, values: list[Any]) -> list[Any]:
        """Run it on the values of its parameters."""
        return self.body(values)


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
        self.number = interpreter(self.nodes.__getitem__, self.emit)
        self.ordered: deque[Obligation] = deque()
        self.alone: list[Obligation] = []
        self.names: Mapping[int, str] = {}  # of constants, by id
        self.stacks: ModuleStacks | None = None
        self.computed: list[fx.Node] = []  # numbers, in order

    def take_leaves(self, inputs: Inputs) -> None:
        """One placeholder for each leaf; sizes are read from them."""
        flat = []
        for leaf in inputs.leaves:
            flat.append(self.placeholder(leaf.name))
            if leaf.value is not None:
                self.note(flat[-1], leaf.value)
        for name, i, dim, factor, constant, kind in inputs.binds:
            node = flat[i] if dim is None else self.call(torch.Tensor.size, (flat[i], dim))
            if factor != 1 or constant:
                shifted = self.call(operator.sub, (node, constant))
                node = self.call(operator.floordiv, (shifted, factor))
            if kind is not None:
                node = self.call(kind, (node,))
            self.nodes[name] = node

    def take_symbols(self, inputs: Inputs, fixed: Mapping[str, int]) -> None:
        """One placeholder for each symbol, then one for each tensor; a float is a tensor."""
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
        self.ordered.extend([o for o in asserts if o.recorded])
        self.alone = [o for o in asserts if not o.recorded]
        self.check()
        for value, tensor in self.graph.constants:
            self.constant(value, tensor)
        for step in self.graph.nodes:
            if step.func in LEFT_OUT:
                continue
            before = next(iter(reversed(self.fx.nodes)), None)
            made = self.step(step.func, step.args, step.kwargs)
            self.bind(step.outs, made)
            self.describe(step, before)
        if self.for_backend:
            self.restore_modes()
        self.fx.output(self.arg(list(outputs)))
        self.fx.lint()
        return fx.GraphModule(self.root, self.fx)

    def describe(self, step: Node, before: fx.Node | None) -> None:
        """Give the nodes of a call, those after `before`, its line and its modules."""
        meta = {} if self.stacks is None else self.stacks.meta(step)
        if step.site is not None and self.stacks is None:
            meta["stack_trace"] = str(step.site)
        for node in reversed(self.fx.nodes):
            if node is before:
                break
            node.meta.update(meta)

    def restore_modes(self) -> None:
        """Restore the modes at the end, because compilers run a graph more than once."""
        if any(s.func is leave_modes for s in self.graph.nodes):
            return
        last = {s.func: s.args[0] for s in self.graph.nodes if s.func in current_modes()}
        now = current_modes()
        for func, state in last.items():
            if state != now[func]:
                self.call(func, (now[func],))

    def step(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.Node:
        if func in RESTORED:
            return self.call(RESTORED[func], (current_modes()[RESTORED[func]], *args))
        if self.for_backend and func in _INDEXING:
            tensor, index, *value = args
            parts = index if type(index) is tuple else (index,)
            if any(type(part) is SymInt for part in parts):
                tensor, parts = self.select(tensor, parts)
                return self.call(func, (tensor, parts, *[self.arg(v) for v in value]))
        if self.for_backend and func is torch.tensor:
            args, kwargs = self.without_truths(args, kwargs)
        return self.call(func, self.arg(args), self.arg(kwargs))

    def without_truths(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of `torch.tensor`, with 1 and 0 for symbolic truths: torch's own, made of
        such a truth, knows no dtype.
        """
        data = [*leaves(args[:1])]
        if SymBool not in map(type, data):
            return args, kwargs
        if all(type(x) in (bool, SymBool) for x in data):
            kwargs = {"dtype": torch.bool, **kwargs}
        return (_with_numbers(args[0]), *args[1:]), kwargs

    def select(self, tensor: Value, parts: tuple[Any, ...]) -> tuple[fx.Node, tuple[Any, ...]]:
        """A tensor and an index without symbolic numbers, for the same elements.

        If the index has tensors, a number becomes a tensor of one element; else it becomes a
        `select` of its dimension.
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
        if getattr(func, "__func__", None) is APPLY:
            func = _Applied(func)
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
        """A tensor as an attribute, under its qualified name if it has one."""
        name = self.names.get(id(tensor), "")
        parts = name.split(".")
        if not name or any(not part or hasattr(torch.nn.Module, part) for part in parts):
            name, parts = f"constant_{value.index}", [f"constant_{value.index}"]
        owner = self.root
        for part in parts[:-1]:
            if part not in dict(owner.named_children()):
                owner.add_module(part, torch.nn.Module())
            owner = owner.get_submodule(part)
        if isinstance(tensor, torch.nn.Parameter):
            owner.register_parameter(parts[-1], tensor)
        else:
            owner.register_buffer(parts[-1], tensor)
        self.note(self.fx.get_attr(name), value)

    def bind(self, outs: Any, made: fx.Node) -> None:
        kind = type(outs)
        if kind is Value:
            self.note(made, outs)
        elif kind is Name:
            self.nodes[str(outs)] = made
            self.check()
        elif kind is tuple:
            for i, part in enumerate(outs):
                if part is not None:
                    self.bind(part, self.call(operator.getitem, (made, i)))

    def check(self) -> None:
        """Write the asserts whose symbols are known; recorded ones in their order.

        So an op comes after all conditions that were recorded before it.
        """
        due = [o for o in self.alone if self.is_known(o)]
        self.alone = [o for o in self.alone if o not in due] if due else self.alone
        while self.ordered and self.is_known(self.ordered[0]):
            due.append(self.ordered.popleft())
        for o in due:
            condition = self.number(o.condition)
            self.call(self.assertion, (condition, self.messages[id(o)]))

    def is_known(self, o: Obligation) -> bool:
        return all(name in self.nodes for name in names_of(o.condition))

    def arg(self, x: Any) -> Any:
        kind = type(x)
        if kind is Value:
            return self.nodes[x]
        if kind is Name:
            return self.nodes[str(x)]
        if kind in SYMBOLIC:
            return self.number(operand_of(x))
        if kind is SymSize:
            return tuple([self.arg(part) for part in x])
        if kind in (tuple, list):
            return kind([self.arg(part) for part in x])
        if kind is dict:
            return {k: self.arg(part) for k, part in x.items()}
        if kind is Body:
            name = f"body_{len(self.fx.nodes)}"
            self.root.add_module(name, BodyModule(x))
            return self.fx.get_attr(name)
        if kind is slice:
            ends = (x.start, x.stop, x.step)
            return slice(*[self.arg(end) if _may_bound(end) else end for end in ends])
        return _plain_number(x)

    def emit(self, func: Any, *args: Any) -> Any:
        """A call of a function of numbers; computed immediately if none of them is a node."""
        if not any(isinstance(a, fx.Node | list) for a in args):
            return func(*args)
        made = self.call(func, args)
        self.computed.append(made)
        return made
