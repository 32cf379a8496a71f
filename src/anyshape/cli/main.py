"""The entry point: parses the command line and hands over to a command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from anyshape.cli import demo
from anyshape.errors import AnyshapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {"demo": demo}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="anyshape", description="symbolic shapes for PyTorch")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP))
    arguments = parser.parse_args(argv)
    try:
        status: int = COMMANDS[arguments.command].run(arguments)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        return 1
    except AnyshapeError as error:
        print(f"anyshape: {error}", file=sys.stderr)
        return 1
    return status
