"""The asker of an environment in which a program is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.rules.dispatch.typical import answer_for_torch
from anyshape.symbolic.number_asker import NumberAsker

if TYPE_CHECKING:
    from anyshape.env import Env
    from anyshape.expr import Bool


class TraceAsker(NumberAsker):
    """Gives torch's own code the answer at typical sizes, where only the run can tell.

    A number that the program uses as a key is specialized.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(has_hashes=True)

    def settle(self, env: Env, p: Bool) -> bool | None:
        """The answer at typical sizes if torch's own Python code asks; None if the user does."""
        return answer_for_torch(env, p)
