"""Which texts can name a symbol: the identifiers that the parser reads back as one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from anyshape.expr.pool import Pool

IDENTIFIER: Final = r"[^\W\d]\w*"
RESERVED: Final = frozenset(("and", "or", "not", "True", "False", "inf", "nan"))

_identifier: Final = re.compile(IDENTIFIER)


def check_name(pool: Pool, name: str) -> None:
    """Raise ValueError unless `name` is free in the pool and can be read back."""
    if name in pool.by_name:
        raise ValueError(f"the name {name!r} is taken")
    plain = name.isidentifier() and (name.isascii() or _identifier.fullmatch(name))
    if not plain or name in RESERVED:
        raise ValueError(f"{name!r} is not a name for a symbol: it must be an identifier")
