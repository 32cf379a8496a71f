"""The graph: a traced program as a list of calls on values.

A `Value` is a tensor: an input, a constant (a parameter, a buffer, a tensor from outside), or an
output of a node. A `Node` is one call of a torch function; its arguments hold values, symbolic
numbers and plain Python objects. Its `outs` is a pattern: a value, the name of a symbol that the
call defines, None for an unused result, or a tuple of patterns. Nodes are in the order of
execution, mutations included, so that running them again does the same to the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.errors import AnyshapeError
from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyshape.env import Fact
    from anyshape.env.site import Site
    from anyshape.tensor.meta import Meta
    from anyshape.trace.graph.call_signature import CallSignature
    from anyshape.trace.graph.module_call import ModuleCall

INPUT: Final = "input"
CONSTANT: Final = "constant"
RESULT: Final = "result"
_PREFIX: Final = {INPUT: "i", CONSTANT: "c", RESULT: "v"}
_NONE: Final[dict[str, Any]] = {}
_CONTAINERS: Final = (tuple, list, dict, slice)
SYMBOLIC: Final = (SymInt, SymBool, SymFloat, NumpyInt, NumpyBool)


class Value:
    """A tensor of the graph: its number among its kind, and its metadata when it was made.

    `root` is the value whose memory it is a view of, or itself; `version` of a root is the epoch of
    the last mutation of that memory. `name` is an identifier for the text of programs, if it has
    one; `repr` is the number, which is unique in the graph.
    """

    __slots__ = ("index", "kind", "meta", "name", "node", "root", "version")

    def __init__(self, index: int, kind: str, meta: Meta, node: Node | None = None) -> None:
        self.index = index
        self.kind = kind
        self.meta = meta
        self.node = node
        self.name: str | None = None
        self.root = self
        self.version = 0

    def __str__(self) -> str:
        return self.name or repr(self)

    def __repr__(self) -> str:
        return f"{_PREFIX[self.kind]}{self.index}"


class Name(str):
    """The name of a symbol or of an object, as an output of a node."""

    __slots__ = ()


GIVEN: Final = "given_"  # the names of objects that a call gives
MADE: Final = "made_"  # the names of objects that a program makes


def names_object(name: str) -> bool:
    """Whether a name is that of an object, and not of a number."""
    return name.startswith((GIVEN, MADE))


class Follows(NamedTuple):
    """The last runtime assert that was recorded before a call."""

    fact: Fact | None


class Node:
    """One call. `epoch` is the number of events before it after which equal calls may give other
    values: mutations, and changes of autocast and of the default dtype, in the whole graph.
    `follows` is for calls that change something outside. `module_call` is the innermost call of a
    module that it is part of.
    """

    __slots__ = ("args", "epoch", "follows", "func", "kwargs", "module_call", "outs", "site")

    def __init__(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        site: Site | None,
        epoch: int,
        module_call: ModuleCall | None = None,
    ) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.site = site
        self.epoch = epoch
        self.module_call = module_call
        self.outs: Any = None
        self.follows: Follows | None = None

    @property
    def module_path(self) -> str | None:
        """The qualified name of the innermost module that it is part of; None if there is none."""
        return None if self.module_call is None else self.module_call.path

    @property
    def module_stack(self) -> tuple[ModuleCall, ...]:
        """The calls of modules that it is part of, the outermost first."""
        return () if self.module_call is None else self.module_call.stack

    def __repr__(self) -> str:
        words = [show(a) for a in self.args]
        words += [f"{k}={show(a)}" for k, a in self.kwargs.items()]
        call = f"{op_name(self.func)}({', '.join(words)})"
        return call if self.outs is None else f"{show(self.outs)} = {call}"


class Graph:
    """The nodes in order, the inputs, the constants with their tensors, and the outputs.

    `signatures` are those of calls of modules that were asked for, in the order of their returns.
    """

    __slots__ = ("constants", "inputs", "nodes", "outputs", "signatures")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.constants: list[tuple[Value, torch.Tensor]] = []
        self.outputs: list[Any] = []
        self.signatures: list[CallSignature] = []

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Graph:
        """The same graph over other constants, which are given by the ids of those here."""
        graph = Graph()
        graph.nodes, graph.inputs, graph.outputs = self.nodes, self.inputs, self.outputs
        graph.constants = [(value, tensors.get(id(t), t)) for value, t in self.constants]
        graph.signatures = self.signatures
        return graph

    def verify(self) -> None:
        """Raise if a value is used before it is defined, defined twice, or of another graph."""
        known: set[Any] = {*self.inputs, *[value for value, _ in self.constants]}
        names: set[str] = set()
        for node in self.nodes:
            for used in values_in(node.args, node.kwargs):
                if used not in known:
                    raise AnyshapeError(f"{node} uses {used}, which is not defined yet")
            outs = node.outs
            for made in (outs,) if type(outs) is Value else leaves(outs):
                if type(made) is Value:
                    if made in known or made.node is not node:
                        raise AnyshapeError(f"{node} defines {made}, which is already defined")
                    known.add(made)
                elif type(made) is Name:
                    if made in names:
                        raise AnyshapeError(f"{node} defines {made}, which is already defined")
                    names.add(made)
        given = [s.inputs + s.outputs for s in self.signatures]
        for leaf in leaves([self.outputs, *given]):
            if type(leaf) is Value and leaf not in known:
                raise AnyshapeError(f"the output {leaf} is not defined in the graph")

    def __repr__(self) -> str:
        return f"<Graph: {len(self.nodes)} calls>"

    def __str__(self) -> str:
        lines = [f"{value}: {value.meta} = input" for value in self.inputs]
        lines += [f"{value}: {value.meta} = constant" for value, _ in self.constants]
        for node in self.nodes:
            metas = ", ".join(f"{v.meta}" for v in leaves(node.outs) if type(v) is Value)
            line = f"{node}" + (f"  -> {metas}" if metas else "")
            lines.append(line + (f"  # {node.site}" if node.site else ""))
        lines.append(f"return {show(self.outputs)}")
        return "\n".join(lines)


def values_in(args: Any, kwargs: dict[str, Any]) -> list[Value]:
    """The values among the arguments of a node."""
    found = []
    for a in args:
        kind = type(a)
        if kind is Value:
            found.append(a)
        elif kind is tuple or kind is list:
            found += values_in(a, _NONE)
        elif kind is slice:
            found += values_in((a.start, a.stop, a.step), _NONE)
        elif kind is dict:
            found += values_in(a.values(), _NONE)
    if kwargs:
        found += values_in(kwargs.values(), _NONE)
    return found


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of nested arguments."""
    kind = type(tree)
    if kind is tuple or kind is list:
        for part in tree:
            if type(part) in _CONTAINERS:
                yield from leaves(part)
            else:
                yield part
    elif kind is dict:
        for part in tree.values():
            yield from leaves(part)
    elif kind is slice:
        yield from leaves((tree.start, tree.stop, tree.step))
    else:
        yield tree


