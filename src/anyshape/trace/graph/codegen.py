"""Generated Python: the graph as straight-line code that calls torch and frees dead values.

Inputs are one flat list. Sizes are read from the inputs first; guards are a separate function; an
assert runs as soon as its last symbol is known.

When an assert fails, the first recorded condition that fails is reported, in the order of the
program. If that depends on a symbol that is not known yet, `failed` keeps the assert, and the
program runs on until the symbol is known, as eager execution would have done.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import math
import re
import weakref
from bisect import bisect_right
from importlib import import_module
from keyword import iskeyword
from operator import itemgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.fact import BY_RULE, ERRORS
from anyshape.env.failure import describe_failure
from anyshape.env.obligation import last_unbacked, numbered
from anyshape.errors import RuntimeAssertError
from anyshape.expr.atom import can_raise
from anyshape.expr.boolean import GE, RELATIONS
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.text.python import SCOPE, source
from anyshape.expr.traverse import nodes_below
from anyshape.symbolic.numpy_scalar import scalar_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.graph.assert_order import changes_before
from anyshape.trace.graph.graph import (
    SYMBOLIC,
    Name,
    Node,
    Value,
    leaves,
    op_name,
    operand_of,
    values_in,
)
from anyshape.trace.graph.spelling import OPERATORS, TORCH, path_of, written_method
from anyshape.trace.mode.execution_modes import MODE_CHANGES, WARNING_BLOCKS, keep_modes
from anyshape.trace.record.effect.held import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyshape.env import Fact, Obligation
    from anyshape.trace.argument.inputs import Bind
    from anyshape.trace.graph.graph import Graph

_LITERAL: Final = (int, bool, str, type(None))
_WORD: Final = re.compile(r"\w+")
_INDENT: Final = "    "


class Program:
    """The text of a program and the objects that it names; compiled on first use."""

    def __init__(
        self,
        graph: Graph,
        binds: Sequence[Bind],
        slots: dict[Value, int],
        *,
        restores: bool = True,
    ) -> None:
        self.scope: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._graph = graph
        self._binds = binds
        self._slots = slots
        self._restores = restores  # whether to restore the modes that it changes
        self._made: FunctionType | None = None
        self._asserts: Sequence[Obligation] = ()
        self._bound_from: Program | None = None  # whose lines tracebacks show
        self.text = ""

    @property
    def graph(self) -> Graph:
        """The calls in order."""
        return self._graph

    # ------------------------------------------------------------------ text

    def write(self, asserts: Sequence[Obligation]) -> str:
        """The text of the function `run(flat)`."""
        graph = self._graph
        self._asserts, self._made, self._names = asserts, None, {}
        self.scope = {
            **SCOPE,
            "torch": TORCH,
            "fail": fail,
            "defined": defined,
            "numpy_scalar": numpy_scalar,
        }
        checks = _checks(asserts, {bind.name for bind in self._binds}, graph)
        self.scope["asserts"] = checks.asserts
        last = self._last_uses()
        given = [f"{value} = flat[{self._slots[value]}]" for value in graph.inputs]
        lines = checks.first()
        for value, tensor in graph.constants:
            self.scope[str(value)] = tensor
        restores = False
        for place, node in enumerate(graph.nodes):
            restores |= node.func in MODE_CHANGES or node.func in WARNING_BLOCKS
            lines.append(self._call(node))
            dead = last.get(place)
            if dead:
                lines.append(f"del {', '.join([str(value) for value in dead])}")
            lines += checks.after(place, node)
        lines += checks.last()
        lines.append(f"return [{', '.join(map(self._output, graph.outputs))}]")
        lines = [*given, *_needed(self._binds, lines), *lines]
        if restores and self._restores:
            self.scope["keep_modes"] = keep_modes
            lines = ["with keep_modes():", *(_INDENT + line for line in lines)]
        self.text = f"\n{_INDENT}".join(["def run(flat):", *lines]) + "\n"
        return self.text

    def rewrite(self) -> None:
        """Write the text again, after values have got names."""
        self.write(self._asserts)

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Program:
        """The same code over other constants, which are given by the ids of those here."""
        made = copy.copy(self)
        made._bound_from = self._bound_from or self
        made.scope = {name: tensors.get(id(x), x) for name, x in self.scope.items()}
        made._graph = self._graph.rebound(tensors)
        if self._made is not None:
            made._made = made.scope["run"] = FunctionType(self._made.__code__, made.scope)
        return made

    def function(self) -> Callable[..., Any]:
        """The compiled function."""
        if self._made is None:
            name = f"<anyshape program {id(self):x}>"
            exec(compile(self.text, name, "exec"), self.scope)
            linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
            weakref.finalize(self, linecache.cache.pop, name, None)
            self._made = self.scope["run"]
        return self._made

    def _last_uses(self) -> dict[int, list[Value]]:
        """The values that are dead after each node."""
        kept = {leaf for leaf in leaves(self._graph.outputs) if type(leaf) is Value}
        seen: set[Value] = set()
        result: dict[int, list[Value]] = {}
        for place in reversed(range(len(self._graph.nodes))):
            node = self._graph.nodes[place]
            outs = node.outs
            used = values_in(node.args, node.kwargs)
            used += values_in(outs, {}) if type(outs) is tuple else (outs,)
            for leaf in used:
                if type(leaf) is Value and leaf not in seen:
                    seen.add(leaf)
                    if leaf not in kept and leaf.kind != "constant":
                        result.setdefault(place, []).append(leaf)
        return result

    def _call(self, node: Node) -> str:
        call = self._expression(node)
        outs = node.outs
        if type(outs) is Value:
            return f"{outs} = {call}"
        return call if outs is None else f"{_pattern(outs)} = {call}"

    def _expression(self, node: Node) -> str:
        """The call as a user would write it: an operator, an index, a method or a function."""
        args = node.args
        if node.func is getattr:
            return f"{args[0]}.{args[1]}"
        name = written_method(node.func) if args and type(args[0]) is Value else None
        if name is not None and not node.kwargs:
            sign = OPERATORS.get(name)
            if sign is not None and type(args[1]) is not SymBool:
                return f"{args[0]} {sign} {self._arg(args[1])}"
            if name == "__getitem__":
                return f"{args[0]}[{self._index(args[1])}]"
            if name == "__setitem__":
                return f"{args[0]}[{self._index(args[1])}] = {self._arg(args[2])}"
        function = f"{args[0]}.{name}" if name else self._function(node.func)
        words = [self._arg(a) for a in (args[1:] if name else args)]
        if node.kwargs:
            words += [
                f"**{{{k!r}: {self._arg(a)}}}" if iskeyword(k) else f"{k}={self._arg(a)}"
                for k, a in node.kwargs.items()
            ]
        return f"{function}({', '.join(words)})"

    def _index(self, index: Any) -> str:
        if type(index) is tuple and index:
            return ", ".join(map(self._index, index)) + ("," if len(index) == 1 else "")
        if type(index) is slice:
            parts = [
                "" if p is None else self._arg(p) for p in (index.start, index.stop, index.step)
            ]
            return ":".join(parts if parts[2] else parts[:2])
        return self._arg(index)

    def _function(self, func: Any) -> str:
        name = path_of(func) or self._names.get(func)
        if name is None:
            clean = "".join(c if c.isalnum() else "_" for c in op_name(func))
            name = f"f_{clean}"
            while name in self.scope:
                name += "_"
            self._names[func] = name
            self.scope[name] = func
        return name

    def _output(self, a: Any) -> str:
        """What is returned; a number that stands for one of NumPy's becomes that."""
        if type(a) in SYMBOLIC:
            return number_source(a)
        if type(a) is not Held:
            return self._arg(a)
        name = f"o{len(self.scope)}"
        self.scope[name] = a if a.is_loose else a.object
        return f"{name}.object" if a.is_loose else name

    def _arg(self, a: Any) -> str:
        kind = type(a)
        if kind is Value or kind is Name:
            return str(a)
        if kind in _LITERAL:
            return repr(a)
        if kind in SYMBOLIC:
            return number_source(a)
        if kind is SymSize:
            return f"torch.Size({self._arg(tuple(a))})"
        if kind is tuple:
            return f"({''.join([f'{self._arg(part)}, ' for part in a])})"
        if kind is list:
            return f"[{', '.join(map(self._arg, a))}]"
        if kind is dict:
            return f"{{{', '.join(f'{self._arg(k)}: {self._arg(v)}' for k, v in a.items())}}}"
        if kind is slice:
            return f"slice({self._arg(a.start)}, {self._arg(a.stop)}, {self._arg(a.step)})"
        if kind is float and math.isfinite(a):
            return repr(a)
        if kind in (torch.dtype, torch.memory_format, torch.layout):
            return str(a)
        if a is Ellipsis:
            return "..."
        name = f"o{len(self.scope)}"
        self.scope[name] = a
        return name


