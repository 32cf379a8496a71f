"""torch's functions over symbolic sizes, which libraries and torch's own helpers call.

Without it they would ask the node of a number of ours for what only torch's nodes have. The module
is not imported here: where nobody has imported it, nobody calls it.
"""

from __future__ import annotations

import sys
from typing import Any, Final

_MODULE: Final = "torch.fx.experimental.symbolic_shapes"


def shape_function(name: str) -> Any:
    """The function of that name; None where its module is not loaded or has none of that name."""
    return getattr(sys.modules.get(_MODULE), name, None)
