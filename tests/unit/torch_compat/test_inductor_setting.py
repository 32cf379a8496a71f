from __future__ import annotations

from torch._inductor import config

from anyshape.torch_compat import inductor_setting


def test_modes_are_settings_that_exist():
    modes, settings = inductor_setting.modes(), inductor_setting.settings()
    assert {"default", "reduce-overhead", "max-autotune"} <= set(modes)
    assert all(name in settings for mode in modes.values() for name in mode)


def test_types_of_settings():
    assert inductor_setting.setting_type("max_autotune") is bool
    assert inductor_setting.setting_type("aot_inductor.metadata") is None
    assert hasattr(config, inductor_setting.SCHEDULER_PASS)
