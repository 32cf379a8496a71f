"""What a function looks up for the first time while it is traced, and arguments by odd names."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.builtin import stateful_function


@pytest.fixture
def library() -> Any:
    with torch.library._scoped_library("anyshape_first_use", "FRAGMENT") as made:
        yield made


def define(library: Any, name: str) -> None:
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, torch.sin, "CompositeExplicitAutograd")


def test_the_overload_of_an_op_is_found_at_its_first_use(library: Any) -> None:
    define(library, "found")
    fn = anyshape.compile(
        lambda x: torch.ops.anyshape_first_use.found.default(x) + 0, fullgraph=True
    )
    for n in (2, 3, 1):
        x = torch.randn(n)
        assert torch.equal(fn(x), x.sin() + 0)


def test_without_that_the_registry_would_be_changed(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(library, "lost")
    monkeypatch.setattr(stateful_function, "_STATELESS", (torch.Tensor, type))
    fn = anyshape.compile(
        lambda x: torch.ops.anyshape_first_use.lost.default(x) + 0, fullgraph=True
    )
    with pytest.raises(anyshape.EffectError):
        fn(torch.ones(2))


def numbers(x: torch.Tensor) -> Any:
    made = (0j, complex(1), complex(2, 3), complex(imag=2), complex(imag=1, real=2))
    return [x + n for n in (*made, complex("1+2j"), complex(x.size(0), 1))]


def test_complex_takes_any_arguments() -> None:
    fn = anyshape.compile(numbers, fullgraph=True)
    for n in (1, 2):
        x = torch.randn(n)
        assert all(torch.equal(a, b) for a, b in zip(fn(x), numbers(x), strict=True))


class Doubled(torch.nn.Module):
    def forward(this, self: torch.Tensor) -> torch.Tensor:  # noqa: N805
        return self * 2


def by_name(self: list[torch.Tensor], exponent: float) -> Any:
    return torch._foreach_pow(self=self, exponent=exponent)[0] + 1


def test_an_argument_may_be_named_self() -> None:
    x = torch.rand(3)
    want = by_name([x], 2.5)
    assert torch.equal(anyshape.compile(by_name)(self=[x], exponent=2.5), want)
    program = anyshape.export(by_name, (), {"self": [x], "exponent": 2.5})
    assert torch.equal(program(self=[x], exponent=2.5), want)
    assert torch.equal(anyshape.compile(Doubled())(self=x), x * 2)
