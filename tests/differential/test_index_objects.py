"""Objects with `__index__` as sizes, against eager execution: torch takes them for some."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape
from anyshape import Dim


class Count:
    """An integer of the user's."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def __index__(self) -> Any:
        return self.n


TWO = Count(2)

TAKEN: dict[str, Any] = {
    "repeat": lambda x: x.repeat(TWO, 1),
    "new_zeros": lambda x: x.new_zeros(TWO, 3),
    "zeros": lambda x: torch.zeros((TWO, 3)) + x.sum(),
    "ones of a size": lambda x: torch.ones(Count(x.size(0)), TWO) + x.sum(),
    "view": lambda x: x.view(-1, TWO),
    "reshape": lambda x: x.reshape(Count(-1)),
    "expand": lambda x: x[None].expand(TWO, -1, -1),
    "narrow": lambda x: x.narrow(1, 0, TWO),
    "unflatten": lambda x: x.unflatten(1, (TWO, 2)),
    "topk": lambda x: x.topk(TWO)[0],
    "pad": lambda x: F.pad(x, (TWO, TWO)),
    "repeat by a size": lambda x: x.repeat(Count(x.size(0)), 1),
    "full": lambda x: torch.full((TWO,), 1.0) + x.sum(),
    "slice": lambda x: x[: Count(x.size(0) // 2)],
    "permute": lambda x: x.permute(Count(1), Count(0)),
}
REFUSED: dict[str, Any] = {
    "chunk": lambda x: x.chunk(TWO)[0],
    "split": lambda x: x.split(TWO)[0],
    "arange": lambda x: torch.arange(TWO) + x.sum(),
    "add": lambda x: x + TWO,
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("how", ["export", "compile"])
def test_taken(name: str, how: str) -> None:
    """The programs give what eager execution gives, at several sizes."""
    fn = TAKEN[name]
    if how == "export":
        run: Any = anyshape.export(fn, (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},))
    else:
        run = anyshape.compile(fn, dynamic=True, fullgraph=True)
    for n in (3, 1, 2, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(run(x), fn(x))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What torch refuses is refused in its words."""
    fn, x = REFUSED[name], torch.randn(3, 4)
    with pytest.raises(TypeError) as eager:
        fn(x)
    with pytest.raises(TypeError) as found:
        anyshape.export(fn, (x,), dynamic_shapes=({0: Dim("n")},))(x)
    assert str(found.value) == str(eager.value)


def test_value_is_guarded() -> None:
    """An integer that changes between calls is seen."""
    count = Count(2)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.repeat(count, 1)

    run = anyshape.compile(fn, fullgraph=True)
    for n in (2, 1, 3, 2):
        count.n = n
        assert run(torch.ones(2, 2)).shape == (2 * n, 2)
