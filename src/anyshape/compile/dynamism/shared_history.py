"""`SharedHistory`: a history that hears what turned out dynamic in the other processes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from anyshape.compile.dynamism.agreement import Message, ranks
from anyshape.compile.dynamism.history import Place
from anyshape.compile.dynamism.store import StoredHistory
from anyshape.config import config
from anyshape.trace.argument.condition import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.compile.dynamism.agreement import Ranks


class SharedHistory(StoredHistory):
    """What has been seen of a function's inputs here, by earlier processes, and by the processes
    that `config.agree` names.

    `outdate` is called, by another thread, to have the programs of the function made again; it
    says whether there were any.
    """

    def __init__(self, fn: Any, outdate: Callable[[Violation], bool]) -> None:
        super().__init__(fn)
        self._outdate = outdate
        self._ranks: Ranks | None = None
        self._name = ""
        self._inbox: deque[Message] = deque()

    def note(self, names: Sequence[str], flat: Sequence[Any]) -> set[Place]:
        """Look at the inputs of a call, and at one message of the others, if there is any.

        A call that changes something itself leaves the messages to the next one: each change has
        a program of its own, as in the process that told of it.
        """
        here = None if config.agree is None else ranks()
        if here is None:
            return super().note(names, flat)
        if here is not self._ranks:
            changed = super().note(names, flat)
            self._ranks, self._name = here, here.join(self._key, self)
            here.tell(Message(here.rank, self._name, first=self._first_values()))
            return changed
        changed = super().note(names, flat)
        if changed:
            here.tell(Message(here.rank, self._name, dynamic=tuple(changed)))
        else:
            self._take()
        return changed

    def receive(self, message: Message) -> None:
        """Keep a message of another process."""
        self._inbox.append(message)

    def remind(self) -> bool:
        """Whether a message with news has outdated the programs."""
        while self._inbox:
            message = self._inbox[0]
            news = self._news(message)
            if news:
                return self._outdate(_violation(message, min(news, key=str)))
            self._drop(message)
        return False

    def _take(self) -> None:
        """Learn from the first message that has news."""
        while self._inbox:
            message = self._inbox[0]
            news = self._news(message)
            self._drop(message)
            if news:
                self.learn(news)
                return

    def _drop(self, message: Message) -> None:
        """Remove the first message, unless another thread has."""
        with self._lock:
            if self._inbox and self._inbox[0] is message:
                self._inbox.popleft()

    def _news(self, message: Message) -> set[Place]:
        """What a message makes dynamic that is not so here: what changed there, and what was
        something else in the first call there.
        """
        here = {(source, kind): dict(values) for source, kind, values in self._first_values()}
        places = {Place(*place) for place in message.dynamic}
        for source, kind, values in message.first:
            own = here.get((source, kind), {})
            places |= {Place(source, d) for d, value in values if own.get(d, value) != value}
        return places - self.dynamic

    def _first_values(self) -> tuple[tuple[str, str, tuple[tuple[int | None, str], ...]], ...]:
        with self._lock:
            first = list(self._first.items())
        return tuple(
            (source, str(kind), tuple(zip(_dims(kind, values), map(repr, values), strict=True)))
            for (source, kind), values in first
        )


def _dims(kind: Any, values: tuple[Any, ...]) -> list[int | None]:
    return [None] if isinstance(kind, str) else list(range(len(values)))


def _violation(message: Message, place: Place) -> Violation:
    name = place.source if place.dim is None else f"{place.source}.size({place.dim})"
    how = "varies" if message.dynamic else "was something else in the first call"
    return Violation(name, sentence=f"{name} {how}, on rank {message.rank}")
