"""Pieces of users' code: right at other sizes, or refused with the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import config
from anyshape.errors import AnyshapeError, DataDependentError, UnsupportedError
from anyshape.trace import capture
from tests.differential.agree import Dynamic, agrees

if TYPE_CHECKING:
    from collections.abc import Callable

B, S = 3, 5
SIZES = ((3, 5), (2, 7), (6, 2), (1, 5), (1, 1))
RIGHT = "right"  # at all sizes
LIMITED = "limited"  # right, or refused by a guard or an assert, at other sizes
REFUSED = "refused"  # UnsupportedError or DataDependentError with the user's line


class Snippet(NamedTuple):
    """A function, what makes its inputs, and what becomes of it for backed and unbacked sizes."""

    fn: Callable[..., Any]
    inputs: Callable[..., tuple[Any, ...]]
    backed: str
    unbacked: str


def matrix(b: int, s: int) -> tuple[Any, ...]:
    return (torch.randn(b, s),)


def fixed(b: int, _: int) -> tuple[Any, ...]:
    return (torch.randn(b, 4),)


def pair(b: int, s: int) -> tuple[Any, ...]:
    return torch.randn(b, s), torch.randn(b, s)


class Snippets(list[Snippet]):
    """The snippets of a file; calling it gives a decorator that adds one."""

    def __call__(
        self, backed: str = RIGHT, unbacked: str | None = None, inputs: Any = matrix
    ) -> Callable[[Any], Any]:
        def add(fn: Any) -> Any:
            self.append(Snippet(fn, inputs, backed, unbacked or backed))
            return fn

        return add

    def parametrize(self) -> Any:
        """The mark of the test that gets each of them as `s`."""
        return pytest.mark.parametrize("s", self, ids=[s.fn.__name__ for s in self])


def check(s: Snippet, kind: str) -> None:
    """What becomes of the snippet is what it says."""
    inputs = s.inputs(B, S)
    expected = s.backed if kind == "backed" else s.unbacked
    choose = Dynamic(kind, {n: {"min": 1} for n in (B, S)})
    with config.patch(specialize_zero_one=False):
        if expected == REFUSED:
            with pytest.raises((UnsupportedError, DataDependentError)) as caught:
                capture(s.fn, inputs, dynamic=choose)
            file = s.fn.__code__.co_filename.rpartition("/")[2]
            assert f"{file}:" in str(caught.value), str(caught.value)
            return
        captured = capture(s.fn, inputs, dynamic=choose)
    if kind == "backed":
        agrees(captured, s.fn, s.inputs(B, S))
    for sizes in SIZES:
        other = s.inputs(*sizes)
        try:
            captured(*pytree.tree_map(lambda t: t.clone(), other))
        except AnyshapeError:
            if expected != LIMITED:
                raise
        else:
            agrees(captured, s.fn, other)
