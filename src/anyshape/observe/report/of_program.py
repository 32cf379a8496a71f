"""The data of a traced program: its symbols, what it assumes, its graph by module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.env.fact import ORIGINS
from anyshape.observe.report.report_data import ASSERT, DEVIATION, GUARD, SPECIALIZED, one_line
from anyshape.trace.graph.graph import Value, leaves, op_name, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env.obligation import Obligation
    from anyshape.observe.report.report_data import ReportData
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Graph, Node
    from anyshape.trace.graph.module_call import ModuleCall

_NO_MODULE: Final = -1


def add_program(
    report: ReportData,
    title: str,
    captured: Captured,
    parts: Sequence[tuple[str, Graph]],
    *,
    is_path: bool = False,
) -> int:
    """Add a traced program with its graphs; its number. The symbols of a path have the values that
    one run has answered with, which specialize nothing.
    """
    number = len(report.programs)
    env = captured.tracer.env
    for o in captured.guards:
        _obligation(report, number, GUARD, o)
    for o in captured.runtime_asserts:
        _obligation(report, number, ASSERT, o)
    found = {} if is_path else captured.replacements
    always = {name: e.c for name, e in found.items() if e.is_const}
    for name, value in always.items():
        s = env.symbols[name]
        report.condition(
            SPECIALIZED, f"{s.label} is always {value}", s.site, program=number, origin=name
        )
    for d in captured.deviations:
        text = f"{d.op} where {d.env.text(d.condition)}"
        report.condition(DEVIATION, text, d.site, program=number, note=d.about)
    symbols = []
    for name, s in env.symbols.items():
        interval = "" if is_path else (captured.ranges.get(name) or env.range_of(s.expr)).words
        is_one = name in always
        row = {"name": name, "label": one_line(s.label), "kind": s.kind, "hint": _number(s.hint)}
        row |= {
            "range": str(always[name]) if is_one else interval,
            "known_as": one_line(s.known_as),
        }
        symbols.append(row | {"place": report.place(s.site)})
    modules = _Modules()
    inputs = {leaf.value: leaf.name for leaf in captured.inputs.leaves if leaf.value}
    graphs = [_graph(report, modules, part, graph, inputs) for part, graph in parts]
    report.programs.append(
        {"title": title, "symbols": symbols, "graphs": graphs, "modules": modules.rows}
    )
    return number


def _number(hint: Any) -> str:
    return "" if hint is None else str(hint)


def _obligation(report: ReportData, program: int, what: str, o: Obligation) -> None:
    origin = ORIGINS[o.origin] or ""
    if origin == what:
        origin = ""
    report.condition(what, o.text, o.site, program=program, origin=origin, note=o.message)


class _Modules:
    """The calls of modules by number; a call is after the one that it is in."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}

    def number(self, call: ModuleCall | None) -> int:
        """The number of a call; -1 outside of all."""
        if call is None:
            return _NO_MODULE
        known = self._numbers.get(id(call))
        if known is None:
            outer = self.number(call.outer)
            known = self._numbers[id(call)] = len(self.rows)
            kind = call.class_name.rpartition(".")[2]
            row = {"path": call.path or "", "class": kind, "call": call.number, "outer": outer}
            self.rows.append(row)
        return known


def _graph(
    report: ReportData, modules: _Modules, title: str, graph: Graph, names: dict[Value, str]
) -> dict[str, Any]:
    words = {v: f"input {names[v]}" if v in names else "input" for v in graph.inputs}
    inputs = [[str(v), words[v], str(v.meta)] for v in graph.inputs]
    inputs += [[str(v), "constant", str(v.meta)] for v, _ in graph.constants]
    rows = [_node(report, modules, node) for node in graph.nodes]
    return {
        "title": title,
        "inputs": inputs,
        "nodes": rows,
        "outputs": one_line(show(graph.outputs)),
    }


def _node(report: ReportData, modules: _Modules, node: Node) -> list[Any]:
    """A call as its module, its op, its text, the shapes of its results, and its place."""
    metas = ", ".join([str(v.meta) for v in leaves(node.outs) if type(v) is Value])
    module = modules.number(node.module_call)
    return [module, op_name(node.func), one_line(node), metas, report.place(node.site)]
