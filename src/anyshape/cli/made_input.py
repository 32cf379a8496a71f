"""Inputs of a program that are made for some sizes: random tensors of the shapes it accepts."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import click

from anyshape.cli.target import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

    from anyshape.export import ExportedProgram

_SIZE: Final = 3  # of a size that is not given, if that is allowed
SIZE_HELP: Final = "A size or number by its name, such as n=5; several values with commas."


def read_sizes(texts: Sequence[str]) -> dict[str, list[int]]:
    """The sizes of options `--size n=0,1,7`."""
    found: dict[str, list[int]] = {}
    for text in texts:
        name, sign, values = text.rpartition("=")
        try:
            found.setdefault(name, []).extend(int(v) for v in values.split(","))
        except ValueError:
            sign = ""
        if not sign or not name:
            raise click.BadParameter(f"{text!r} is not of the form name=5", param_hint="--size")
    return found


def each_choice(sizes: Mapping[str, list[int]]) -> Iterator[dict[str, int]]:
    """Every choice of a value for each size."""
    for values in itertools.product(*sizes.values()):
        yield dict(zip(sizes, values, strict=True))


def made_call(
    program: ExportedProgram,
    sizes: Mapping[str, int],
    *,
    seed: int = 0,
    below: int = 2,
    given: Mapping[str, Any] | None = None,
) -> Call:
    """A call of a program at some sizes. Floats are normal, integers are from 0 up to `below`.

    `given` has inputs by name, in place of made ones.
    """
    import torch

    from anyshape.trace import tree

    first = program.variants[0]
    inputs = first.inputs
    values = _values(program, sizes)
    generator = torch.Generator().manual_seed(seed)
    numbers = {b.leaf: values[b.name] for b in inputs.binds if b.dim is None}
    known = dict(given or {})
    flat: list[Any] = []
    for i, leaf in enumerate(inputs.leaves):
        if leaf.name in known:
            flat.append(known.pop(leaf.name))
        elif leaf.twin is not None:
            flat.append(flat[leaf.twin])
        elif isinstance(leaf.example, torch.Tensor):
            shape = [_at(n, values) for n in leaf.shape]
            if min(shape, default=0) < 0:
                raise click.BadParameter(f"{leaf.name} would have {shape}", param_hint="--size")
            flat.append(_tensor(leaf.example, shape, generator, below))
        else:
            flat.append(numbers.get(i, leaf.example))
    if known:
        raise click.BadParameter(
            f"{program.name} has no input {next(iter(known))!r}; its inputs are"
            f" {', '.join(leaf.name for leaf in inputs.leaves)}",
            param_hint="--inputs",
        )
    args, kwargs = tree.unflatten(flat, inputs.spec)
    return Call(tuple(args), dict(kwargs))


def _values(program: ExportedProgram, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The value of each symbol of the inputs."""
    first = program.variants[0]
    env = first.tracer.env
    ranges = program.range_constraints
    values: dict[str, Any] = {}
    labels = []
    for b in first.inputs.binds:
        label = env.sources.get(b.name, b.name)
        labels.append(label)
        r = ranges.get(label)
        lo, hi = (0, _SIZE) if r is None else (r.lo, r.hi)
        values[b.name] = sizes.get(label, int(min(max(_SIZE, lo), hi)))
    for name in sizes:
        if name not in labels:
            known = ", ".join(labels) or "none"
            raise click.BadParameter(
                f"{program.name} has no size {name!r}; its sizes are {known}", param_hint="--size"
            )
    return values


def _at(n: Any, values: Mapping[str, Any]) -> int:
    from anyshape.expr.evaluate import evaluate
    from anyshape.trace.graph.graph import operand_of

    return n if type(n) is int else int(evaluate(operand_of(n), values))


def _tensor(like: torch.Tensor, shape: list[int], generator: torch.Generator, below: int) -> Any:
    import torch

    if like.dtype.is_floating_point or like.dtype.is_complex:
        return torch.randn(shape, generator=generator).to(like.dtype).to(like.device)
    most = 2 if like.dtype is torch.bool else max(below, 1)
    return torch.randint(0, most, shape, generator=generator).to(like.dtype).to(like.device)
