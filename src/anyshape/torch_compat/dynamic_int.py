"""torch's integers that are marked as dynamic. Without the class, a call with one is refused where
the integer is a size.
"""

from __future__ import annotations

from typing import Any

from torch.fx.experimental import sym_node


class _Absent:
    """No object is of this class: the release has no such integers."""


DynamicInt: Any = getattr(sym_node, "DynamicInt", _Absent)
