"""`AtenWriter`: the calls of a graph as ATen ops of an fx graph.

Every recorded call is made once, over fake tensors that our metadata describes, under a mode that
gets the ops. The mode writes a node for an op and answers with the result that the graph has for
the call, so that no fake kernel runs. A call that turns out to be several ops is taken back, and
made again over fake kernels.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import fx

from anyshape.errors import UnsupportedError
from anyshape.interop.aten.fake_values import FakeValues
from anyshape.interop.aten.memory import memory_of, written_by
from anyshape.interop.aten.number_nodes import NumberNodes
from anyshape.interop.aten.symbols import refuse
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat.aten_op import asks_metadata, schema_of
from anyshape.torch_compat.fake_tensor import compute_unbacked_bindings
from anyshape.torch_compat.pre_dispatch import DEVICE, INPLACE_VIEW, SIZE, Recording
from anyshape.trace.graph.graph import Name, Value, leaves, op_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from anyshape.interop.aten.changed_memory import ChangedMemory
    from anyshape.interop.aten.symbols import TorchSymbols
    from anyshape.trace.graph.graph import Node

_ATEN: Final[Any] = torch.ops.aten
_DETACH: Final = (_ATEN.detach.default, _ATEN.detach_.default)
_NUMBERS: Final = (torch.SymInt, torch.SymBool, torch.SymFloat)


class _SeveralOps(Exception):
    """A call is more than the one op whose result is known."""


class AtenWriter:
    """Writes one graph. `values` has the fake tensor of each tensor of ours, `nodes` the node of
    each fake tensor by its id, and `meta` what every node gets: the module and the line.

    The graph of a function that a higher-order call gets is written by a writer with an `outer`
    one. What it uses of the graph around it becomes a placeholder; `imports` has these by the nodes
    there.
    """

    def __init__(self, symbols: TorchSymbols, outer: AtenWriter | None = None) -> None:
        self.symbols = symbols
        self.outer = outer
        self.fakes: FakeValues = FakeValues(symbols) if outer is None else outer.fakes
        self.fx = fx.Graph()
        self.root = torch.nn.Module()
        self.numbers = NumberNodes(symbols, self.emit, self._imported_number)
        self.values: dict[Value, Any] = {} if outer is None else dict(outer.values)
        self.objects: dict[str, Any] = {} if outer is None else dict(outer.objects)
        self.is_repeated = False  # whether its calls run more often than those of the program
        self.copying: dict[fx.Node, set[fx.Node]] = {}  # calls that give copies, and of what
        self.changed: ChangedMemory | None = None  # if it may change tensors from around it
        self.imports: dict[fx.Node, fx.Node] = {}
        self.given: dict[fx.Node, fx.Node] = {}  # placeholders that a call gives every round
        self.last_placeholder: fx.Node | None = None
        self._recording: Recording = Recording(self._op) if outer is None else outer._recording
        self.nodes: dict[int, fx.Node] = {}
        self.meta: dict[str, Any] = {}
        self.lifted: dict[fx.Node, torch.Tensor] = {}
        self.last_constant: fx.Node | None = None
        self._kept: list[Any] = []  # fake tensors, so that ids stay theirs
        self._wanted: Any = None
        self._exact = True  # whether an op must be the one whose result is known
        self._count = 0
        self._several: set[Any] = set()
        self._node: Node | None = None
        self._results: dict[Node, Any] = {} if outer is None else outer._results

    def use(self, symbols: TorchSymbols) -> None:
        """Go on with the symbols of another part of the program."""
        self.symbols, self.fakes = symbols, FakeValues(symbols, self.fakes)

    def recording(self) -> AbstractContextManager[Any]:
        """A block in which calls of torch are written."""
        return self._recording.to(self._op)

    def transforming(self) -> AbstractContextManager[Any]:
        """A block inside, in which functions of `torch.func` may be called: the ops are those that
        remain of their calls, and fake kernels give the results.
        """
        self._wanted, self._exact, self._count = None, False, 0
        return self._recording.below()

    # ------------------------------------------------------------------ nodes

    def emit(self, func: Any, args: tuple[Any, ...], val: Any, **kwargs: Any) -> fx.Node:
        """Write a call."""
        node = self.fx.call_function(func, args, kwargs)
        node.meta.update(self.meta)
        node.meta["val"] = val
        return node

    def placeholder(self, name: str, val: Any) -> fx.Node:
        """Write an input."""
        node = self.fx.placeholder("".join([c if c.isalnum() else "_" for c in name]))
        node.meta["val"] = val
        self.last_placeholder = node
        if isinstance(val, torch.Tensor):
            self.note(val, node)
        return node

    def solve(self, symbol: Any, size: Any, node: fx.Node, dim: int) -> None:
        """Note that a size of a tensor is `size`, a multiple of a symbol plus a constant."""
        factor = size.coeff(symbol)
        constant = size - factor * symbol
        shown = self.numbers.call(SIZE, (node, dim), size)
        if constant != 0:
            shown = self.numbers.call(operator.sub, (shown, int(constant)), factor * symbol)
        self.numbers.made[symbol] = self.numbers.call(
            operator.floordiv, (shown, int(factor)), symbol
        )

    def note(self, fake: Any, node: fx.Node) -> None:
        """Note which node computes a fake tensor."""
        self.nodes[id(fake)] = node
        self._kept.append(fake)

    def node_of(self, value: Value) -> fx.Node:
        """The node of a tensor of ours."""
        found: fx.Node = self.node_arg(self.values[value])
        return found

    def bind(self, outs: Any, made: Any) -> None:
        """Note the results of a call."""
        if type(outs) is Value:
            if id(made) not in self.nodes:
                raise self._refuse("a result that no op has made")
            self.values[outs] = made
        elif type(outs) is tuple:
            for part, m in zip(outs, made, strict=True):
                self.bind(part, m)

    # ------------------------------------------------------------------ arguments

    def arg(self, x: Any) -> Any:
        """An argument of a call of ours, over fake tensors and torch's numbers."""
        kind = type(x)
        if kind is Value:
            return self.values[x]
        if kind is Name:
            return self.objects[x] if x in self.objects else self.symbols.numbers[str(x)]
        if kind in (SymSize, tuple):
            return tuple([self.arg(a) for a in x])
        if kind is list:
            return [self.arg(a) for a in x]
        if kind is dict:
            return {k: self.arg(a) for k, a in x.items()}
        if kind is slice:
            return slice(self.arg(x.start), self.arg(x.stop), self.arg(x.step))
        return self.symbols.number(x)

    def node_arg(self, x: Any) -> Any:
        """An argument of an op, over nodes."""
        if isinstance(x, torch.Tensor):
            return self.nodes.get(id(x)) or self._from_outside(x)
        if type(x) in _NUMBERS:
            return self.numbers.of_expression(x.node.expr)
        if type(x) in (tuple, list):
            return type(x)([self.node_arg(a) for a in x])
        return x

    def _from_outside(self, tensor: torch.Tensor) -> fx.Node:
        """The node of a tensor that this graph has not made."""
        if self.outer is None:
            return self._lift(tensor)
        node = self.take(self.outer.node_arg(tensor))
        self.note(tensor, node)
        return node

    def _imported_number(self, symbol: Any) -> fx.Node:
        """The node of a symbol that nothing in this graph shows."""
        assert self.outer is not None, symbol
        return self.take(self.outer.numbers.of_expression(symbol))

    def take(self, node: fx.Node) -> fx.Node:
        """What stands here for a node of the graph around this one."""
        found = self.given.get(node) or self.imports.get(node)
        if found is None and self.changed is not None:
            found = self.changed.windows.get(node) or self.changed.window(node)
        if found is None:
            val, after = node.meta["val"], self.last_placeholder
            with self.fx.inserting_before() if after is None else self.fx.inserting_after(after):
                found = self.placeholder(node.name, val)
            self.imports[node] = found
            if isinstance(val, torch.Tensor):
                self.show(found, val)
        return found if self.changed is None else self.changed.copies.get(found, found)

    def knows(self, symbol: Any) -> bool:
        """Whether a symbol has a value here, or around this graph."""
        if symbol in self.numbers.made or symbol in self.numbers.places:
            return True
        return self.outer is not None and self.outer.knows(symbol)

    def show(self, node: fx.Node, fake: Any) -> None:
        """Note that a placeholder shows the symbols among its sizes."""
        for dim, n in enumerate(fake.shape):
            if hasattr(n, "node") and n.node.expr.is_Symbol:
                self.numbers.places.setdefault(n.node.expr, (node, dim))

    def _lift(self, tensor: torch.Tensor) -> fx.Node:
        """A tensor that a call makes of plain numbers: one more constant, before the inputs."""
        fake = self.fakes.make(list(tensor.shape), None, tensor.dtype, tensor.device, own=True)
        after = self.last_constant
        with self.fx.inserting_before() if after is None else self.fx.inserting_after(after):
            node = self.placeholder(f"c_lifted_tensor_{len(self.lifted)}", fake)
        self.lifted[node] = tensor
        self.last_constant = node
        self.note(tensor, node)
        return node

    # ------------------------------------------------------------------ ops

    def _op(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write an op, and give what it returns."""
        schema = schema_of(func)
        if schema is None:
            raise self._refuse(f"the higher-order call {func}")
        if func is DEVICE:
            return args[0].fake_device
        if not self._exact and asks_metadata(func, schema):
            with self.symbols.mode:
                return func(*args, **kwargs)
        if func in _DETACH and self._exact and self._count and args[0] is self._wanted:
            return args[0]  # functions that make tensors detach them
        if func is _ATEN.lift_fresh.default:
            func = _ATEN.lift_fresh_copy.default  # else the constant itself would be handed out
        self._count += 1
        if self._exact and self._count > 1:
            raise _SeveralOps
        if self.outer is not None or self.copying:
            self._need_allowed(func, schema, args, kwargs)
        named = {k: self.node_arg(a) for k, a in kwargs.items()}
        name = schema.name.rpartition(":")[2]
        node = self.fx.create_node("call_function", func, self.node_arg(args), named, name)
        node.meta.update(self.meta)
        if self._exact:
            out = self._answer(schema)
        else:
            out = self._computed(func, schema, args, kwargs)
            found = compute_unbacked_bindings(self.symbols.shape_env, out)
            if found:
                node.meta["unbacked_bindings"] = found
        self._take(func, node, out)
        return out

    def _need_allowed(self, func: Any, schema: Any, args: Any, kwargs: Any) -> None:
        """Refuse an op that a branch or a loop of torch cannot have, or that cannot follow one."""
        if self.is_repeated and torch.Tag.nondeterministic_seeded in func.tags:
            raise self._refuse("random numbers in a loop whose test is made twice")
        if schema.is_mutable:
            for written in written_by(schema, args, kwargs):
                node = self.node_arg(written) if isinstance(written, torch.Tensor) else None
                self.need_own(node, INPLACE_VIEW in func.tags)

    def need_own(self, node: fx.Node | None, is_reshaped: bool = False) -> None:
        """Refuse a change of memory that is, or may be, that of a tensor elsewhere: of one around
        this graph, or of one that a branch gave a copy of.
        """
        root = None if node is None else memory_of(node)
        if self.outer is not None and (root is None or root.op == "placeholder"):
            changed = None if is_reshaped else self.changed
            if root is None or changed is None or not changed.take(root):
                raise self._refuse(
                    "a branch or loop that changes a tensor from outside of it",
                    fix="return the new value",
                )
            root = changed.copies[root]
        copied = root is None or any(root in roots for roots in self.copying.values())
        if copied or (root is not None and root.args and root.args[0] in self.copying):
            raise self._refuse(
                "a change of a tensor after a branch that may return the same memory",
                why="the results of a branch are copies in a program of torch",
            )

    def _take(self, func: Any, node: fx.Node, out: Any) -> None:
        """Note the results of an op."""
        node.meta["val"] = out
        if isinstance(out, torch.Tensor):
            self.note(out, node)
        elif type(out) in (tuple, list):
            for i, part in enumerate(out):
                if isinstance(part, torch.Tensor | tuple | list):
                    self._take(func, self.emit(operator.getitem, (node, i), part), part)
                elif part is not None:
                    raise self._refuse(f"a {type(part).__name__} among the results of {func}")
        elif out is not None and type(out) not in (int, bool, float):
            self.numbers.made[out.node.expr] = node

    def _answer(self, schema: Any) -> Any:
        """What the graph has for the results of an op of this schema."""
        wanted, kinds = self._wanted, [str(r.type) for r in schema.returns]
        if len(kinds) < 2:
            return _as_kind(kinds[0], wanted) if kinds else None
        if type(wanted) is not tuple or len(wanted) != len(kinds):
            raise _SeveralOps
        return tuple(map(_as_kind, kinds, wanted))

    def _computed(self, func: Any, schema: Any, args: Any, kwargs: Any) -> Any:
        """What torch's fake kernel gives; an op that changes data alone returns its operand."""
        if schema.is_mutable:
            written = written_by(schema, args, kwargs)
            if INPLACE_VIEW not in func.tags:
                if not schema.returns:
                    return None
                fits = len(written) == len(schema.returns)
                if fits and all(isinstance(w, torch.Tensor) for w in written):
                    return written[0] if len(written) == 1 else tuple(written)
            self._keep_vals(written)
        mode = self.symbols.mode
        with mode:
            out = func(*args, **kwargs)
        if isinstance(out, torch.Tensor) and id(out) in self.nodes and not schema.is_mutable:
            with mode:
                out = out.view_as(out)
        return out

    def _keep_vals(self, written: list[Any]) -> None:
        """Give the nodes of fake tensors that an op may resize a `val` that stays as it is."""
        for fake in written:
            if isinstance(fake, torch.Tensor):
                size, stride, device = list(fake.shape), list(fake.stride()), fake.device
                copy = self.fakes.make(size, stride, fake.dtype, device, own=True)
                for node in self.fx.nodes:
                    if node.meta.get("val") is fake:
                        node.meta["val"] = copy

    # ------------------------------------------------------------------ calls

    def prepare(self, step: Node) -> None:
        """Make the results of a call."""
        self._results[step] = self.fakes.pattern(step.outs)

    def results(self, step: Node) -> Any:
        """The results of a call as fake tensors, which nothing is computed for."""
        return self._results[step]

    def write(self, step: Node, op: Any) -> None:
        """Write a call of ours as an op with the same arguments."""
        wanted = self.results(step)
        kwargs = {k: self.node_arg(self.arg(a)) for k, a in step.kwargs.items()}
        node = self.emit(op, self.node_arg(self.arg(step.args)), wanted, **kwargs)
        self.note(wanted, node)
        self.bind(step.outs, wanted)

    def call(self, step: Node, func: Any, args: Any, kwargs: Any) -> None:
        """Write a call of ours, given over fake tensors."""
        self._node = step
        wanted = self.results(step)
        key = (func, len(args), *kwargs, *map(type, args))
        if (
            wanted is not None
            and key not in self._several
            and self._try(step, wanted, args, kwargs)
        ):
            return
        self._several.add(key)
        first = self._last()
        made = self.computed(step, lambda: func(*args, **kwargs))
        self.bind(step.outs, self._known(wanted, made, first))

    def computed(self, step: Node, call: Callable[[], Any]) -> Any:
        """Write all ops that `call` makes, with the results that torch's fake kernels give."""
        self._node, self._wanted, self._exact, self._count = step, None, False, 0
        count = len(self.symbols.shape_env.replacements)
        try:
            made = call()
        except UnsupportedError:
            raise
        except Exception as e:
            why = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
            raise self._refuse(f"{op_name(step.func)}, which is more than one op", why) from e
        for symbol, value in [*self.symbols.shape_env.replacements.items()][count:]:
            if value.is_number:
                why = f"torch's kernel for fake tensors serves nothing but {symbol} == {value}"
                raise self._refuse(f"{op_name(step.func)} at all sizes", why)
        return made

    def _try(self, step: Node, wanted: Any, args: Any, kwargs: Any) -> bool:
        """Write a call as one op; False if it is none."""
        self._wanted, self._exact, self._count = wanted, True, 0
        last, numbers, lifted = self._last(), len(self.numbers.made), len(self.lifted)
        last_constant = self.last_constant
        try:
            made = step.func(*args, **kwargs)
            if self._count == 1 or (not self._count and id(made) in self.nodes):
                self.bind(step.outs, made)
                return True
        except UnsupportedError:
            raise
        except Exception:
            pass
        fixed = self.changed.fixed if self.changed else ()
        for gone in [*reversed(self.fx.nodes)]:
            if gone is last or gone.op == "placeholder":
                break
            if gone not in fixed:
                self.fx.erase_node(gone)
        self.numbers.forget(numbers)
        for node in [*self.lifted][lifted:]:
            self.fx.erase_node(node)
            self.nodes.pop(id(self.lifted.pop(node)))
        self.last_constant = last_constant
        return False

    def _last(self) -> fx.Node | None:
        return next(iter(reversed(self.fx.nodes)), None)

    def _known(self, wanted: Any, made: Any, first: fx.Node | None) -> Any:
        """The results of fake kernels as our metadata describes them, which knows more."""
        if isinstance(made, torch.Tensor) and isinstance(wanted, torch.Tensor):
            node = self.nodes.get(id(made))
            if node is None or len(made.shape) != len(wanted.shape):
                return made
            if first is not None and not first < node:
                return made
            node.meta["val"] = wanted
            node.meta.pop("unbacked_bindings", None)  # of the sizes that torch has named
            self.note(wanted, node)
            return wanted
        if type(wanted) is tuple and isinstance(made, tuple | list):
            return [self._known(w, m, first) for w, m in zip(wanted, made, strict=True)]
        return made

    def _refuse(self, what: str, why: str = "", fix: str = "") -> UnsupportedError:
        return refuse(what, self._node, why, fix)


def _as_kind(kind: str, wanted: Any) -> Any:
    """A result that the graph has, as a return of this type."""
    if kind == "Tensor" and isinstance(wanted, torch.Tensor):
        return wanted
    is_list = kind == "List[Tensor]" and type(wanted) is tuple
    if is_list and all(isinstance(w, torch.Tensor) for w in wanted):
        return list(wanted)
    raise _SeveralOps


def sizes_in(outs: Any) -> list[Name]:
    """The names that a call gives values to."""
    return [x for x in leaves(outs) if type(x) is Name]
