"""The contract of an exported program: which inputs it accepts."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.domain import Interval
from anyshape.env.fact import DECLARED
from anyshape.export.branches.branching import branches_of
from anyshape.export.files.stand_in import Member, member_of
from anyshape.observe.report.notebook import text_html
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.size import text
from anyshape.trace.record.effect import effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.export.program import ExportedProgram
    from anyshape.export.region import Refused
    from anyshape.trace.capture import Captured


_SAYS: Final = {
    effect.print_out: "prints",
    effect.write_out: "writes",
    effect.warn: "warns",
    effect.log: "logs",
}


_INCOMPLETE: Final = "other sizes were not explored and are refused"
SCREEN_LINES: Final = 40
SCREEN_COLUMNS: Final = 120


class Input(NamedTuple):
    """One input: its kind, and the sizes and the device of a tensor, by the user's names.

    `value`: of a number that varies its symbol or expression as text, of another fixed input that
    is not a tensor its value.
    """

    name: str
    kind: str
    shape: tuple[str, ...] | None
    value: Any
    varies: bool = False
    device: str | None = None


class Contract(NamedTuple):
    """The inputs that a program accepts. Its text is at most a screen; `full()` leaves nothing out.

    `ranges`: of the sizes. `variants`: the guards of each variant; those of one must hold.
    `asserts`: what the variants check while they run. `says`: where they print, warn or log.
    `refused`: guards under which the function raises, with the error. `unexported`: guards under
    which it could not be exported, with the reason. `is_complete`: it is proved that no allowed
    sizes are left out. `branches`: the lines that branch on data.
    """

    inputs: list[Input]
    ranges: dict[str, tuple[int | None, int | None]]
    variants: list[list[str]]
    asserts: list[str]
    refused: list[tuple[list[str], str]]
    is_complete: bool
    says: list[str]
    unexported: list[tuple[list[str], str]]
    branches: list[str]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        sections = self._sections()
        room = SCREEN_LINES - sum(1 for title, _ in sections if title)
        # The shortest sections are shown whole; the others share what is left.
        shares: dict[int, int] = {}
        for count, i in enumerate(sorted(range(len(sections)), key=lambda i: len(sections[i][1]))):
            shares[i] = min(len(sections[i][1]), room // (len(sections) - count))
            room -= shares[i]
        lines = []
        for i, (title, rows) in enumerate(sections):
            lines += [title] if title else []
            left_out = len(rows) - shares[i]
            shown = rows if not left_out else rows[: max(0, shares[i] - 1)]
            lines += [_cut(row) for row in shown]
            if left_out:
                lines.append(f"  and {len(rows) - len(shown)} more, which contract().full() lists")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def full(self) -> str:
        """The whole text."""
        return "\n".join(
            line for title, rows in self._sections() for line in [*filter(None, [title]), *rows]
        )

    def _sections(self) -> list[tuple[str, list[str]]]:
        """The parts of the text: titles and rows."""
        sections = [
            ("inputs:", [f"  {i.name}: {i.kind}{_rest(i)}" for i in self.inputs]),
            ("sizes:", [f"  {_range_text(name, *r)}" for name, r in self.ranges.items()]),
        ]
        if len(self.variants) > 1:
            rows = [f"  {' and '.join(g) or 'anything'}" for g in self.variants]
            sections.append(("one of:", rows))
        else:
            sections.append(("where:", [f"  {g}" for g in self.variants[0]]))
        sections.append(("checked while running:", [f"  {a}" for a in self.asserts]))
        sections.append(("says:", [f"  {line}" for line in self.says]))
        title = f"branches on data: {len(self.branches)}"
        sections.append((title, [f"  {line}" for line in self.branches]))
        ends = [f"raises where {' and '.join(guards)}: {error}" for guards, error in self.refused]
        ends += [
            f"not exported where {' and '.join(guards)}: {error}"
            for guards, error in self.unexported
        ]
        if not self.is_complete:
            ends.append(_INCOMPLETE)
        sections.append(("", ends))
        return [(title, rows) for title, rows in sections if rows]


def _rest(i: Input) -> str:
    """What follows the kind of an input."""
    if i.shape is not None:
        device = "" if i.device in (None, "cpu") else f" on {i.device}"
        return f"[{', '.join(i.shape)}]{device}"
    return "" if i.varies and i.value == i.name else f" = {_shown(i.value)}"


def _cut(row: str) -> str:
    return row if len(row) <= SCREEN_COLUMNS else f"{row[: SCREEN_COLUMNS - 3]}..."


def contract_of(program: ExportedProgram) -> Contract:
    """The contract of a program."""
    first = program.variants[0]
    inputs = []
    numbers = _numbers(first)
    for i, leaf in enumerate(first.inputs.leaves):
        example = leaf.example
        if isinstance(example, torch.Tensor):
            shape = tuple([text(n) for n in leaf.shape])
            kind = str(example.dtype).removeprefix("torch.")
            inputs.append(Input(leaf.name, kind, shape, None, device=str(example.device)))
        elif i in numbers:
            inputs.append(Input(leaf.name, _kind(example), None, numbers[i], varies=True))
        else:
            inputs.append(Input(leaf.name, _kind(example), None, example))
    ranges = {
        label: (_finite(r.lo), _finite(r.hi)) for label, r in ranges_of(program.variants).items()
    }
    variants = [[g.text for g in v.guards if g.origin != DECLARED] for v in program.variants]
    parts = [part for v in program.variants for part in v.parts]
    asserts = list(dict.fromkeys(o.text for part in parts for o in part.runtime_asserts))
    refused = [_refused(r) for r in program.refused if not r.is_refusal]
    unexported = [_refused(r) for r in program.refused if r.is_refusal]
    return Contract(
        inputs,
        ranges,
        variants,
        asserts + _raises(parts),
        refused,
        program.is_complete,
        _says(parts),
        unexported,
        _branches(program),
    )


def _refused(r: Refused) -> tuple[list[str], str]:
    error = f"{type(r.error).__name__}: {(str(r.error).splitlines() or [''])[0]}"
    return [g.text for g in r.guards if g.origin != DECLARED], error


def ranges_of(variants: Sequence[Captured]) -> dict[str, Interval]:
    """The range of each size among the inputs over all variants, by the user's name for it."""
    found: dict[str, Interval] = {}
    for variant in variants:
        for name, r in variant.ranges.items():
            label = variant.tracer.env.symbols[name].label
            lo, hi = found.get(label, r)
            found[label] = Interval(min(lo, r.lo), max(hi, r.hi))
    return found


