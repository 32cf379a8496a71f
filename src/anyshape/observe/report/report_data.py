"""`ReportData`: what a report shows, as plain data.

Places in the user's source are numbers in a table, so that ten thousand rows on one line cost one
place. The source of a file is read when the report is made; where it is not at hand, the lines that
the places remember stand for it.
"""

from __future__ import annotations

import datetime
import linecache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.written import written_condition
from anyshape.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env.site import Site

VERSION: Final = 1
_AROUND: Final = 40  # lines of a long file around each that is referred to
_WHOLE: Final = 3000  # lines of a file that is shown whole
_LONGEST: Final = 4000  # characters of a text
GUARD: Final = "guard"
ASSERT: Final = "assert"
SPECIALIZED: Final = "specialized"
DEVIATION: Final = "deviation"
BREAK: Final = "break"


class Place(NamedTuple):
    """A line of the user's."""

    file: str
    line: int
    function: str
    text: str

    @classmethod
    def of(cls, site: Site) -> Place:
        """The place of a site."""
        return cls(site.file, site.line, site.function, site.text)


def cut(text: Any) -> str:
    """A text of bounded length."""
    found = str(text)
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}..."


def one_line(text: Any) -> str:
    """A text for a row of a list, whose rows have one line."""
    return cut(" ".join(str(text).split("\n")))


class ReportData:
    """The rows of a page; `data()` is what the page holds.

    `overview` has lines of a label and a text, `accepts` the lines of a contract, `held` those of
    what a program took from outside. `programs` are those of `of_program`. `events` are what
    happened, in order: traces, recompilations, fallbacks. `flame` is a tree of `name`, `time` in
    seconds, `count` and `inner`.
    """

    def __init__(self, title: str, kind: str) -> None:
        self.title = title
        self.kind = kind
        self.overview: list[tuple[str, str]] = []
        self.accepts: list[str] = []
        self.held: list[str] = []
        self.programs: list[dict[str, Any]] = []
        self.conditions: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.flame: dict[str, Any] | None = None
        self._places: dict[Place, int] = {}

    def place(self, site: Site | Place | None) -> int | None:
        """The number of a place."""
        if site is None:
            return None
        place = site if isinstance(site, Place) else Place.of(site)
        return self._places.setdefault(place, len(self._places))

    def condition(
        self,
        what: str,
        text: Any,
        site: Site | Place | None = None,
        *,
        program: int | None = None,
        origin: str = "",
        note: str | None = None,
    ) -> None:
        """Add a guard, an assert, a break: what holds or happens at a line.

        The lines of a text after the first one, which are reasons and advice, go to the note.
        """
        first, _, more = str(text).partition("\n")
        notes = [*([note] if note else []), *(line.strip() for line in more.splitlines())]
        row = {"what": what, "text": one_line(first), "place": self.place(site)}
        row |= {"program": program, "origin": origin, "note": one_line("; ".join(notes))}
        self.conditions.append(row)

    def branch(self, question: Any, site: Site | None, program: int) -> None:
        """Add a branch on data: what the user wrote, with what it means."""
        asked = written_condition(site, is_tensor=True)
        note = f"{question}?" if asked and asked != str(question) else None
        text = f"a branch on data: {asked or question}"
        self.condition(BREAK, text, site, program=program, note=note)

    def data(self) -> dict[str, Any]:
        """Everything, as what JSON can hold."""
        made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        places = list(self._places)
        files = sorted({place.file for place in places})
        numbers = {file: i for i, file in enumerate(files)}
        return {
            "version": VERSION,
            "anyshape": __version__,
            "made": made,
            "title": cut(self.title),
            "kind": self.kind,
            "overview": [[cut(label), cut(text)] for label, text in self.overview],
            "accepts": [cut(line) for line in self.accepts],
            "held": [one_line(line) for line in self.held],
            "programs": self.programs,
            "conditions": self.conditions,
            "events": self.events,
            "flame": self.flame,
            "files": [
                {"name": file, "lines": _lines(file, [p for p in places if p.file == file])}
                for file in files
            ],
            "places": [[numbers[p.file], p.line, p.function] for p in places],
        }


def _lines(file: str, places: Sequence[Place]) -> list[tuple[int, str]]:
    """The lines of a file that a report shows, by number."""
    source = [] if file.startswith("<") else linecache.getlines(file)
    known = {place.line: place.text for place in places}
    if any(source[n - 1].strip() != text for n, text in known.items() if text and n <= len(source)):
        source = []  # the file has changed since
    if not source or max(known) > len(source):
        return sorted(known.items())
    shown = set(range(1, len(source) + 1))
    if len(source) > _WHOLE:
        shown &= {n for line in known for n in range(line - _AROUND, line + _AROUND + 1)}
    return [(n, cut(source[n - 1].rstrip())) for n in sorted(shown)]
