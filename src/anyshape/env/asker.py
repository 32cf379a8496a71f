"""`Asker`: whom an environment works for, where that makes a difference to it.

The environment consults its asker and knows nothing else of the layers above. An asker is given
when the environment is made; the tracer and the symbolic numbers have one of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr import Expr

if TYPE_CHECKING:
    from anyshape.env.env import Env
    from anyshape.expr import Bool


class Asker:
    """One asker; this one works on bare expressions and leaves open what only the run can tell.

    `is_concrete`: texts of symbolic numbers specialize on their values; otherwise `shown` has the
    texts that were given out. `has_hashes`: so do hashes; otherwise there are none. `found_equal`
    memoizes pairs of equal sizes. `met_arrays` tells that any integer may be one of NumPy's, and
    `met_scalars` that some are. `array_errors` is what NumPy did about errors when the trace began.
    """

    __slots__ = (
        "array_errors",
        "found_equal",
        "has_hashes",
        "is_concrete",
        "met_arrays",
        "met_scalars",
        "shown",
    )

    def __init__(self, *, is_concrete: bool = False, has_hashes: bool = False) -> None:
        self.is_concrete = is_concrete
        self.has_hashes = has_hashes or is_concrete
        self.met_arrays = False
        self.met_scalars = False
        self.array_errors: dict[str, str] | None = None
        self.shown: set[str] = set()
        self.found_equal: set[tuple[Expr, Expr]] = set()

    def settle(self, env: Env, p: Bool) -> bool | None:
        """The truth of a condition that only the run can tell; None refuses to branch on it.

        `guard` makes an answer a fact and a runtime assert.
        """
        return None

    def expr_of(self, value: object) -> Expr | None:
        """The expression that a variable of the user's holds, if it holds one."""
        return value if isinstance(value, Expr) else None
