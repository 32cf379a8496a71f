"""Layouts that a function reads at sizes 0 and 1 are eager's; a check that fails is no error."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import RuntimeAssertError
from anyshape.interop import lowerable

entry: Any = __import__("anyshape.compile.cache.entry", fromlist=["entry"])
LOG: list[int] = []


def strides(b: Any) -> Any:
    LOG.append(b.shape[0])
    return (b + 0).stride(), b * 2


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"dynamic": "unbacked"}], ids=str)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
def test_strides_of_transposed_inputs(options: Any, backend: str) -> None:
    compiled = anyshape.compile(strides, backend=backend, **options)
    for n in (3, 5, 1, 0, 2, 1):
        b = torch.ones(3, n).t()
        LOG.clear()
        assert compiled(b)[0] == (b + 0).stride()
        assert [n] == LOG  # once, although the call may have run twice


def test_a_check_that_fails_is_an_error_where_nothing_runs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: the checks of layouts are those of any assert."""
    monkeypatch.setattr(entry, "OF_LAYOUTS", frozenset())
    compiled = anyshape.compile(lambda b: (b + 0).stride())
    compiled(torch.ones(3, 3).t())
    with pytest.raises(RuntimeAssertError, match="has strides"):
        compiled(torch.ones(3, 1).t())


def test_a_compiler_that_drops_the_check_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: torch's compilers get programs that read such layouts."""
    monkeypatch.setattr(lowerable, "OF_LAYOUTS", frozenset())
    compiled = anyshape.compile(lambda b: (b + 0).stride(), backend="aot_eager")
    found = [compiled(torch.ones(3, n).t()) for n in (3, 1)]
    assert found != [(torch.ones(3, n).t() + 0).stride() for n in (3, 1)]
