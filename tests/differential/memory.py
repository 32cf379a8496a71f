"""Programs that write to memory: results, inputs and what is shared, against eager execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import config
from anyshape.trace import capture
from tests.differential.agree import Dynamic
from tests.differential.op_db import difference
from tests.differential.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable

B, S = 3, 5  # the example; nothing else has these sizes
SIZES = ((3, 5), (2, 7), (4, 4), (6, 2))


def matrix(b: int, s: int) -> tuple[Any, ...]:
    return (torch.randn(b, s),)


def pair(b: int, s: int) -> tuple[Any, ...]:
    return torch.randn(b, s), torch.randn(b, s)


def square(b: int, _: int) -> tuple[Any, ...]:
    return (torch.randn(b, b),)


def twice(b: int, s: int) -> tuple[Any, ...]:
    x = torch.randn(b, s)
    return x, x


def overlapping(b: int, s: int) -> tuple[Any, ...]:
    """Two views of one memory."""
    x = torch.randn(b, 2 * s)
    return x[:, :s], x[:, s:]


def view_and_base(b: int, s: int) -> tuple[Any, ...]:
    x = torch.randn(b, s)
    return x, x.view(-1)


def nested(b: int, s: int) -> tuple[Any, ...]:
    return ({"a": torch.randn(b, s), "b": [torch.randn(b, s)]},)


def indexed(b: int, s: int) -> tuple[Any, ...]:
    return torch.randn(b, s), torch.arange(b).flip(0), torch.randn(b, s)


def masked(b: int, s: int) -> tuple[Any, ...]:
    x = torch.randn(b, s)
    return x, x > 0


class Programs(list[tuple[Any, Any]]):
    """The programs of a file; calling it with what makes inputs gives a decorator that adds one."""

    def __call__(self, inputs: Callable[..., tuple[Any, ...]]) -> Callable[[Any], Any]:
        def add(fn: Any) -> Any:
            self.append((fn, inputs))
            return fn

        return add

    def parametrize(self) -> Any:
        """The mark of the test that gets each of them as `fn` and `make`."""
        ids = [fn.__name__ for fn, _ in self]
        return pytest.mark.parametrize(("fn", "make"), self, ids=ids)


def shared(results: Any, inputs: Any) -> list[Any]:
    """For each result: which inputs and earlier results it shares its memory with."""
    tensors = [t for t in pytree.tree_leaves(results) if isinstance(t, torch.Tensor)]
    others = [t for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    answers = []
    for i, t in enumerate(tensors):
        place = t.untyped_storage().data_ptr()
        same = [o.untyped_storage().data_ptr() == place for o in (*others, *tensors[:i])]
        answers.append((same, t.storage_offset()))
    return answers


def run(fn: Callable[..., Any], make: Callable[..., Any], sizes: tuple[int, int]) -> Any:
    """What a call returns, its inputs afterwards, and what shares memory."""
    torch.manual_seed(1)
    inputs = make(*sizes)
    torch.manual_seed(2)
    out = fn(*inputs)
    return out, inputs, shared(out, inputs)


def compare(captured: Any, fn: Any, make: Any, sizes: tuple[int, int]) -> None:
    expected, actual = run(fn, make, sizes), run(captured, make, sizes)
    wrong = difference("", actual[0], expected[0])
    assert not wrong, f"{sizes}: result: {wrong}"
    wrong = difference("", actual[1], expected[1])
    assert not wrong, f"{sizes}: inputs: {wrong}"
    assert actual[2] == expected[2], f"{sizes}: what shares memory"

    torch.manual_seed(1)
    predicted = Replay(captured, pytree.tree_leaves((make(*sizes), {}))).run()
    assert not predicted, predicted


def check(fn: Any, make: Any, kind: str) -> None:
    """Trace the program, which touches nothing, and compare it at several sizes."""
    torch.manual_seed(1)
    inputs = make(B, S)
    torch.manual_seed(1)
    before = make(B, S)
    versions = [t._version for t in pytree.tree_leaves(inputs)]
    where = {n: {"min": 2} for n in (B, S, 2 * S, B * S)}
    with config.patch(specialize_zero_one=False):
        captured = capture(fn, inputs, dynamic=Dynamic(kind, where))
    assert [t._version for t in pytree.tree_leaves(inputs)] == versions
    assert not difference("", inputs, before)
    for sizes in SIZES:
        compare(captured, fn, make, sizes)
