"""The attributes of a tensor in which `torch._dynamo.mark_dynamic` and its kin keep their marks.

`anyshape.compile` and `export` honour these marks. Each of the names below is an attribute that
torch sets on the tensor; dimensions are counted from the front.
"""

from __future__ import annotations

from typing import Final

STATIC: Final = "_dynamo_static_indices"
"""The dimensions of `mark_static`, a set."""

DYNAMIC: Final = "_dynamo_dynamic_indices"
"""The dimensions of `mark_dynamic`, a set."""

DYNAMIC_RANGES: Final = "_dynamo_dynamic_range"
"""The bounds given to `mark_dynamic`: records with `dim`, `min` and `max`."""

MAYBE_DYNAMIC: Final = "_dynamo_weak_dynamic_indices"
"""The dimensions of `maybe_mark_dynamic`, a set."""

UNBACKED: Final = "_dynamo_unbacked_indices"
"""The dimensions of `mark_unbacked`, a set."""

STRICT_UNBACKED: Final = "_dynamo_strict_unbacked_indices"
"""The dimensions of `mark_unbacked(strict=True)`, a set."""

UNBACKED_BOUNDS: Final = "_dynamo_unbacked_bounds"
"""The bounds given to `mark_unbacked`: dimension to (min, max)."""

SHAPE_IDS: Final = "_dynamo_shape_ids"
"""Dimensions with the same id have the same size: dimension to id."""

HINTS: Final = "_dynamo_hint_overrides"
"""The optimization hints given to `mark_unbacked`: dimension to size."""