def _needed(binds: Sequence[Bind], lines: Sequence[str]) -> list[str]:
    """The lines that bind symbols which other lines have."""
    words = set(_WORD.findall("\n".join(lines)))
    found = []
    for bind in reversed(binds):
        if bind.name in words:
            text = bind.text()
            words.update(_WORD.findall(text))
            found.append(f"{bind.name} = {text}")
    return found[::-1]


def _checks(
    asserts: Sequence[Obligation], bound: set[str], graph: Graph
) -> _Checks | _OrderedChecks:
    """The checks of a graph: in the order of the program where something outside changes between
    two of them.
    """
    changes = changes_before(asserts, graph)
    if changes:
        return _OrderedChecks(asserts, bound, graph, changes)
    return _Checks(asserts, bound, graph)


class _OrderedChecks:
    """The lines of all recorded asserts: each after the changes that the program makes before it,
    and once its symbols are known.

    `changes` has the place of each change, and the number of facts that were recorded before it.
    """

    def __init__(
        self,
        asserts: Sequence[Obligation],
        bound: set[str],
        graph: Graph,
        changes: list[tuple[int, int]],
    ) -> None:
        self.asserts: list[Obligation] = []
        known = _places_of_symbols(bound, graph)
        self._due: dict[int, list[int]] = {}
        last = -1
        for i, (number, o) in enumerate(numbered(asserts)):
            made = bisect_right(changes, number, key=itemgetter(1))
            change = changes[made - 1][0] if made else -1
            last = max(last, known.get(o.symbol, len(graph.nodes) - 1), change)
            self._due.setdefault(last, []).append(i)
            self.asserts.append(o)

    def first(self) -> list[str]:
        """The lines once the inputs are known."""
        return self._lines(-1)

    def after(self, place: int, _node: Node) -> list[str]:
        """The lines after a node."""
        return self._lines(place)

    def last(self) -> list[str]:
        """The lines once all symbols are known."""
        return []

    def _lines(self, place: int) -> list[str]:
        due = self._due.get(place, ())
        return [f"if not {truth(self.asserts[i])}: fail(asserts[{i}], seen=locals())" for i in due]


