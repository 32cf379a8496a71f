"""Settings of these tests: one thread for torch, whose tiny ops lose more time on more of them."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
