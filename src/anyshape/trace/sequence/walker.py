"""`Walker`: the iterator of a loop of which only the run knows whether there is one more round.

A walker asks that at every step. What it does next depends on its attributes alone, which are
numbers, lists of the graph and other walkers: so two rounds can be compared, and its numbers can be
symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.symbolic.functions import sym_and
from anyshape.tensor.size import known, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.sequence.sym_list import SymList


class Walker:
    """An iterator whose steps are questions."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def __iter__(self) -> Walker:
        return self

    def __next__(self) -> Any:
        going = self.going()
        if type(going) is not bool:
            going = self._tracer.walk(self, going)
        if not going:
            raise StopIteration
        return self.step()

    def going(self) -> Any:
        """Whether there is one more round."""
        raise NotImplementedError

    def step(self) -> Any:
        """What the next round gets."""
        raise NotImplementedError

    def parts(self) -> dict[str, Any]:
        """All that it does next depends on, by attribute."""
        return {k: x for k, x in vars(self).items() if k != "_tracer"}

    def state(self) -> Any:
        """See `parts`."""
        return tuple(self.parts().items())


class Counting(Walker):
    """From a number to before another, by steps of one size."""

    def __init__(self, tracer: Any, at: Any, stop: Any, by: int) -> None:
        super().__init__(tracer)
        self.at, self.stop, self.by = at, stop, by

    def going(self) -> Any:
        """See `Walker`."""
        return self.at < self.stop if self.by > 0 else self.at > self.stop

    def step(self) -> Any:
        """See `Walker`."""
        found = self.at
        self.at = plain(found + self.by)
        return found


class Forward(Walker):
    """Through a list, which may become longer meanwhile."""

    def __init__(self, tracer: Any, of: SymList) -> None:
        super().__init__(tracer)
        self.of, self.at = of, 0

    def going(self) -> Any:
        """See `Walker`."""
        return self.at < self.of.length

    def step(self) -> Any:
        """See `Walker`."""
        found = self.of[self.at]
        self.at = plain(self.at + 1)
        return found


class Backward(Walker):
    """Through a list from its end."""

    def __init__(self, tracer: Any, of: SymList) -> None:
        super().__init__(tracer)
        self.of, self.at = of, plain(of.length - 1)

    def going(self) -> Any:
        """See `Walker`: a list that became shorter ends it."""
        is_inside = self.at < self.of.length
        return self.at >= 0 if known(is_inside) is True else sym_and(self.at >= 0, is_inside)

    def step(self) -> Any:
        """See `Walker`."""
        found = self.of[self.at]
        self.at = plain(self.at - 1)
        return found


class Numbered(Walker):
    """`enumerate`."""

    def __init__(self, tracer: Any, of: Walker, at: Any) -> None:
        super().__init__(tracer)
        self.of, self.at = of, at

    def going(self) -> Any:
        """See `Walker`."""
        return self.of.going()

    def step(self) -> Any:
        """See `Walker`."""
        found = (self.at, self.of.step())
        self.at = plain(self.at + 1)
        return found


class Zipped(Walker):
    """`zip`."""

    def __init__(self, tracer: Any, of: Sequence[Walker]) -> None:
        super().__init__(tracer)
        self.of = tuple(of)

    def going(self) -> Any:
        """See `Walker`."""
        return sym_and(*[walker.going() for walker in self.of])

    def step(self) -> Any:
        """See `Walker`."""
        return tuple([walker.step() for walker in self.of])


WALKERS: Final = (Counting, Forward, Backward, Numbered, Zipped)
