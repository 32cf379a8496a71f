"""The anomaly mode is as before once all compilers have ended, in whichever order."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.interop.anomaly_mode import anomaly_mode_kept


@pytest.fixture
def mode() -> Any:
    yield
    torch.autograd.set_detect_anomaly(False)


@pytest.mark.parametrize("enabled", [False, True])
def test_two_compilers_at_once(mode: None, enabled: bool) -> None:
    torch.autograd.set_detect_anomaly(enabled)
    first, second = anomaly_mode_kept(), anomaly_mode_kept()
    first.__enter__()
    torch.autograd.set_detect_anomaly(True)  # by the first
    second.__enter__()
    torch.autograd.set_detect_anomaly(enabled)  # put back by the first
    first.__exit__(None, None, None)
    torch.autograd.set_detect_anomaly(True)  # put back by the second, as it was found
    second.__exit__(None, None, None)
    assert torch.is_anomaly_enabled() is enabled
