"""`mode` and `options` of a compilation, as settings of TorchInductor."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.torch_compat.inductor_setting import SCHEDULER_PASS, modes, setting_type, settings


def settings_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """The settings that a mode or options stand for; raises for those that Inductor has not."""
    if options is None:
        known = modes()
        if mode not in known:
            raise ArgumentError(f"there is no mode {mode!r}", fix=f"one of {', '.join(known)}")
        return dict(known[mode])
    found: dict[str, Any] = {}
    known_settings = settings()
    for name, value in options.items():
        key = str(name).replace("-", "_")
        if key not in known_settings:
            near = get_close_matches(key, known_settings, 3)
            raise ArgumentError(
                f"Inductor has no option {name!r}",
                fix=f"did you mean {' or '.join(map(repr, near))}?" if near else "",
            )
        if key == SCHEDULER_PASS:
            raise ArgumentError(
                f"the option {name!r} of Inductor is not for the user",
                why="with it, asserts are placed before the kernels that rely on them",
            )
        expected = setting_type(key)
        if expected is not None and not isinstance(value, expected):
            raise ArgumentError(
                f"the option {name!r} of Inductor cannot be {value!r}",
                fix=f"give a value like {known_settings[key]!r}",
            )
        found[key] = value
    return found
