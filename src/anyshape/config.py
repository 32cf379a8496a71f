"""Settings: one object, `config`, read as attributes, changed in a scope by `config.patch(...)`.

A patch is seen by the current thread and context only (and by tasks started inside it); patches
nest and are undone on exit, also by an exception. Assigning an attribute changes the default of the
whole process. Unknown names and wrong values raise `ConfigError` with what is valid. Some settings,
where they are None, are read from environment variables each time they are used; a wrong value in a
variable is reported by whoever uses it. A setting may be watched: its `watcher` is told each value
that comes into force, and closes what it opened for it when the value ceases to be.

Each setting is written once, as an attribute of `Config`; the reference in the docs is generated
from there.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Never,
    Protocol,
    TypeVar,
    cast,
    get_args,
    overload,
)

from anyshape.errors import ConfigError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# ---------------------------------------------------------------------- lists of names of inputs

_PATH: Final = re.compile(
    r"""(?:L\[(?:'[^']*'|"[^"]*")\]|[A-Za-z_]\w*)(?:\.\w+|\[(?:-?\d+|'[^']*'|"[^"]*")\])*"""
)
_QUOTED: Final = re.compile(r"""\s*(['"])(.*?)\1\s*(:\s*-?\d+)?\s*(?:,|$)""")
_PIECE: Final = re.compile(  # its commas do not split: a key, an escape, {m,n}, a set
    r"""\\?\[(['"])(?:(?!\\?\[['"]).)*?\1\\?\]|\\.|\{\d*,\d*\}|\[(?!['"])[^\]]*\]|[^,]"""
)
_WITH_DIM: Final = re.compile(r"(.+?)\s*:\s*(-?\d+)")


class Listed(NamedTuple):
    """One entry of a list of names: the name of an input, or a pattern that matches names.

    `dim` is the dimension that the entry is restricted to. A path such as `L['x'][0].k` or `x[0].k`
    is a name and has no pattern.
    """

    text: str
    name: str
    dim: int | None
    pattern: re.Pattern[str] | None


@lru_cache(maxsize=64)
def listed(value: str | tuple[str, ...] | None) -> tuple[Listed, ...]:
    """Split a list of names into entries: a string with commas between them, or a tuple.

    In a string, quotes around an entry keep its commas and blanks; those in a key, in `{m,n}` and
    in a set of characters are kept anyway. Raises `ValueError` for an invalid pattern.
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


# ---------------------------------------------------------------------- lists of logs

LOGS: Final[dict[str, tuple[str, str]]] = {  # what each log tells, and what it tells besides with +
    "dynamic": (
        "symbols as they are created, and those that become constants",
        "symbols that are found equal to others",
    ),
    "guards": ("guards: what a program assumes of its inputs", "the source lines"),
    "recompiles": (
        "functions that are compiled again or given up, and why",
        "why each of the programs at hand rejects the call",
    ),
    "breaks": ("graph breaks: where a program stops for Python, and why", "what they mean"),
    "graph": ("traces as they end: calls, time, errors", "traces as they start, and each call"),
    "asserts": ("runtime asserts: what a program checks while it runs", "the source lines"),
    "lowering": ("graphs that a backend compiled, and how long it took", "the steps of an export"),
    "decisions": (
        "questions that recorded something or chose a side, and deviations from eager execution",
        "all questions, with their time",
    ),
}


def chosen_logs(value: str | Sequence[str] | None) -> tuple[dict[str, bool], list[str]]:
    """The logs that a list names, each with whether it has a `+`, and the names that are unknown.

    >>> chosen_logs("guards, +recompiles, gaurds")
    ({'guards': False, 'recompiles': True}, ['gaurds'])
    """
    chosen: dict[str, bool] = {}
    unknown = []
    for entry in (value or "").split(",") if isinstance(value, str | None) else value:
        name = entry.strip().removeprefix("+").strip()
        if name in LOGS:
            chosen[name] = chosen.get(name, False) or entry.strip().startswith("+")
        elif name:
            unknown.append(name)
    return chosen, unknown


# ---------------------------------------------------------------------- the settings

T = TypeVar("T")

Stance = Literal[
    "default", "force_eager", "fail_on_recompile", "eager_on_recompile", "eager_then_compile"
]


class Closing(Protocol):
    """What a watcher opened for a value of a setting."""

    def close(self) -> None:
        """The value is no longer in force."""


class Setting(Generic[T]):
    """One setting, an attribute of `Config`: its default, the values that it takes, its meaning.

    A value is accepted if it is one of `valid`, or if `refusal` finds no objection to it; `others`
    describes the latter. Where the value is None, the first variable of `environment` that is set
    and not empty counts. `watcher` is called with each value that comes into force.
    """

    __slots__ = (
        "_opened",
        "about",
        "default",
        "environment",
        "name",
        "others",
        "refusal",
        "valid",
        "watcher",
    )  # fmt: skip

    def __init__(
        self,
        default: T,
        valid: tuple[T, ...],
        about: str,
        *,
        others: str = "",
        refusal: Callable[[object], str] | None = None,
        environment: tuple[str, ...] = (),
    ) -> None:
        self.name = ""
        self.default = default
        self.valid = valid
        self.about = about
        self.others = others
        self.refusal = refusal
        self.environment = environment
        self.watcher: Callable[[Any], Closing] | None = None
        self._opened: Closing | None = None  # for the default of the process

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...

    @overload
    def __get__(self, instance: Config, owner: type) -> T: ...

    def __get__(self, instance: Config | None, owner: type) -> Setting[T] | T:
        if instance is None:
            return self
        name = self.name
        local = instance._local.get(_NOTHING)
        value: T = local[name] if name in local else instance._defaults[name]
        if value is None and self.environment:
            found = (os.environ.get(variable) for variable in self.environment)
            value = cast("T", next(filter(None, found), None))
        return value

    def __set__(self, instance: Config, value: T) -> None:
        self.check(value)
        opened = None if self.watcher is None else self.watcher(value)
        instance._defaults[self.name] = value
        instance._set_ordinary()
        if self._opened is not None:
            self._opened.close()
        self._opened = opened

    def check(self, value: object) -> None:
        """Raise `ConfigError` for a value that the setting does not take."""
        if any(value is v or (type(value) is type(v) and value == v) for v in self.valid):
            return
        why = self.refusal(value) if self.refusal is not None else ""
        if why or self.refusal is None:
            options = [*map(repr, self.valid), *filter(None, [self.others])]
            one_of = "one of " if len(options) > 1 else ""
            words = [*LOGS] if self.name == "logs" else [v for v in self.valid if type(v) is str]
            meant = nearest(value, words) if isinstance(value, str) else ""
            raise ConfigError(
                f"config.{self.name} cannot be {value!r}",
                why=why,
                fix=f"{meant}use {one_of}{', '.join(options)}: {self.about}",
            )


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


def _not_group(value: object) -> str:
    """A process group is known by what it answers, since this module is free of torch."""
    is_group = all(callable(getattr(value, name, None)) for name in ("rank", "size"))
    return "" if is_group else "it is no process group"


def _not_logs(value: object) -> str:
    parts = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(part, str) for part in parts):
        return "it is not text"
    unknown = chosen_logs(cast("Any", value))[1]
    return f"there is no log {', '.join(map(repr, unknown))}" if unknown else ""


def _names(kind: str, about: str) -> Setting[str | list[str] | tuple[str, ...] | None]:
    """The setting for a list of names of inputs."""
    return Setting(
        None,
        (None,),
        about,
        others="names or patterns in a list or with commas between them",
        refusal=_not_names,
        environment=(f"ANYSHAPE_{kind}_SOURCES", f"TORCH_COMPILE_{kind}_SOURCES"),
    )


_SWITCH: Final = (False, True)
_NOTHING: Final[dict[str, Any]] = {}


class Config:
    """The settings in force here and now."""

    __slots__ = ("_defaults", "_local", "_ordinary")
    _defaults: dict[str, Any]
    _ordinary: bool
    _local: ContextVar[dict[str, Any]]

    specialize_zero_one = Setting(
        True, _SWITCH, "a backed size of 0 or 1 becomes a constant; the others are at least 2"
    )
    backed_size_oblivious = Setting(
        False, _SWITCH, "backed sizes start at 0, and `guard_or_*` do not look at their hints"
    )
    duck_shape = Setting(
        False, _SWITCH, "backed sizes with equal hints are taken to be equal, with a guard"
    )
    aggressive_guard_free_semantics = Setting(
        0,
        (0, 1, 2),
        "the effort of `guard_or_*` where there is no hint: 0 the whole ladder, 1 replacements and"
        " ranges, 2 replacements only",
    )
    do_not_emit_stack_traces = Setting(False, _SWITCH, "do not record the user's lines")
    solver: Setting[str | None] = Setting(
        None,
        (None, "z3"),
        "ask z3, with a fixed resource limit, where the ladder has no answer; needs `anyshape[z3]`",
    )
    dynamic_sources = _names("DYNAMIC", "inputs whose sizes, or values, are backed symbols")
    unbacked_sources = _names("UNBACKED", "inputs whose sizes, or values, are unbacked symbols")
    static_sources = _names("STATIC", "inputs whose sizes, or values, are constants")
    recompile_limit = Setting(
        8,
        (),
        "how many programs are kept for one compiled function",
        others="a positive int",
        refusal=_not_positive,
    )
    segment_limit = Setting(
        64,
        (),
        "how many segments an exported program may have that branches on data",
        others="a positive int",
        refusal=_not_positive,
    )
    regions = Setting(
        "auto",
        ("auto", "off"),
        "lower equal blocks of a program once, and call the compiled code for each; `off`: lower"
        " the whole program",
    )
    audit = Setting(
        False,
        (False, True),
        "trace every call that a compiled program serves again, and compare the programs",
    )
    stance: Setting[Stance] = Setting(
        "default",
        get_args(Stance),
        "what a compiled function does where it would compile",
    )
    profile_store: Setting[str | None] = Setting(
        None,
        (None,),
        "where to keep which sizes turned out dynamic, for later processes",
        others="a path or URL",
        refusal=_not_text,
    )
    agree: Setting[Any] = Setting(
        None,
        (None, "group"),
        "tell the other processes of the default group which sizes turned out dynamic, and hear it"
        " from them",
        others="a process group of torch.distributed",
        refusal=_not_group,
    )
    profile: Setting[str | None] = Setting(
        None,
        (None,),
        "the folder for the profiles of exports that are given none",
        others="a path",
        refusal=_not_text,
    )
    logs: Setting[str | list[str] | tuple[str, ...] | None] = Setting(
        None,
        (None,),
        "what is told while it happens, by the loggers below `anyshape`; `+name` tells more",
        others=f"{', '.join(LOGS)}, in a list or with commas between them",
        refusal=_not_logs,
        environment=("ANYSHAPE_LOGS",),
    )
    trace: Setting[str | None] = Setting(
        None,
        (None,),
        "the folder for traces: all events of a process in a file of JSON lines",
        others="a path",
        refusal=_not_text,
        environment=("ANYSHAPE_TRACE",),
    )

    def __init__(self) -> None:
        object.__setattr__(self, "_defaults", {n: s.default for n, s in SETTINGS.items()})
        object.__setattr__(self, "_local", ContextVar("anyshape.config"))
        self._set_ordinary()

    def _set_ordinary(self) -> None:
        defaults = self._defaults
        ordinary = defaults["stance"] == "default" and not defaults["audit"]
        object.__setattr__(self, "_ordinary", ordinary)

    def is_ordinary(self) -> bool:
        """Whether compiled functions serve calls as usual: the stance is the default, no audit."""
        if self._local.get(_NOTHING):
            return self.stance == "default" and not self.audit
        return self._ordinary

    if not TYPE_CHECKING:  # for a type checker an unknown name is an error anyway

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise _unknown(name)

        def __setattr__(self, name: str, value: Any) -> None:
            _setting(name).__set__(self, value)

    @contextmanager
    def patch(self, /, *unnamed: Never, **settings: Any) -> Iterator[None]:
        """Set some settings, given by name, for the body of a `with` block."""
        if unnamed:
            raise ConfigError(
                "config.patch takes settings by name",
                why=f"it got {', '.join(f'{v!r:.80}' for v in cast('tuple[object]', unnamed))}",
                fix="write config.patch(duck_shape=True), or config.patch(**settings)",
            )
        for name, value in settings.items():
            _setting(name).check(value)
        opened = [
            watcher(value)
            for name, value in settings.items()
            if (watcher := SETTINGS[name].watcher) is not None
        ]
        token = self._local.set({**self._local.get(_NOTHING), **settings})
        try:
            yield
        finally:
            self._local.reset(token)
            for one in opened:
                one.close()

    def __dir__(self) -> list[str]:
        return [*SETTINGS, "patch"]

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{n}={getattr(self, n)!r}" for n in SETTINGS) + ")"


SETTINGS: Final[dict[str, Setting[Any]]] = {
    name: setting for name, setting in vars(Config).items() if isinstance(setting, Setting)
}


_PREFIX: Final = "ANYSHAPE_"


def misspelt_variables() -> list[tuple[str, str]]:
    """The environment variables that have nearly the name of one of ours, with that name.

    >>> os.environ["ANYSHAPE_LOG"] = "guards"
    >>> misspelt_variables()
    [('ANYSHAPE_LOG', 'ANYSHAPE_LOGS')]
    >>> del os.environ["ANYSHAPE_LOG"]
    """
    names = [name for setting in SETTINGS.values() for name in setting.environment]
    known = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
    rest = [name.removeprefix(_PREFIX) for name in os.environ if name.startswith(_PREFIX)]
    pairs = [(name, get_close_matches(name, known, 1)) for name in rest if name not in known]
    return [(_PREFIX + name, _PREFIX + found[0]) for name, found in pairs if found]


def _unknown(name: str) -> ConfigError:
    return ConfigError(
        f"no setting {name!r}",
        fix=nearest(name, SETTINGS) + f"the settings are {', '.join(SETTINGS)}",
    )


def _setting(name: str) -> Setting[Any]:
    if name not in SETTINGS:
        raise _unknown(name)
    return SETTINGS[name]


config: Final = Config()