class _Checks:
    """The lines of the asserts by the name of the last symbol that each needs.

    The symbols in `bound` are known from the start, the others in the order of the graph.
    """

    def __init__(self, asserts: Sequence[Obligation], bound: set[str], graph: Graph) -> None:
        self.asserts = asserts
        self._bound = bound
        self._due: dict[str, list[int]] = {}
        for i, o in enumerate(asserts):
            name = o.symbol
            self._due.setdefault("" if name in bound else name, []).append(i)
        recorded: Sequence[Fact] = next((o.recorded for o in asserts if o.recorded), ())
        needs = [last_unbacked(fact.condition) for fact in recorded]
        self._needs = {"" if name in bound else name for name in needs}
        self._waits = len(self._needs) > 1 and not _is_in_order(needs, bound, graph)

    def first(self) -> list[str]:
        """The lines once the inputs are known."""
        return ["failed = None"] * self._waits + self._lines("")

    def after(self, _place: int, node: Node) -> list[str]:
        """The lines after a node."""
        outs = node.outs
        if type(outs) is Value:
            return []
        names = [leaf for leaf in leaves(outs) if type(leaf) is Name]
        return [line for name in names for line in self._at(name)]

    def _at(self, name: str) -> list[str]:
        """The lines once a symbol is known."""
        again = self._waits and name in self._needs
        return ["if failed: fail(failed, locals(), True)"] * again + self._lines(name)

    def last(self) -> list[str]:
        """The lines once all symbols are known."""
        return ["if failed: fail(failed, locals())"] * self._waits

    def _lines(self, name: str) -> list[str]:
        end = (
            "failed = fail(asserts[{}], locals(), True)"
            if self._waits
            else "fail(asserts[{}], locals())"
        )
        return [
            f"if not {truth(self.asserts[i])}: {end.format(i)}" for i in self._due.pop(name, ())
        ]


