"""Settings: one object, `config`, read as attributes, changed in a scope by `config.patch(...)`.

A patch is seen by the current thread and context only (and by tasks started inside it); patches
nest and are undone on exit, also by an exception. Assigning an attribute changes the default of the
whole process. Unknown names and wrong values raise `ConfigError` with what is valid. Some settings,
where they are None, are read from environment variables each time they are used; what is wrong with
such a value is the user's to find out then.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# ---------------------------------------------------------------------- lists of names of inputs

_PATH: Final = re.compile(
    r"""(?:L\[(?:'[^']*'|"[^"]*")\]|[A-Za-z_]\w*)(?:\.\w+|\[(?:-?\d+|'[^']*'|"[^"]*")\])*"""
)
_QUOTED: Final = re.compile(r"""\s*(['"])(.*?)\1\s*(:\s*-?\d+)?\s*(?:,|$)""")
_PIECE: Final = re.compile(  # what holds no comma that splits: a key, an escape, {m,n}, a set
    r"""\\?\[(['"])(?:(?!\\?\[['"]).)*?\1\\?\]|\\.|\{\d*,\d*\}|\[(?!['"])[^\]]*\]|[^,]"""
)
_WITH_DIM: Final = re.compile(r"(.+?)\s*:\s*(-?\d+)")


class Listed(NamedTuple):
    """One entry of a list of names: of inputs that are called so, or that a pattern matches.

    `dim` is the dimension that it is restricted to. A path such as `L['x'][0].k` or `x[0].k` is a
    name and has no pattern.
    """

    text: str
    name: str
    dim: int | None
    pattern: re.Pattern[str] | None


@lru_cache(maxsize=64)
def listed(value: str | tuple[str, ...] | None) -> tuple[Listed, ...]:
    """The entries of a list of names: text with commas between them, or one by one.

    In text, quotes around an entry keep its commas and blanks; those in a key, in `{m,n}` and in a
    set of characters are kept anyway. Raises `ValueError` for a pattern that is none.
    """
    entries = _split(value or "") if isinstance(value, str | None) else value
    return tuple(_listed(entry) for entry in entries)


def _split(text: str) -> list[str]:
    entries, place = [], 0
    while place < len(text):
        quoted = _QUOTED.match(text, place)
        if quoted is not None:
            entries.append(quoted[2] + (quoted[3] or ""))
            place = quoted.end()
            continue
        start = place
        while piece := _PIECE.match(text, place):
            place = piece.end()
        entries.append(text[start:place].strip())
        place += 1
    return [entry for entry in entries if entry]


def _listed(entry: str) -> Listed:
    if not entry:
        raise ValueError("an empty name")
    found = _WITH_DIM.fullmatch(entry)
    name, dim = (entry, None) if found is None else (found[1], int(found[2]))
    if _PATH.fullmatch(name):
        return Listed(entry, name, dim, None)
    try:
        return Listed(entry, name, dim, re.compile(name))
    except re.error as e:
        raise ValueError(f"{name!r} is neither a name nor a pattern: {e}") from e


# ---------------------------------------------------------------------- the settings


class Setting(NamedTuple):
    """One setting: its default, the values that it takes, and what it is for.

    Other values than the `valid` ones are taken if `refusal` finds nothing to say against them;
    `others` describes them. Where the value is None, the first of the variables of `environment`
    that is set counts.
    """

    default: Any
    valid: tuple[Any, ...]
    about: str
    others: str = ""
    refusal: Callable[[Any], str] | None = None
    environment: tuple[str, ...] = ()


def _not_names(value: object) -> str:
    parts = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(part, str) for part in parts):
        return "it is not text"
    try:
        listed(value if isinstance(value, str) else tuple(parts))
    except ValueError as e:
        return str(e)
    return ""


def _not_positive(value: object) -> str:
    return "" if type(value) is int and value > 0 else "it is not a positive int"


def _not_text(value: object) -> str:
    return "" if isinstance(value, str) and value else "it is not text"


def _names(kind: str, about: str) -> Setting:
    """The setting for a list of names of inputs."""
    return Setting(
        None,
        (None,),
        about,
        "names or patterns in a list or with commas between them",
        _not_names,
        (f"ANYSHAPE_{kind}_SOURCES", f"TORCH_COMPILE_{kind}_SOURCES"),
    )


_SWITCH: Final = (False, True)
_NOTHING: Final[dict[str, Any]] = {}

