"""Random stories about a few symbols, against all points of a grid, without the engine's search.

Of the points, those stay that satisfy the facts told so far. An answer may be missing; it must not
differ from the truth at the points that stay. The engine's own search through small domains is
switched off by the tests, because it would answer all that the other rungs get wrong or miss.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from anyshape.env import Env
from anyshape.errors import ConstraintError, RuntimeAssertError
from anyshape.expr import Bool, Expr, parse
from anyshape.expr.text.python import function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Grid:
    """An environment and the points that its facts leave; `asked` and `answered` count questions.

    A symbol may have more values than those of the grid, which then has one point of each part of
    the line in which no condition changes its truth.
    """

    def __init__(self, count: int, points: Sequence[int], least: int, greatest: int) -> None:
        self.env = Env()
        for _ in range(count):
            self.env.unbacked(min=least, max=greatest)
        self.names = [f"u{i}" for i in range(count)]
        self.points: list[tuple[int, ...]] = list(product(points, repeat=count))
        self.asked = self.answered = 0

    def condition(self, text: str) -> tuple[Bool, Callable[..., Sequence[bool]]]:
        made = parse(self.env.pool, text)
        assert isinstance(made, Bool)
        return made, function([made], self.names)

    def least(self, text: str) -> int:
        """The least value of an expression at the points that stay."""
        made = parse(self.env.pool, text)
        assert isinstance(made, Expr)
        value = function([made], self.names)
        return int(min(value(*p)[0] for p in self.points))

    def tell(self, text: str) -> None:
        """Tell a fact where a point is left; else see that it is not taken for proved."""
        condition, holds = self.condition(text)
        left = [p for p in self.points if holds(*p)[0]]
        if left:
            self.points = left
            self.env.assume(condition)
            return
        assert self.env.prove(condition).answer is not True, text

    def refuse(self, text: str) -> None:
        """Tell what holds nowhere: it must not be taken for proved; nothing may be left of it."""
        condition, holds = self.condition(text)
        if not any(holds(*p)[0] for p in self.points) and self.env.decide(condition) is False:
            try:
                self.env.assume(condition)
            except (ConstraintError, RuntimeAssertError):
                return
            raise AssertionError(f"{text} was taken")

    def ask(self, questions: Iterable[str]) -> None:
        """Ask; an answer that the points contradict fails."""
        for text in questions:
            condition, holds = self.condition(text)
            truths = {holds(*p)[0] for p in self.points}
            answer = self.env.prove(condition).answer
            assert answer is None or truths == {answer}, (text, self.env.runtime_asserts)
            if len(truths) == 1:
                self.asked += 1
                self.answered += answer is not None
