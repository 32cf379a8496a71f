"""`Body`: a function that a higher-order call gets, as a program of its own.

Its parameters are values and names of the graph around it: first those that the call gives anew on
every round, then what the body uses from around it. The names are the same inside and outside, and
whatever the body makes has a number of its own, so bodies nest.

A body changes nothing but what it made, and returns new memory only: a result that is, or is a view
of, something from around it is copied, and so is a result that shares memory with another one. The
body of a call that hands its operands on as they are may change its parameters and return views of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.scope import Scope
from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.expr.node import Expr
from anyshape.expr.traverse import names_of
from anyshape.refusal import refused
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymTensor, make
from anyshape.trace import tree
from anyshape.trace.argument.inputs import Bind
from anyshape.trace.aside import aside
from anyshape.trace.graph.codegen import Program
from anyshape.trace.graph.graph import (
    RESULT,
    SYMBOLIC,
    Graph,
    Name,
    Node,
    Value,
    leaves,
    operand_of,
    values_in,
)
from anyshape.trace.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anyshape.env import Env, Obligation
    from anyshape.tensor.meta import Meta
    from anyshape.trace.tracer import Tracer

_NUMBERS: Final = (int, float, bool, type(None), SymInt, SymFloat, SymBool)


class Body:
    """A traced function; `body(values)` runs it on the list of the values of its parameters."""

    __slots__ = ("_program", "_run", "asserts", "graph", "parameters")

    def __init__(
        self, graph: Graph, parameters: Sequence[Value | Name], asserts: list[Obligation]
    ) -> None:
        self.graph = graph
        self.parameters = list(parameters)
        self.asserts = asserts
        self._program: Program | None = None
        self._run: Callable[[list[Any]], list[Any]] | None = None

    @property
    def program(self) -> Program:
        """The generated code."""
        if self._program is None:
            slots = {v: i for i, v in enumerate(self.parameters) if type(v) is Value}
            binds = [
                Bind(str(v), i, None) for i, v in enumerate(self.parameters) if type(v) is Name
            ]
            self._program = Program(self.graph, binds, slots)
            self._program.write(self.asserts)
        return self._program

    def compile(self) -> Callable[[list[Any]], list[Any]]:
        """The generated code as a function; compiled once."""
        if self._run is None:
            self._run = self.program.function()
        return self._run

    def __call__(self, values: list[Any]) -> list[Any]:
        """Run it."""
        return (self._run or self.compile())(values)

    def given(self) -> list[Value]:
        """The parameters that the call gives anew on every round."""
        values = [x for x in self.parameters if type(x) is Value]
        return [x for x in values if x.node is not None and x.node.func is parameter]

    def __repr__(self) -> str:
        return f"<body of {len(self.graph.nodes)} calls>"


class Traced(NamedTuple):
    """A traced body, what it takes from around it, and what it returned, flat."""

    body: Body
    captures: list[Any]
    results: list[Any]
    spec: Any


def trace_body(
    tracer: Tracer,
    name: str,
    call: Callable[[], Any],
    parameters: Sequence[Any] = (),
    check: Callable[[list[Any]], None] | None = None,
    hands_on: bool = False,
) -> Traced:
    """Trace `call`, which uses `parameters`: tensors and symbols that `parameter` has made.

    It may run any number of times: nothing that is learnt in it holds outside. `check` is called
    inside with the results. If it `hands_on`, parameters are the operands themselves.
    """
    env, memo, epoch = tracer.env, tracer.memo, tracer.epoch
    effects, deviations = tracer.recorder.effects, len(tracer.deviations)
    tracer.sync_modes()
    tracer.memo = dict(memo)
    tracer.bodies += 1
    scope = Scope(env)
    start = len(tracer.graph.nodes)
    try:
        with scope, aside(tracer) as nodes:
            flat, spec = tree.flatten(call())
            handed = {id(value_of(p)) for p in parameters} if hands_on else set()
            results = _own(tracer, name, flat, start, handed)
            if check is not None:
                check(results)
    finally:
        foreign = {key: x for key, x in tracer.memo.items() if _is_foreign(key)}
        tracer.memo = memo
        memo.update(foreign)
        tracer.bodies -= 1
    if tracer.recorder.effects != effects:
        raise refused(
            UnsupportedError,
            f"a function that {name} calls changes something outside of it",
            fix="return what it computes",
            code="AS116",
        )
    if len(tracer.deviations) != deviations:
        del tracer.deviations[deviations:]
        raise refused(
            UnsupportedError,
            f"a function that {name} calls differs from eager execution at some sizes",
            code="AS116",
        )
    graph = Graph()
    graph.nodes = nodes
    graph.outputs = Scan(tracer).freeze(results)
    asserts = env._listed(scope.facts)
    taken = free_in(graph, asserts)
    own = [value_of(p) for p in parameters]
    changeable = own if hands_on else []
    _need_unchanged(name, [x for x in (*own, *taken) if x not in changeable], epoch)
    taken = [x for x in taken if x not in own]
    body = Body(graph, [*own, *taken], asserts)
    graph.inputs = [x for x in body.parameters if type(x) is Value]
    graph.verify()
    return Traced(body, [_outside(env, x) for x in taken], results, spec)


def _own(tracer: Tracer, name: str, flat: Iterable[Any], start: int, handed: set[int]) -> list[Any]:
    """The results of a body whose nodes begin at `start`, with memory of their own, or of the
    values that are `handed` on.
    """
    nodes = tracer.graph.nodes[start:]
    made = {id(x) for node in nodes for x in leaves(node.outs) if type(x) is Value}
    results: list[Any] = []
    for x in flat:
        found: Any = x
        if isinstance(x, torch.Tensor):
            is_own = type(x) is SymTensor and x._tracer is tracer and id(x._value.root) in made
            is_handed = type(x) is SymTensor and id(x._value.root) in handed
            found = x if is_own or is_handed else tracer.call(torch.clone, (x,), {})
            made.discard(id(found._value.root))
        elif type(x) not in _NUMBERS:
            raise refused(
                UnsupportedError,
                f"a function that {name} calls returns a {type(x).__name__}",
                fix="return tensors and numbers in tuples, lists and dicts",
                code="AS116",
            )
        results.append(found)
    return results


def _need_unchanged(name: str, outer: Iterable[Any], epoch: int) -> None:
    """Raise if a body has changed a tensor that it did not make."""
    if any(type(x) is Value and x.root.version > epoch for x in outer):
        raise refused(
            UnsupportedError,
            f"a function that {name} calls changes a tensor from outside of it",
            fix="return the new value",
            code="AS116",
        )


# ---------------------------------------------------------------------- what a body takes


def parameter(tracer: Tracer, meta: Meta) -> SymTensor:
    """A tensor that a call gives a body on every round."""
    node = Node(parameter, (), {}, None, tracer.epoch)
    node.outs = value = Value(tracer.next_result(), RESULT, meta, node)
    tracer.note(meta)
    return make(meta, value, tracer)


def number_parameter(tracer: Tracer, source: str = "") -> SymInt:
    """An integer that a call gives a body on every round."""
    return SymInt(tracer.env.unbacked(source=source), tracer.env)


def value_of(p: Any) -> Value | Name:
    """What stands for a parameter in the graph."""
    return p._value if type(p) is SymTensor else Name(str(p.expr))


def free_in(graph: Graph, asserts: Sequence[Obligation]) -> list[Value | Name]:
    """The values and the names that a graph uses and does not define, in the order of their use."""
    known: set[Any] = set()
    found: dict[Any, None] = {}

    def use(args: Any, kwargs: dict[str, Any]) -> None:
        for value in values_in(args, kwargs):
            if value not in known:
                found[value] = None
        for leaf in leaves((args, kwargs)):
            if type(leaf) is Name and leaf not in known:
                found[leaf] = None
            elif type(leaf) in SYMBOLIC:
                need(operand_of(leaf))

    def need(operand: Any) -> None:
        for name in names_of(operand):
            if name not in known:
                found[Name(name)] = None

    for node in graph.nodes:
        use(node.args, node.kwargs)
        known.update([leaf for leaf in leaves(node.outs) if leaf is not None])
    use(graph.outputs, {})
    for o in asserts:
        need(o.condition)
    return list(found)


def _outside(env: Env, x: Value | Name) -> Any:
    """A free value or name of a body, as an argument of the call around it."""
    if type(x) is Value:
        return x
    found: Any = env.pool.by_name.get(str(x))
    if found is None:  # an object that the program has made
        return x
    return SymInt(found, env) if type(found) is Expr else SymFloat(found, env)


def _is_foreign(key: Any) -> bool:
    return type(key) is tuple and len(key) == 2 and key[1] == "foreign"


def undecided_in_body(question: str) -> DataDependentError:
    """The error for a question inside a body that only the run can answer."""
    return refused(
        DataDependentError,
        f"cannot decide {question} inside a function that a higher-order call gets",
        why="it is known only when the program runs",
        fix="use torch.cond or torch.where, which do not branch in Python",
    )
