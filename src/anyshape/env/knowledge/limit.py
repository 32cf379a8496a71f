"""Numbers of terms up to which sums are treated in one way or another."""

from __future__ import annotations

from typing import Final

NARROW: Final = 8
"""Relations and equations on so many atoms are filed for propagation and elimination."""

MATERIALIZE: Final = 16
"""The direction of a pending sum of more terms is found without its terms."""

WIDE: Final = 64
"""Ranges do not propagate into a sum of more terms, and the list of asserts keeps it as it is."""