def place_of(n: SymInt, outs: Any) -> tuple[Value, int] | None:
    """The result and the dimension where a size stands."""
    for value in leaves(outs):
        if type(value) is Value:
            for dim, m in enumerate(value.meta.shape):
                if type(m) is SymInt and m.expr is n.expr:
                    return value, dim
    return None


def operand_of(number: Any) -> Any:
    """The expression, condition or real behind a symbolic number."""
    kind = type(number)
    if kind is SymInt or kind is NumpyInt:
        return number.expr
    return number.value if kind is SymFloat else number.condition


def op_name(func: Any) -> str:
    """The name of a function as users write it."""
    name = getattr(func, "__name__", None) or str(func)
    owner = getattr(func, "__objclass__", None)
    if owner is not None or getattr(torch.Tensor, name, None) is func:
        return f"Tensor.{name}"
    return name


def show(a: Any) -> str:
    """An argument or a pattern as text."""
    kind = type(a)
    if kind is Value or kind in SYMBOLIC:
        return str(a)
    if kind is Name:
        return str.__str__(a)
    if kind is list:
        return f"[{', '.join(map(show, a))}]"
    if kind is tuple:
        return f"({', '.join(map(show, a))}{',' if len(a) == 1 else ''})"
    if kind is dict:
        return f"{{{', '.join(f'{k!r}: {show(v)}' for k, v in a.items())}}}"
    if kind is slice:
        parts = ["" if p is None else show(p) for p in (a.start, a.stop, a.step)]
        return ":".join(parts if parts[2] else parts[:2])
    return "..." if a is Ellipsis else repr(a)
