"""The contract of an exported program: which inputs it accepts."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.export.files.stand_in import Member, member_of
from anyshape.tensor.size import text
from anyshape.trace.record import effect

if TYPE_CHECKING:
    from anyshape.export.program import ExportedProgram
    from anyshape.trace.capture import Captured


_SAYS: Final = {
    effect.print_out: "prints",
    effect.write_out: "writes",
    effect.warn: "warns",
    effect.log: "logs",
}


class Input(NamedTuple):
    """One input: its kind, and the sizes of a tensor by the user's names.

    `value`: of a number that varies its symbol or expression as text, of another fixed input that
    is not a tensor its value.
    """

    name: str
    kind: str
    shape: tuple[str, ...] | None
    value: Any
    varies: bool = False


class Contract(NamedTuple):
    """The inputs that a program accepts.

    `ranges`: of the sizes. `variants`: the guards of each variant; those of one must hold.
    `asserts`: what the variants check while they run. `says`: where they print, warn or log.
    `refused`: guards under which the program raises, with the error. `is_complete`: no allowed
    sizes are known to be left out.
    """

    inputs: list[Input]
    ranges: dict[str, tuple[int | None, int | None]]
    variants: list[list[str]]
    asserts: list[str]
    refused: list[tuple[list[str], str]]
    is_complete: bool
    says: list[str]

    def __str__(self) -> str:
        lines = ["inputs:"]
        for i in self.inputs:
            rest = f" = {_shown(i.value)}" if i.shape is None else f"[{', '.join(i.shape)}]"
            if i.shape is None and i.varies and i.value == i.name:
                rest = ""
            lines.append(f"  {i.name}: {i.kind}{rest}")
        if self.ranges:
            lines.append("sizes:")
            lines += [f"  {_range_text(name, *r)}" for name, r in self.ranges.items()]
        guards = [g for g in self.variants if g]
        if len(self.variants) > 1:
            lines.append("one of:")
            lines += [f"  {' and '.join(g) or 'anything'}" for g in self.variants]
        elif guards:
            lines.append("where:")
            lines += [f"  {g}" for g in guards[0]]
        if self.asserts:
            lines.append("checked while running:")
            lines += [f"  {a}" for a in self.asserts]
        if self.says:
            lines.append("says:")
            lines += [f"  {line}" for line in self.says]
        for guards_, error in self.refused:
            lines.append(f"raises where {' and '.join(guards_)}: {error}")
        if not self.is_complete:
            lines.append("other sizes were not explored and are refused")
        return "\n".join(lines)


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
            device = "" if example.device.type == "cpu" else f" on {example.device}"
            inputs.append(Input(leaf.name, kind + device, shape, None))
        elif i in numbers:
            inputs.append(Input(leaf.name, _kind(example), None, numbers[i], varies=True))
        else:
            inputs.append(Input(leaf.name, _kind(example), None, example))
    ranges = _ranges(program)
    variants = [[g.text for g in v.guards if g.origin != "declared"] for v in program.variants]
    asserts = list(dict.fromkeys(o.text for v in program.variants for o in v.runtime_asserts))
    refused = [
        ([g.text for g in r.guards], f"{type(r.error).__name__}: {str(r.error).splitlines()[0]}")
        for r in program.refused
    ]
    return Contract(inputs, ranges, variants, asserts, refused, program.is_complete, _says(program))


def _says(program: ExportedProgram) -> list[str]:
    """Where a program prints, warns or logs."""
    nodes = [n for v in program.variants for n in v.graph.nodes if n.func in _SAYS]
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


def _ranges(program: ExportedProgram) -> dict[str, tuple[int | None, int | None]]:
    """The range of each size among the inputs, over all variants."""
    found: dict[str, tuple[Any, Any]] = {}
    for variant in program.variants:
        env = variant.tracer.env
        for bind in variant.inputs.sizes:
            s = env.symbols[bind.name]
            r = env.range_of(s.expr)
            lo, hi = found.get(s.label, (r.lo, r.hi))
            found[s.label] = (min(lo, r.lo), max(hi, r.hi))
    return {label: (_finite(lo), _finite(hi)) for label, (lo, hi) in found.items()}
