"""`anyshape explain`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import click

from anyshape.cli.command import command
from anyshape.cli.program_form import load_program
from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.cli.console import Output
    from anyshape.env import Symbol
    from anyshape.export import ExportedProgram
    from anyshape.trace.capture import Captured

_SHOWN: Final = 20  # uses of a symbol


@command("explain")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("symbol", required=False)
def explain(output: Output, file: str, symbol: str | None) -> int:
    """Explain a saved program, or one of its symbols.

    SYMBOL is a name such as u5, or what the symbol is, such as the name of a size or a variable:
    where it comes from, its range, what is assumed of it, and what uses it.
    """
    program = load_program(file)
    found = [] if symbol is None else _symbols(program, symbol)
    text = program.explain() if symbol is None else "\n".join(map(_text, found))
    output.text(text)
    output.result(text=text, symbols=found)
    return 0


def _symbols(program: ExportedProgram, wanted: str) -> list[dict[str, Any]]:
    """The symbols of this name or label, each once in every variant.

    A symbol that lives on after a branch is in several parts of a variant: what the first of them
    knows holds in all.
    """
    known: dict[str, str] = {}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for i, variant in enumerate(program.variants):
        for part in variant.parts:
            for name, s in part.tracer.env.symbols.items():
                known.setdefault(name, s.known_as)
                if wanted in (name, s.known_as):
                    made = _described(i, part, s)
                    first = found.setdefault((i, name, made["label"], made["site"]), made)
                    for told in ("conditions", "uses"):
                        first[told] = list(dict.fromkeys([*first[told], *made[told]]))
    if not found:
        names = [n if n == label else f"{n} ({label})" for n, label in list(known.items())[:50]]
        raise ArgumentError(
            f"{program.name} has no symbol {wanted!r}", fix=f"one of {', '.join(names) or 'none'}"
        )
    return list(found.values())


def _described(number: int, variant: Captured, s: Symbol) -> dict[str, Any]:
    from anyshape.expr.traverse import names_of

    env = variant.tracer.env
    lo, hi = variant.ranges.get(s.name) or env.range_of(s.expr)
    conditions = [
        f"{title}: {o.describe()}"
        for title, listed in (("guard", variant.guards), ("assert", variant.runtime_asserts))
        for o in listed
        if s.name in names_of(o.condition)
    ]
    equal = variant.replacements.get(s.name)
    return {
        "variant": number,
        "name": s.name,
        "label": s.known_as,
        "kind": s.kind,
        "site": None if s.site is None else str(s.site),
        "least": int(lo) if math.isfinite(lo) else None,
        "greatest": int(hi) if math.isfinite(hi) else None,
        "equals": None if equal is None else env.text(equal),
        "conditions": conditions,
        "uses": list(_uses(variant, s.name)),
    }


def _uses(variant: Captured, name: str) -> Iterator[str]:
    """The calls whose arguments or results depend on a symbol."""
    from anyshape.expr.traverse import names_of
    from anyshape.symbolic import SymBool, SymFloat, SymInt
    from anyshape.trace.graph.graph import Value, leaves, op_name, operand_of

    numbers = (SymInt, SymBool, SymFloat)

    def depends(x: Any) -> bool:
        parts = x.meta.shape if type(x) is Value else (x,)
        return any(type(n) in numbers and name in names_of(operand_of(n)) for n in parts)

    for node in variant.graph.nodes:
        if any(depends(x) for x in leaves((*node.args, node.kwargs, node.outs))):
            place = "" if node.site is None else f" at {node.site}"
            yield f"{op_name(node.func)}{place}"


def _text(symbol: dict[str, Any]) -> str:
    label = "" if symbol["label"] == symbol["name"] else f" = {symbol['label']}"
    from anyshape.domain import Interval

    lo, hi = symbol["least"], symbol["greatest"]
    span = Interval(-math.inf if lo is None else lo, math.inf if hi is None else hi).words
    lines = [
        f"{symbol['name']}{label}: {symbol['kind']}, variant {symbol['variant']}",
        f"  range: {span}",
    ]
    lines += [f"  made at: {symbol['site']}"] if symbol["site"] else []
    lines += [f"  equals: {symbol['equals']}"] if symbol["equals"] else []
    lines += [f"  {condition}" for condition in symbol["conditions"]]
    uses = symbol["uses"]
    lines += [f"  used by: {use}" for use in uses[:_SHOWN]]
    lines += [f"  and {len(uses) - _SHOWN} more, which --json lists"] if len(uses) > _SHOWN else []
    return "\n".join(lines)
