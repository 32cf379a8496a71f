"""`anyshape run`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from anyshape.cli.command import command
from anyshape.cli.made_input import SIZE_HELP, each_choice, made_call, read_sizes
from anyshape.cli.program_form import load_program
from anyshape.errors import ArgumentError, SaveError

if TYPE_CHECKING:
    from anyshape.cli.console import Output


@command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--size", "sizes", multiple=True, help=SIZE_HELP)
@click.option("--inputs", type=click.Path(exists=True), help="Tensors by name, a safetensors file.")
@click.option("--seed", default=0, help="The seed of the inputs that are made.")
@click.option("--below", default=2, help="Integers that are made are below this.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the results, as safetensors.")
def run(
    output: Output,
    file: str,
    sizes: tuple[str, ...],
    inputs: str | None,
    seed: int,
    below: int,
    out: str | None,
) -> int:
    """Run a saved program.

    Inputs are read from a file, or made: random ones of the sizes given.
    """
    import torch

    from anyshape.trace import tree

    choices = list(each_choice(read_sizes(sizes)))
    if len(choices) > 1:
        raise click.BadParameter("a run has one value for each size", param_hint="--size")
    program = load_program(file)
    given = {} if inputs is None else _read_tensors(inputs)
    call = made_call(program, choices[0], seed=seed, below=below, given=given)
    start = time.perf_counter()
    result = program(*call.args, **call.kwargs)
    seconds = time.perf_counter() - start
    leaves = tree.flatten(result)[0]
    outputs = [_described(x) for x in leaves]
    passed = {
        leaf.name: list(x.shape) if isinstance(x, torch.Tensor) else str(x)
        for leaf, x in zip(
            program.variants[0].inputs.leaves,
            tree.flatten((call.args, call.kwargs))[0],
            strict=True,
        )
    }
    output.text(*[f"{name}: {shape}" for name, shape in passed.items()])
    output.text(f"{program.name} took {1000 * seconds:.2f} ms")
    for i, o in enumerate(outputs):
        output.text(f"result {i}: {o['kind']} {o['value'] if o['shape'] is None else o['shape']}")
    if out is not None:
        _write_tensors(out, leaves)
        output.text(f"written to {out}")
    output.result(name=program.name, inputs=passed, outputs=outputs, seconds=seconds, out=out)
    return 0


def _described(x: Any) -> dict[str, Any]:
    import torch

    if isinstance(x, torch.Tensor):
        kind = str(x.dtype).removeprefix("torch.")
        return {"kind": kind, "shape": list(x.shape), "value": None}
    return {"kind": type(x).__name__, "shape": None, "value": repr(x)[:2000]}


def _read_tensors(path: str) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as e:
        raise ArgumentError(f"{path} is not a safetensors file", why=str(e)) from e


def _write_tensors(path: str, leaves: list[Any]) -> None:
    import torch
    from safetensors.torch import save_file

    tensors = {
        f"result{i}": x.detach().contiguous().clone()
        for i, x in enumerate(leaves)
        if isinstance(x, torch.Tensor)
    }
    try:
        save_file(tensors, path)
    except OSError as e:
        raise SaveError(f"{path} cannot be written", why=str(e)) from e
