"""What `torch.export.ExportedProgram` holds beyond its public interface.

Without it, the sizes in torch's programs, their names, their ranges and the modules of their nodes
could not be read. Nothing is imported here: who has such a program has imported torch's modules.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.export import ExportedProgram
    from torch.fx import GraphModule

GUARDS: Final = "_guards_fn"
"""The submodule that checks the inputs, which `module()` makes where there are example inputs."""

NO_MODULE: Final = "_empty_nn_module_stack_from_metadata_hook"
"""The key of a module stack that is not known."""

LEVELS: Final = "torch._functorch.predispatch"
"""The module of the calls that begin and end a level of `torch.func` in a graph."""


class SymbolicSize(NamedTuple):
    """A size or number over torch's symbols: its text, the symbols, its value in the example."""

    text: str
    symbols: tuple[str, ...]
    hint: int | None
    expression: Any

    def value(self, values: dict[str, int]) -> int:
        """The size, for values of its symbols."""
        given = {s: values[s.name] for s in self.expression.free_symbols}
        return int(self.expression.subs(given))


def symbolic_size(size: Any) -> SymbolicSize | None:
    """What a `torch.SymInt` of a program stands for; None for one that is a constant."""
    node = size.node
    expression = node.expr
    if expression.is_number:
        return None
    names = tuple(sorted(s.name for s in expression.free_symbols))
    hint = node.hint if node.has_hint() else None
    return SymbolicSize(str(expression), names, hint, expression)


def ranges_of(program: ExportedProgram) -> dict[str, tuple[int | None, int | None]]:
    """The bounds of symbols and of expressions of them, by their text; None for no bound."""
    return {
        str(key): (_finite(found.lower), _finite(found.upper))
        for key, found in program.range_constraints.items()
    }


def _finite(bound: Any) -> int | None:
    return int(bound) if bound.is_Integer else None


def names_of_symbols(values: Iterable[Any]) -> dict[str, str]:
    """How the user calls symbols, where that is known, from the values of the inputs.

    A symbol has the name of its `Dim`. torch keeps it by the text of the source of the symbol; the
    root of a derived dim that is no size itself has its name for a source.
    """
    found: dict[str, str] = {}
    for value in values:
        mode = getattr(value, "fake_mode", None)
        env = getattr(mode, "shape_env", None) or getattr(
            getattr(value, "node", None), "shape_env", None
        )
        if env is None:
            continue
        given = getattr(env, "source_name_to_debug_name", {})
        for symbol, sources in env.var_to_sources.items():
            for source in sources:
                text = source.name if isinstance(source.name, str) else source.name()
                found.setdefault(symbol.name, given.get(text, text))
    return found


def has_levels(program: ExportedProgram) -> bool:
    """Whether the graph transforms ops by calls that begin and end a level of `torch.func`."""
    graphs = [m.graph for m in program.graph_module.modules() if hasattr(m, "graph")]
    return any(
        getattr(node.target, "__module__", None) == LEVELS
        for graph in graphs
        for node in graph.nodes
    )


def without_levels(program: ExportedProgram) -> ExportedProgram:
    """The program with the ops that its transforms give, and no other decomposition.

    torch leaves its transforms begun where it fails; they are ended.
    """
    functorch = torch._C._functorch
    before = functorch.maybe_current_level() or 0
    try:
        made: ExportedProgram = program.run_decompositions({})
        return made
    finally:
        while (functorch.maybe_current_level() or 0) > before:
            functorch.pop_dynamic_layer_stack()


def module_with_guards(
    program: ExportedProgram, example: tuple[tuple[Any, ...], dict[str, Any]]
) -> GraphModule:
    """The program as a module whose graph checks its inputs first.

    torch leaves the checks out where a program has no example inputs, so it gets these.
    """
    if program.example_inputs is None:
        program = copy.copy(program)
        program.example_inputs = example
    return program.module()
