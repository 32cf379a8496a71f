"""Parts compiled once each, and generated Python that calls them in order.

The result is a function of the symbols and tensors of the whole program, like the function that a
compiler makes of the whole graph. A part that is too small to gain from a compiler runs as
generated Python. So does, for a call, a part whose compiled code needs something of numbers that
only the run knows, where that does not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.interop.fx_graph import part_to_fx
from anyshape.interop.regions.chain import Chain, Link
from anyshape.interop.regions.part import NoRegionsError
from anyshape.interop.regions.part_fakes import make_part_fakes, need_layouts
from anyshape.interop.size_guards import TakenGuard, taken_guards
from anyshape.torch_compat.compiled_halves import Halves
from anyshape.trace.argument.inputs import Bind
from anyshape.trace.graph.codegen import Program
from anyshape.trace.graph.graph import CONSTANT, Graph, Name, Value
from anyshape.trace.mode.execution_modes import MODE_CHANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import GraphModule

    from anyshape.interop.fakes import Fakes
    from anyshape.interop.regions.layout import Layouts
    from anyshape.interop.regions.part import Part
    from anyshape.interop.regions.partition import Parts
    from anyshape.interop.size_guards import GuardSorter, KeptGuard
    from anyshape.trace.capture import Captured

    CompileOne = Callable[[GraphModule, Fakes], Callable[..., Any] | Halves]

_PLAIN: Final = 4  # calls of a stretch that is not worth a compiler


class CompiledPart(NamedTuple):
    """The function of a part, and what it needs of sizes, over the symbols of `part`."""

    part: Part
    run: Callable[..., Any] | Halves
    guards: list[TakenGuard]


class _Step(NamedTuple):
    """Neighbouring parts that are called at once, and what must hold there, else they run as
    generated Python. Only links of a chain are many.
    """

    parts: list[Part]
    compiled: CompiledPart | None
    conditions: list[str]
    links: list[Link]


class RegionProgram(NamedTuple):
    """The function of the whole program; the guards over its inputs; a line for each region."""

    run: Callable[..., Any]
    guards: list[KeptGuard]
    described: list[str]


def compile_parts(
    captured: Captured,
    chosen: Parts,
    outputs: Sequence[Any],
    fakes: Fakes,
    hints: dict[str, Any],
    layouts: Layouts,
    sorter: GuardSorter,
    compile_one: CompileOne,
) -> RegionProgram:
    """Compile each part once, by its key. Raises `NoRegionsError` if torch would cut otherwise."""
    groups: dict[str, list[Part]] = {}
    known = {bind.name for bind in captured.inputs.binds}
    for part in chosen.parts:
        groups.setdefault(part.key, []).append(part)
        if not known.issuperset(part.symbols):
            raise NoRegionsError("a size is known to no call before it is needed")
        known.update(leaf for leaf in part.outs if type(leaf) is Name)
    modules: dict[str, tuple[GraphModule, Fakes]] = {}
    env = captured.tracer.env
    for key, parts in groups.items():
        first = parts[0]
        if key in chosen.regions or not _is_small(first):
            grads = [
                any(layouts.requires_grad(v) for v in values)
                for values in zip(*[p.ins for p in parts], strict=True)
            ]
            made = make_part_fakes(first, env, hints, layouts, grads)
            module = part_to_fx(
                list(first.nodes), first.symbols, first.fixed, first.ins, first.outs
            )
            need_layouts(first, module, made, layouts)
            modules[key] = module, make_part_fakes(first, env, hints, layouts, grads)
    compiled = {
        key: CompiledPart(groups[key][0], compile_one(module, made), taken_guards(made))
        for key, (module, made) in modules.items()
    }
    writer = _Writer(captured, fakes, sorter)
    for part in chosen.parts:
        writer.add(part, compiled.get(part.key))
    described = [
        f"{len(groups[key])} calls of {name.rpartition('.')[2]} with {len(groups[key][0].nodes)}"
        " ops each, lowered once"
        for key, name in chosen.regions.items()
    ]
    return RegionProgram(writer.function(outputs), writer.kept, described)


def _is_small(part: Part) -> bool:
    """Whether a stretch runs as generated Python: it is short, or nothing of it is needed."""
    if any(node.func in MODE_CHANGES for node in part.nodes):
        return False
    return len(part.nodes) <= _PLAIN or not part.outs


def plain_function(part: Part) -> Callable[[list[Any]], list[Any]]:
    """The generated Python of a part: a function of the list of its symbols and tensors."""
    graph = Graph()
    graph.nodes, graph.inputs, graph.outputs = list(part.nodes), part.ins, list(part.outs)
    names = [*part.fixed, *part.symbols]
    binds = [Bind(name, i, None) for i, name in enumerate(names)]
    slots = {v: len(names) + i for i, v in enumerate(part.ins)}
    program = Program(graph, binds, slots)
    program.write([])
    return program.function()


class _Writer:
    """Writes the function that calls the parts."""

    def __init__(self, captured: Captured, fakes: Fakes, sorter: GuardSorter) -> None:
        self._bound = {bind.name for bind in captured.inputs.binds}
        self._sorter = sorter
        self._fakes = fakes
        self.kept: list[KeptGuard] = []
        self._scope: dict[str, Any] = {"Where": lambda test, a, b: a if test else b}
        self._scope.update({repr(v): t for v, t in captured.graph.constants})
        tensors = [repr(leaf.value) for leaf in captured.inputs.leaves if leaf.value is not None]
        names = [bind.name for bind in captured.inputs.binds if bind.name not in fakes.fixed]
        self._head = f"def run({', '.join(names + tensors)}):"
        self._steps: list[_Step] = []

    def add(self, part: Part, compiled: CompiledPart | None) -> None:
        """Add a call of a part. Neighbours that are compiled in halves are called at once."""
        conditions = [] if compiled is None else self._conditions(part, compiled)
        links = []
        if compiled is not None and isinstance(compiled.run, Halves):
            links = [Link(part, compiled.run)]
            before = self._steps[-1] if self._steps else None
            if before is not None and before.links and not (conditions or before.conditions):
                before.parts.append(part)
                before.links.extend(links)
                return
        self._steps.append(_Step([part], compiled, conditions, links))

    def _call(self, number: int, step: _Step, needed: set[Value]) -> tuple[list[str], list[Value]]:
        """The lines of a step, and the values that they use; `needed` are those used later."""
        part = step.parts[0]
        ins: list[Value | str] = [*part.symbols, *part.ins]
        outs = part.outs
        run: Any = None
        if step.links:
            chain = Chain(step.links, needed)
            run, ins, outs = chain.function(), chain.ins, chain.outs
        elif step.compiled is not None:
            run = step.compiled.run
        lines = [f"{_targets(outs)}part{number}({', '.join(map(_variable, ins))})"]
        self._scope[f"part{number}"] = run
        if step.compiled is None or step.conditions:
            self._scope[f"plain{number}"] = plain_function(part)
            given = [*[str(n) for n in part.fixed.values()], *part.symbols, *map(repr, part.ins)]
            plain = f"{_targets(part.outs)}plain{number}([{', '.join(given)}])"
            test = " and ".join([f"({text})" for text in step.conditions])
            lines = [f"if {test}:", f"    {lines[0]}", "else:", f"    {plain}"] if test else [plain]
        return lines, [v for v in (*ins, *outs) if type(v) is Value]

    def _conditions(self, part: Part, compiled: CompiledPart) -> list[str]:
        """What must hold where the part is called; guards over the inputs of the program alone are
        checked before it runs.
        """
        here = dict(zip(compiled.part.symbols, part.symbols, strict=True))
        renamed = [
            guard._replace(names={theirs: here[ours] for theirs, ours in guard.names.items()})
            for guard in compiled.guards
        ]
        kept = self._sorter.kept(renamed)
        self.kept += [guard for guard in kept if guard.names <= self._bound]
        late = [guard for guard in kept if not guard.names <= self._bound]
        return [guard.text for guard in late]

    def function(self, outputs: Sequence[Any]) -> Callable[..., Any]:
        """The function; what is not needed any more is freed."""
        needed = {leaf for leaf in outputs if type(leaf) is Value}
        blocks: list[list[str]] = []
        for number, step in reversed(list(enumerate(self._steps))):
            lines, used = self._call(number, step, needed)
            new = [v for v in dict.fromkeys(used) if v not in needed]
            dead = [repr(v) for v in new if v.kind != CONSTANT]
            blocks.append([*lines, f"del {', '.join(dead)}"] if dead else lines)
            needed.update(new)
        lines = [f"{name} = {n}" for name, n in self._fakes.fixed.items()]
        for block in reversed(blocks):
            lines += block
        lines.append(f"return [{', '.join(map(_variable, outputs))}]")
        exec("\n    ".join([self._head, *lines]), self._scope)  # our own text
        made: Callable[..., Any] = self._scope["run"]
        return made


def _variable(leaf: Value | str) -> str:
    return repr(leaf) if type(leaf) is Value else str(leaf)


def _targets(leaves: Sequence[Value | Name]) -> str:
    """The left side of an assignment."""
    names = "".join([f"{_variable(leaf)}, " for leaf in leaves])
    return f"{names.rstrip()} = " if names else ""
