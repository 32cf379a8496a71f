"""The thread that reads what other processes tell never waits in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.compile.dynamism import agreement
from anyshape.compile.dynamism.agreement import Message, Ranks
from anyshape.torch_compat.process_group import Membership

if TYPE_CHECKING:
    import pytest


class Board:
    """A store as a process group has it, whose `get` may not wait."""

    def __init__(self) -> None:
        self.count = 0
        self.texts: dict[str, bytes] = {}

    def add(self, key: str, amount: int) -> int:
        self.count += amount
        return self.count

    def set(self, key: str, text: str) -> None:
        self.texts[key] = text.encode()

    def check(self, keys: list[str]) -> bool:
        return all(key in self.texts for key in keys)

    def get(self, key: str) -> bytes:
        return self.texts[key]


class Ear:
    def __init__(self) -> None:
        self.heard: list[Message] = []

    def receive(self, message: Message) -> None:
        self.heard.append(message)

    def remind(self) -> bool:
        return False


def test_a_writer_that_died_before_it_wrote_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    board: Any = Board()
    here = Ranks(Membership(0, 2, board), lambda: True)
    here.end()
    assert not here._reader.is_alive()
    ear = Ear()
    name = here.join("f", ear)
    number = board.add("", 1)  # whose text does not follow at once
    Ranks.tell(here, Message(1, name, dynamic=(("x", 0),)))
    monkeypatch.setattr(agreement, "_LOOKS", 3)
    assert [here.read() for _ in range(2)] == [True, True]
    assert ear.heard == []
    board.set(agreement._key(number), '[1, "f#1", [], [["y", 1]]]')
    here.read()
    assert [message.dynamic for message in ear.heard] == [(("y", 1),), (("x", 0),)]
    board.add("", 1)
    Ranks.tell(here, Message(1, name, dynamic=(("z", 0),)))
    for _ in range(3):
        here.read()
    assert [message.dynamic for message in ear.heard][2:] == [(("z", 0),)]


def test_the_thread_of_a_group_ends_with_the_group() -> None:
    here = Ranks(Membership(0, 2, Board()), lambda: False)
    here._reader.join(60)
    assert not here._reader.is_alive()
