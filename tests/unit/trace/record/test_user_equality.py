"""What C compares by methods of the user's is recorded; bugs that are planted there show."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.container.user_equality import Comparisons, has_compared


class Alike:
    modulus = 2

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.n % Alike.modulus == other.n % Alike.modulus

    def __hash__(self) -> int:
        return 1


HELD = [Alike(1), Alike(3), Alike(4)]


def counted(x: Any) -> Any:
    return x * len(set(HELD))


def matched(x: Any) -> Any:
    return x * 2 if [Alike(3), Alike(5), Alike(6)] == HELD else x


def second(fn: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """What a compiled function and eager execution give after a change of the equality."""
    compiled = anyshape.compile(fn)
    compiled(torch.ones(2))
    monkeypatch.setattr(Alike, "modulus", 3)
    return compiled(torch.ones(2))[0].item(), fn(torch.ones(2))[0].item()


@pytest.mark.parametrize("fn", [counted, matched])
def test_a_changed_equality_is_another_program(fn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    got, want = second(fn, monkeypatch)
    assert got == want


def test_a_set_that_is_filled_unseen_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: C compares the items of a new set, and nobody asks before."""
    monkeypatch.setattr(Comparisons, "hash_all", lambda *_: None)
    monkeypatch.setattr(Alike, "modulus", 1)
    got, want = second(counted, monkeypatch)
    assert got != want


def test_lists_that_are_compared_unseen_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: C compares the items of two lists, and nobody asks before."""
    monkeypatch.setattr(Comparisons, "asks", lambda *_: False)
    got, want = second(matched, monkeypatch)
    assert got != want


def test_which_containers_are_asked() -> None:
    assert has_compared([1, {"a": (Alike(1),)}])
    assert not has_compared([1, "a", torch.ones(2), {"a": (object(),)}])
    assert not has_compared(Alike(1))  # no container
    endless: list[Any] = []
    endless.append(endless)
    assert not has_compared(endless)
