"""Settings: one object, `config`, read as attributes, changed in a scope by `config.patch(...)`.

A patch is seen by the current thread and context only (and by tasks started inside it); patches
nest and are undone on exit, also by an exception. Assigning an attribute changes the default of the
whole process. Unknown names and wrong values raise `ConfigError` with what is valid.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Setting(NamedTuple):
    """One setting: its default, the values that it takes, and what it is for."""

    default: Any
    valid: tuple[Any, ...]
    about: str


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
    if not any(value is v or (type(value) is type(v) and value == v) for v in setting.valid):
        raise ConfigError(
            f"config.{name} cannot be {value!r}",
            fix=f"use one of {', '.join(map(repr, setting.valid))}: {setting.about}",
        )


def _reader(name: str) -> property:
    def read(self: Config) -> Any:
        local = self._local.get(_NOTHING)
        return local[name] if name in local else self._defaults[name]

    return property(read, doc=SETTINGS[name].about)


for _name in SETTINGS:
    setattr(Config, _name, _reader(_name))

config: Final = Config()