def _is_in_order(needs: Sequence[str], bound: set[str], graph: Graph) -> bool:
    """Whether symbols are known in the order in which the facts need them."""
    known = _places_of_symbols(bound, graph)
    places = [known.get(name, len(graph.nodes)) for name in needs]
    return all(a <= b for a, b in itertools.pairwise(places))


def _places_of_symbols(bound: set[str], graph: Graph) -> dict[str, int]:
    """The place of the node that gives each symbol its value; -1 for those of the inputs."""
    known = dict.fromkeys(("", *bound), -1)
    for place, node in enumerate(graph.nodes):
        if type(node.outs) is not Value:
            known.update({str(leaf): place for leaf in leaves(node.outs) if type(leaf) is Name})
    return known


class _SameNames(dict[str, str]):
    """Symbols keep their names in the generated code."""

    def __missing__(self, key: str) -> str:
        return key


SAME: Final = _SameNames()


def _pattern(outs: Any) -> str:
    if type(outs) is tuple:
        return f"({''.join([f'{_pattern(part)}, ' for part in outs])})" if outs else "_"
    return "_" if outs is None else str(outs)


def number_source(x: Any) -> str:
    """The text of a symbolic number that a program returns."""
    text, scalar = source(operand_of(x), SAME), scalar_of(x)
    return f"numpy_scalar({scalar!r}, {text})" if scalar else text


def numpy_scalar(dtype: str, value: float) -> Any:
    """A number as a scalar of NumPy."""
    return getattr(import_module("numpy"), dtype)(value)


def truth(o: Obligation) -> str:
    """The text of a condition; if undefined, as after a division by 0, it is false."""
    condition = o.condition
    if condition.op == GE and condition.expr.width == 1:  # the most frequent form, such as `u >= 0`
        ((atom, k),) = terms(condition.expr).items()
        if atom.op is SYMBOL and k == 1:
            return f"{atom.name} >= {-condition.expr.c}"
    text = source(condition, SAME)
    if condition.op in RELATIONS and all(atom.op is SYMBOL for atom in terms(condition.expr)):
        return text
    return f"defined(lambda: {text})" if any(map(can_raise, nodes_below((condition,)))) else text


def defined(condition: Callable[[], bool]) -> bool:
    """The truth value of a condition; False if it is undefined."""
    try:
        return condition()
    except (ArithmeticError, ValueError):
        return False


def fail(
    o: Obligation,
    values: Mapping[str, Any] | None = None,
    waits: bool = False,
    seen: Mapping[str, Any] | None = None,
) -> Obligation:
    """Raise the error of a runtime assert, a subclass of the error that Python itself would raise.

    `seen` are values for the message. With the values of symbols, the first recorded condition that
    fails is reported. With `waits`, return the assert instead if an earlier condition has a symbol
    whose value is missing.
    """
    if values is not None:
        first, is_open = o.first_failing(values)
        if is_open and waits:
            return o
        o = first
    what, why = describe_failure(o, values or seen or {})
    raise ERRORS.get(o.origin, RuntimeAssertError)(what, why=why, by_rule=o.origin in BY_RULE)


def _no_guard_fails(*_: Any) -> int:
    return -1


def guard_function(guards: Sequence[Obligation], symbols: Sequence[str]) -> Callable[..., int]:
    """A function of the symbols' values: the number of the first guard that fails, or -1."""
    if not guards:
        return _no_guard_fails
    lines = [f"def check({', '.join(symbols)}):"]
    lines += [f" if not {truth(o)}: return {i}" for i, o in enumerate(guards)]
    lines.append(" return -1")
    scope: dict[str, Any] = {**SCOPE, "defined": defined}
    exec("\n".join(lines), scope)  # our own text
    made: Callable[..., int] = scope["check"]
    return made
