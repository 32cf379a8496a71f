"""Calls of exported programs: arguments are bound as the function binds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape import ArgumentError, export

if TYPE_CHECKING:
    from pathlib import Path

X, Y = torch.arange(3.0), torch.arange(3.0) + 10


def f(x: torch.Tensor, y: torch.Tensor, *, scale: float = 2.0, flip: bool = False) -> Any:
    out = x - y * scale
    return out.flip(0) if flip else out


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X, Y), {}),
    ((X,), {"y": Y}),
    ((), {"x": X, "y": Y}),
    ((), {"y": Y, "x": X}),
    ((X, Y), {"scale": 2.0}),
    ((X, Y), {"flip": False}),
]


@pytest.mark.parametrize("example", CALLS)
@pytest.mark.parametrize("call", CALLS)
def test_every_spelling_of_a_call(example: Any, call: Any) -> None:
    program = export(f, *example)
    assert torch.equal(program(*call[0], **call[1]), f(X, Y))


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((X,), {}, "f is called without the argument 'y'"),
        ((X, Y, Y), {}, "f takes 2 positional arguments, not 3"),
        ((X, Y), {"y": Y}, "f has two values for the argument 'y'"),
        ((X, Y), {"z": Y}, "f has no argument 'z'"),
        ((X, Y), {"flip": True}, "f was exported without the argument 'flip'"),
        ((X, Y), {"flip": 0}, "f was exported without the argument 'flip'"),
    ],
)
def test_wrong_calls(args: Any, kwargs: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        export(f, (X, Y))(*args, **kwargs)


def test_a_module_and_a_method() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, k: int = 3) -> Any:
            return x * k

    program = export(Net(), (X,), {"k": 3})
    for call in ((X, 3), (X,)):
        assert torch.equal(program(*call), X * 3)
    assert torch.equal(export(Net().forward, (X, 3))(k=3, x=X), X * 3)


def test_collected_arguments() -> None:
    def g(x: torch.Tensor, *rest: torch.Tensor, **named: torch.Tensor) -> Any:
        return x + sum(rest) + named["k"]

    program = export(g, (X, Y, Y), {"k": X})
    assert torch.equal(program(X, Y, Y, k=X), g(X, Y, Y, k=X))
    with pytest.raises(ArgumentError, match="positional arguments is 2, not 3"):
        program(X, Y, k=X)


def test_positional_only() -> None:
    def g(x: torch.Tensor, /, y: torch.Tensor) -> Any:
        return x - y

    program = export(g, (X, Y))
    assert torch.equal(program(X, y=Y), X - Y)
    with pytest.raises(ArgumentError, match="g takes the argument 'x' by position"):
        program(x=X, y=Y)


def test_a_loaded_program_names_its_positional_arguments(tmp_path: Path) -> None:
    export(f, (X,), {"y": Y}).save(tmp_path / "a")
    loaded = anyshape.load(tmp_path / "a")
    assert torch.equal(loaded(y=Y, x=X), f(X, Y))
    with pytest.raises(ArgumentError, match="1 positional argument, not 2"):
        loaded(X, Y)
