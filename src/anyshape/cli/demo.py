"""`anyshape demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.cli.command import command

if TYPE_CHECKING:
    from anyshape.cli.output import Output


@command("demo", json=False)
def demo(output: Output) -> int:
    """Export a dynamic model and run it at several sizes."""
    del output
    from anyshape.cli.demo_program import run

    run()
    return 0
