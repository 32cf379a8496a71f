"""`config.logs` and `ANYSHAPE_LOGS`: what happens, one line for each event, the user's line first.

There is one logger for each name of `config.LOGS`, below `anyshape`. A record has the place of the
user's program as its own. Lines are written to stderr, unless a handler of the program writes them
to a terminal stream already. Nothing is subscribed, and nothing costs, while no log is wanted.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.config import LOGS, chosen_logs, config
from anyshape.env.site import capture, warn
from anyshape.errors import AnyshapeWarning
from anyshape.events import (
    Answer,
    Assert,
    Deviation,
    Fallback,
    GraphBreak,
    Guard,
    Lowering,
    OpCall,
    Phase,
    Recompilation,
    Replacement,
    Specialization,
    SymbolCreation,
    TraceEnd,
    TraceStart,
    words,
)
from anyshape.observe.standing import Standing

if TYPE_CHECKING:
    from anyshape.env.site import Site
    from anyshape.observe.standing import Want

VARIABLE: Final = "ANYSHAPE_LOGS"
HELP: Final = "help"
_RECORDING: Final = frozenset(("guard", "guard_or", "assume"))  # verbs


class _Kind(NamedTuple):
    """The log that tells of a kind of event, and whether only with a `+`."""

    log: str
    more: bool


_KINDS: Final[dict[type, _Kind]] = {
    SymbolCreation: _Kind("dynamic", more=False),
    Specialization: _Kind("dynamic", more=False),
    Replacement: _Kind("dynamic", more=True),
    Guard: _Kind("guards", more=False),
    Recompilation: _Kind("recompiles", more=False),
    Fallback: _Kind("recompiles", more=False),
    GraphBreak: _Kind("breaks", more=False),
    TraceEnd: _Kind("graph", more=False),
    TraceStart: _Kind("graph", more=True),
    OpCall: _Kind("graph", more=True),
    Assert: _Kind("asserts", more=False),
    Lowering: _Kind("lowering", more=False),
    Phase: _Kind("lowering", more=True),
    Answer: _Kind("decisions", more=False),  # some of them with a + only
    Deviation: _Kind("decisions", more=False),
}


def kinds_of(chosen: dict[str, bool]) -> list[type]:
    """The kinds of events that some logs, each with or without a `+`, tell of."""
    return [kind for kind, (log, more) in _KINDS.items() if log in chosen and chosen[log] >= more]


# ---------------------------------------------------------------------- one event


def _tell(event: Any) -> None:
    """Write the line of an event, if the logs in force here tell of it."""
    value = config.logs
    chosen = _chosen(tuple(value) if isinstance(value, list) else value)
    log, only_more = _KINDS[type(event)]
    if log not in chosen:
        return
    more = chosen[log]
    extra = only_more or (type(event) is Answer and event.verb not in _RECORDING)
    if extra and not more:
        return
    site = getattr(event, "site", None)
    if site is None:
        site = capture()
    _write(log, extra, site, _text(event, site, more))


@lru_cache(maxsize=64)
def _chosen(value: str | tuple[str, ...] | None) -> dict[str, bool]:
    return chosen_logs(value)[0]


def _text(event: Any, site: Site | None, more: bool) -> str:
    """The line: the place, what happened, and with `more` what there is besides."""
    text = words(event)
    if more and type(event) is Recompilation:
        each = [f"program {i}: {reason}" for i, reason in enumerate(event.reasons)]
        text = f"{event.function} is recompiled: {'; '.join(each)}"
    elif more and type(event) is Answer:
        text = f"{text}, {event.nanoseconds / 1000:.0f} us"
    elif more and type(event) is GraphBreak and event.written not in ("", event.question):
        text = f"{text} It means {event.question}"
    text = " ".join(text.splitlines())
    if site is None:
        return text
    source = site.text if more else ""
    return f"{place(site)}: {text}" + (f"  # {site.function}: {source}" if source else "")


def place(site: Site) -> str:
    """The file and the line of a site, the file as one would open it from here."""
    return f"{near(site.file)}:{site.line}"


def near(file: str) -> str:
    """A file below the current folder by its path from there; another one as it is."""
    return file.removeprefix(str(Path.cwd()).rstrip(os.sep) + os.sep)


def _write(log: str, is_extra: bool, site: Site | None, text: str) -> None:
    logger = logging.getLogger(f"anyshape.{log}")
    level = logging.DEBUG if is_extra else logging.INFO
    file, line, function = ("", 0, None) if site is None else (site.file, site.line, site.function)
    record = logger.makeRecord(logger.name, level, file, line, "%s", (text,), None, function)
    logger.handle(record)
    if not _is_shown(logger) and sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def _is_shown(logger: logging.Logger) -> bool:
    """Whether a handler of the program writes the records of a logger to a stream of a terminal."""
    at: logging.Logger | None = logger
    while at is not None:
        if any(getattr(h, "stream", None) in (sys.stderr, sys.stdout) for h in at.handlers):
            return True
        at = at.parent if at.propagate else None
    return False


# ---------------------------------------------------------------------- who wants which

_standing: Final = Standing(_tell)


def open_setting(value: Any) -> Want:
    """Tell what a value of `config.logs` asks for."""
    return _standing.want(kinds_of(chosen_logs(value)[0]))


def open_variable(value: str) -> Want:
    """Tell what `ANYSHAPE_LOGS` asks for. Unknown names are a warning; `help` writes a list."""
    chosen, unknown = chosen_logs(value)
    if HELP in unknown and sys.stderr is not None:
        sys.stderr.write(help_text())
    unknown = [name for name in unknown if name != HELP]
    if unknown:
        warn(
            AnyshapeWarning(
                f"{VARIABLE}: there is no log {', '.join(map(repr, unknown))};"
                f" the logs are {', '.join(LOGS)}, and {HELP} lists what each tells",
                code="AS731",
            )
        )
    return _standing.want(kinds_of(chosen))


def help_text() -> str:
    """The logs, and what each tells."""
    width = max(map(len, LOGS)) + 1
    lines = [f"{VARIABLE}=NAME,+NAME,...: what is told while it happens"]
    for name, (about, more) in LOGS.items():
        lines += [f"  {name:<{width}}  {about}", f"  +{name:<{width - 1}}  ... and {more}"]
    return "\n".join(lines) + "\n"