def _branches(program: ExportedProgram) -> list[str]:
    """The questions on data, each line once."""
    found = [b for v in program.variants for b in branches_of(v)]
    return list(dict.fromkeys(str(b.site or b.question) for b in found))


def _raises(parts: list[Captured]) -> list[str]:
    """The conditions without which a program raises an error of the function."""
    found = []
    for node in [n for p in parts for n in p.graph.nodes if n.func is effect.raise_unless]:
        holds, kind = node.args[:2]
        if type(holds) is SymBool:
            condition = holds.env.text(holds.condition)
            found.append(f"{condition}, or {kind.object.__name__} at {node.site}")
    return list(dict.fromkeys(found))


def _says(parts: list[Captured]) -> list[str]:
    """Where a program prints, warns or logs."""
    nodes = [n for part in parts for n in part.graph.nodes if n.func in _SAYS]
    return list(dict.fromkeys(f"{_SAYS[n.func]} at {n.site}" for n in nodes))


def _numbers(variant: Captured) -> dict[int, str]:
    """The numbers that vary: for each such leaf its symbol or expression as text."""
    sources = variant.tracer.env.sources
    found = {b.leaf: sources.get(b.name, b.name) for b in variant.inputs.binds if b.dim is None}
    return {**found, **{i: text(n) for i, d, n in variant.inputs.relations if d is None}}


def _kind(x: Any) -> str:
    return x.of.rpartition(".")[2] if type(x) is Member else type(x).__name__


def _shown(x: Any) -> str:
    return repr(member_of(x)) if isinstance(x, Enum) else str(x)


def _finite(bound: Any) -> int | None:
    return int(bound) if math.isfinite(bound) else None


def _range_text(name: str, lo: int | None, hi: int | None) -> str:
    if lo is None and hi is None:
        return f"{name}: any integer"
    if hi is None:
        return f"{name} >= {lo}"
    return f"{name} <= {hi}" if lo is None else f"{lo} <= {name} <= {hi}"
