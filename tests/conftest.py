"""Settings of all tests: random examples are the same in every run, and no deadline counts."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
