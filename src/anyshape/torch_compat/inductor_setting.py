"""The settings of TorchInductor, by name.

Without it, an option that does not exist would be found out when the first program is compiled.
Importing this module takes a part of a second; only a compilation with options does.
"""

from __future__ import annotations

from typing import Any, Final, get_origin

from torch._inductor import config, list_mode_options

__all__ = ["SCHEDULER_PASS", "modes", "setting_type", "settings"]


SCHEDULER_PASS: Final = "_pre_fusion_custom_pass"
"""The setting that lowering itself needs; see `with_scheduler_pass`."""


def modes() -> dict[str, dict[str, Any]]:
    """The settings of each mode of `torch.compile`."""
    return list_mode_options()


def settings() -> dict[str, Any]:
    """All settings with their values."""
    found: dict[str, Any] = config.get_config_copy()
    return found


def setting_type(name: str) -> Any:
    """What a value of a setting is an instance of; None where that cannot be asked."""
    found = config.get_type(name)  # type: ignore[attr-defined]
    return found if get_origin(found) is None else None