SETTINGS: Final[dict[str, Setting]] = {
    "specialize_zero_one": Setting(
        True, _SWITCH, "a backed size that is 0 or 1 becomes a constant, others are at least 2"
    ),
    "backed_size_oblivious": Setting(
        False, _SWITCH, "backed sizes start at 0, and guard_or_* do not look at their hints"
    ),
    "duck_shape": Setting(False, _SWITCH, "equal backed sizes share one symbol"),
    "aggressive_guard_free_semantics": Setting(
        0, (0, 1, 2), "effort of guard_or_*: 0 full, 1 replacements and ranges, 2 replacements"
    ),
    "do_not_emit_stack_traces": Setting(False, _SWITCH, "do not record the user's lines"),
    "solver": Setting(None, (None, "z3"), "the last rung of a proof"),
    "dynamic_sources": _names("DYNAMIC", "the inputs whose sizes, or values, are backed symbols"),
    "unbacked_sources": _names("UNBACKED", "the inputs whose sizes, or values, are unbacked"),
    "static_sources": _names("STATIC", "the inputs whose sizes, or values, are constants"),
    "recompile_limit": Setting(
        8, (), "how many programs are kept for one function", "a positive int", _not_positive
    ),
    "stance": Setting(
        "default",
        (
            "default",
            "force_eager",
            "fail_on_recompile",
            "eager_on_recompile",
            "eager_then_compile",
        ),
        "what a compiled function does where it would compile",
    ),
    "profile_store": Setting(
        None, (None,), "where to keep which sizes turned out dynamic", "a path or URL", _not_text
    ),
    "profile": Setting(None, (None,), "the file for the profile of an export", "a path", _not_text),
}


class Config:
    """The settings in force here and now."""

    __slots__ = ("_defaults", "_local")

    if TYPE_CHECKING:  # the attributes, which `_reader` makes, for readers and type checkers
        specialize_zero_one: bool
        backed_size_oblivious: bool
        duck_shape: bool
        aggressive_guard_free_semantics: int
        do_not_emit_stack_traces: bool
        solver: str | None
        dynamic_sources: str | list[str] | tuple[str, ...] | None
        unbacked_sources: str | list[str] | tuple[str, ...] | None
        static_sources: str | list[str] | tuple[str, ...] | None
        recompile_limit: int
        stance: str
        profile_store: str | None
        profile: str | None

    def __init__(self) -> None:
        object.__setattr__(self, "_defaults", {n: s.default for n, s in SETTINGS.items()})
        object.__setattr__(self, "_local", ContextVar("anyshape.config"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        _check(name, value)
        self._defaults[name] = value

    @contextmanager
    def patch(self, **settings: Any) -> Iterator[None]:
        """Set some settings for the body of a `with` block."""
        for name, value in settings.items():
            _check(name, value)
        token = self._local.set({**self._local.get(_NOTHING), **settings})
        try:
            yield
        finally:
            self._local.reset(token)

    def __dir__(self) -> list[str]:
        return [*SETTINGS, "patch"]

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{n}={getattr(self, n)!r}" for n in SETTINGS) + ")"


def _unknown(name: str) -> ConfigError:
    return ConfigError(f"no setting {name!r}", fix=f"the settings are {', '.join(SETTINGS)}")


def _check(name: str, value: Any) -> None:
    setting = SETTINGS.get(name)
    if setting is None:
        raise _unknown(name)
    if any(value is v or (type(value) is type(v) and value == v) for v in setting.valid):
        return
    why = setting.refusal(value) if setting.refusal is not None else ""
    if why or setting.refusal is None:
        options = [*map(repr, setting.valid), *filter(None, [setting.others])]
        one_of = "one of " if len(options) > 1 else ""
        raise ConfigError(
            f"config.{name} cannot be {value!r}",
            why=why,
            fix=f"use {one_of}{', '.join(options)}: {setting.about}",
        )


def _reader(name: str) -> property:
    environment = SETTINGS[name].environment

    def read(self: Config) -> Any:
        local = self._local.get(_NOTHING)
        return local[name] if name in local else self._defaults[name]

    def read_with_environment(self: Config) -> Any:
        value = read(self)
        found = (os.environ.get(variable) for variable in environment)
        return next(filter(None, found), None) if value is None else value

    return property(read_with_environment if environment else read, doc=SETTINGS[name].about)


for _name in SETTINGS:
    setattr(Config, _name, _reader(_name))

config: Final = Config()
