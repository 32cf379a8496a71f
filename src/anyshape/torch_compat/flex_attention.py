"""The parts of `torch.nn.attention.flex_attention` that run below its Python code.

Without it, a call of `flex_attention` or of `create_mask` inside a trace runs torch's own tracer on
symbolic tensors, which fails.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch._higher_order_ops.flex_attention import sdpa_dense
from torch._higher_order_ops.utils import setup_compilation_env
from torch.nn.attention import flex_attention

OPERATOR: Final[Any] = torch.ops.higher_order.flex_attention
"""The operator that the function calls once it has checked its arguments."""

SET_UP: Final[Any] = setup_compilation_env
"""The context in which eager execution compiles the operator with a backend that it gives."""

WARN_ONCE: Final[Any] = flex_attention._warn_once
"""Warns that the function is not compiled, and remembers that it did."""

create_mask: Final[Any] = flex_attention.create_mask
"""A mask as a dense tensor."""


def attend(
    query: Any, key: Any, value: Any, score_mod: Any, mask_mod: Any, scale: float
) -> tuple[Any, Any, Any]:
    """The results of the operator as eager execution computes them: output, log-sum-exp, maxima.

    The last two are in units of log(2).
    """
    found: tuple[Any, Any, Any] = sdpa_dense(query, key, value, score_mod, (mask_mod,), scale, {})
    return found


def takes_score(mod: Any) -> bool:
    """Whether a function takes a score besides its indices, by the number of its parameters."""
    return bool(flex_attention._get_mod_type(mod).name == "SCORE_MOD")
