"""Ranks agree on what is dynamic: they compile equally many programs, and nobody waits."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest
import torch

import anyshape
from anyshape.errors import ConfigError
from tests.distributed import agreement_programs as programs
from tests.distributed.pool import forking

if TYPE_CHECKING:
    from tests.distributed.pool import Pool

CALLS = {
    "first calls differ": [[(4, 3)] * 2, [(6, 3)] * 2],
    "one rank varies": [[(4, 3)] * 3, [(4, 3), (6, 3), (8, 3)]],
    "both vary": [[(4, 3), (5, 3), (6, 3)], [(4, 3), (5, 3), (9, 3)]],
    "one after the other": [[(4, 3)] * 3, [(4, 3), (6, 3), (6, 5)]],
    "each another size": [[(4, 3), (4, 7)], [(4, 3), (6, 3)]],
}


@pytest.mark.parametrize(
    ("name", "agree"), [*[(name, "group") for name in CALLS], ("one rank varies", "object")]
)
def test_equally_many_programs(pair: Pool, name: str, agree: str) -> None:
    found = pair.run(programs.sizes, agree, CALLS[name])
    (first, *others) = [traces for traces, _ in found]
    assert others == [first] * (pair.size - 1), found
    assert first >= 2


def test_without_agreement_they_differ(pair: Pool) -> None:
    (first, _), (second, _), *_ = pair.run(programs.sizes, None, CALLS["one rank varies"])
    assert (first, second) == (1, 2)


def test_the_reason_names_the_rank(pair: Pool) -> None:
    (_, why), *_ = pair.run(programs.sizes, "group", CALLS["one rank varies"])
    assert [re.sub(r"\d$", "N", text) for text in why] == ["x.size(0) varies, on rank N"]
    (_, why), *_ = pair.run(programs.sizes, "group", CALLS["first calls differ"])
    expected = "x.size(0) was something else in the first call, on rank N"
    assert [re.sub(r"\d$", "N", text) for text in why] == [expected]


def test_nobody_waits(pair: Pool) -> None:
    assert pair.run(programs.lonely) == [2] + [0] * (pair.size - 1)


def test_a_rank_that_dies_stops_nobody() -> None:
    context = forking()
    results = context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [
        context.Process(target=programs.survivor, args=(rank, port, results), daemon=True)
        for rank in range(2)
    ]
    for rank in ranks:
        rank.start()
    assert results.get(timeout=100) == ([True] * 3, 2, 1)
    for rank in ranks:
        rank.join(100)


def test_without_a_group_nothing_happens() -> None:
    compiled = anyshape.compile(programs.step)
    with anyshape.config.patch(agree="group"):
        assert torch.equal(compiled(torch.ones(3, 2), 2), programs.step(torch.ones(3, 2), 2))
    assert compiled.stats.traces == 1


def test_what_is_no_group() -> None:
    with pytest.raises(ConfigError, match="agree"):
        anyshape.config.agree = "ranks"
