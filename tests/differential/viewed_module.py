"""A module whose variable is assigned and read by several ways, see `test_views_of_state.py`."""

from __future__ import annotations

import sys
from typing import Any

X: Any = 1
THIS: Any = sys.modules[__name__]
NAMESPACE = vars(THIS)


def assign() -> None:
    """Assign the variable."""
    global X  # noqa: PLW0603  that is the point
    X = 5


def value() -> Any:
    """The variable."""
    return X
