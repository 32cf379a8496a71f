"""The events as JSON: which members the object of each kind has, and how they are written.

`FIELDS` has a row for each name of a field among the kinds of events; the object of an event has a
member for each of its fields, and those of `COMMON`. The reference in the docs is generated from
here. A change of what a member means, or its removal, is another `VERSION`; a new member is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION: Final = 1
SCHEMA: Final = "anyshape-trace"
_LONGEST: Final = 2000  # characters of a text


class Writer(NamedTuple):
    """What a member is written with: the start of the file, and the numbers of the traces."""

    start: int
    number_of: Callable[[Any], int]


class Field(NamedTuple):
    """A member of an object: its name, its type in JSON, what it says, and how it is written."""

    name: str
    kind: str
    about: str
    write: Callable[[Any, Any, Writer], Any]


def _text(value: Any, _event: Any, _writer: Writer) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _same(value: Any, _event: Any, _writer: Writer) -> Any:
    return value


def _number(value: Any, _event: Any, _writer: Writer) -> Any:
    """A hint: JSON has no infinities."""
    if type(value) is float and value - value != 0:
        return str(value)
    return value


def _condition(value: Any, event: Any, writer: Writer) -> str:
    return _text(event.env.text(value), event, writer)


def _trace(value: Any, _event: Any, writer: Writer) -> int | None:
    if value is None:
        return None
    return writer.number_of(getattr(value, "env", value))


def _name(value: Any, _event: Any, _writer: Writer) -> str:
    if isinstance(value, str):
        return value
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", value))[:_LONGEST]


def _error(value: Any, event: Any, writer: Writer) -> Any:
    if value is None or getattr(value, "ends_path", False):
        return None
    return {"type": type(value).__name__, "text": _text(value, event, writer)}


def _since(value: int, _event: Any, writer: Writer) -> int:
    return value - writer.start


def _calls(value: Any, _event: Any, _writer: Writer) -> int:
    return len(value.nodes)


def _reasons(value: Any, event: Any, writer: Writer) -> list[dict[str, Any]]:
    return [
        {
            "place": r.place,
            "text": _text(r.text, event, writer),
            "fix": r.fix,
            "site": site_object(r.site),
        }
        for r in value
    ]


def site_object(site: Any) -> dict[str, Any] | None:
    """A place in the user's program."""
    if site is None:
        return None
    return {"file": site.file, "line": site.line, "function": site.function, "text": site.text}


_TRACE: Final = "the trace, by number, counted in each file; null for a function that was cut"

FIELDS: Final[dict[str, Field]] = {
    "env": Field("trace", "integer or null", _TRACE, _trace),
    "tracer": Field("trace", "integer or null", _TRACE, _trace),
    "name": Field("name", "string", "the name of the symbol or step", _text),
    "kind": Field("kind", "string", "the kind of the symbol", _text),
    "source": Field("source", "string", "what the symbol is, such as `x.size(0)`", _text),
    "hint": Field("hint", "number, string or null", "the value in this call", _number),
    "verb": Field("verb", "string", "what was asked: prove, guard, ...", _text),
    "condition": Field("condition", "string", "the condition over the user's names", _condition),
    "value": Field("value", "boolean, integer or null", "the answer or the one value", _same),
    "origin": Field("origin", "string", "who required the condition", _text),
    "by": Field("by", "string", "the expression that the symbol equals", _condition),
    "function": Field("function", "string", "the name of the function", _text),
    "error": Field("error", "object or null", "`type` and `text` of what failed", _error),
    "op": Field("op", "string", "the name of the op", _name),
    "handler": Field("handler", "string", "the name of what handled the call", _name),
    "about": Field("about", "string", "how the op differs", _text),
    "question": Field("question", "string", "the question, or why it breaks", _text),
    "written": Field("written", "string", "the condition in the source; empty if unknown", _text),
    "backend": Field("backend", "string", "the name of the backend", _text),
    "graph": Field("calls", "integer", "the number of calls in the graph", _calls),
    "reasons": Field(
        "reasons",
        "array",
        "objects with `place`, `text`, `fix` and `site`, one per program",
        _reasons,
    ),
    "why": Field("why", "string", "the reason", _text),
    "start": Field("start", "integer", "when it began: nanoseconds since the start", _since),
    "nanoseconds": Field("nanoseconds", "integer", "how long it took", _same),
}

COMMON: Final[dict[str, str]] = {  # members of every object but the first, apart from `site`
    "event": "string: the kind of the event",
    "time": "integer: when it was written, in nanoseconds since the start",
    "thread": "integer: the thread, as `threading.get_ident` numbers it",
    "site": "object or null: `file`, `line`, `function` and `text` of the user's program",
}

HEADER: Final[dict[str, str]] = {  # the first line of a file
    "schema": 'string: "anyshape-trace"',
    "version": "integer: the version of this format",
    "anyshape": "string: the version of anyshape",
    "python": "string: the version of Python",
    "process": "integer: the process",
    "started": "string: the date and time of the start, in UTC",
}


def members(kind: type) -> list[Field]:
    """The members of the object of a kind of event, apart from those of `COMMON`."""
    return [FIELDS[name] for name in vars(kind)["_fields"] if name != "site"]


def as_object(event: Any, writer: Writer) -> dict[str, Any]:
    """The members of an event, apart from those of `COMMON`."""
    return {
        FIELDS[name].name: FIELDS[name].write(value, event, writer)
        for name, value in zip(event._fields, event, strict=True)
        if name != "site"
    }
