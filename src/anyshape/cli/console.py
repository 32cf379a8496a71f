"""What a command prints: text, tables, or one object of JSON; progress on a terminal."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyshape.cli.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyshape.errors import AnyshapeError

T = TypeVar("T")
_WIDE: Final = 10_000  # columns where the output is not a terminal: nothing is wrapped or cut


class Output:
    """The output of one run of a command.

    With `json`, text and tables are dropped, and what programs of the user print goes to stderr, so
    that stdout is the object alone.
    """

    def __init__(self) -> None:
        self.command = ""
        self.json = False
        self.debug = False

    def text(self, *lines: object) -> None:
        """Print lines of text."""
        if not self.json:
            for line in lines:
                print(line)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table."""
        if self.json:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
        for title in head:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*[Text(str(cell)) for cell in row])
        width = None if sys.stdout.isatty() else _WIDE
        Console(file=sys.stdout, width=width, highlight=False).print(table)

    def result(self, **members: Any) -> None:
        """Print the object of the command, with `json`."""
        if self.json:
            head = {"schema": f"anyshape-{self.command}", "version": VERSION}
            print(json.dumps({**head, **members}, indent=2))

    def error(self, error: AnyshapeError) -> None:
        """Print an error: on stderr, and with `json` also as an object."""
        parts = {"what": error.what, "why": error.why, "fix": error.fix, "code": error.code}
        self.result(error={"type": type(error).__name__, **parts})
        print(f"anyshape: {error}", file=sys.stderr)

    @contextlib.contextmanager
    def for_user(self) -> Iterator[None]:
        """Around code of the user, whose prints are not part of an object of JSON."""
        with contextlib.redirect_stdout(sys.stderr) if self.json else contextlib.nullcontext():
            yield

    def track(self, items: Sequence[T], about: str) -> Iterator[T]:
        """The items, with a bar of progress on stderr if that is a terminal."""
        if not sys.stderr.isatty() or len(items) < 2:
            yield from items
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            yield from progress.track(items, description=about)
