"""The containers that calls of torch return: their classes, and new ones on every call."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import pytest
import torch

import anyshape
from anyshape.rules.dispatch import resolve
from anyshape.tensor.sym_tensor import ROWS
from anyshape.trace import tracer
from anyshape.trace.scan import hidden_in

ATEN = torch.ops.aten


def with_out(x: torch.Tensor) -> Any:
    return torch.sort(x, out=(torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)))


RETURNED = {
    "list": lambda x: ATEN.unbind.int(x, 1),
    "packet": lambda x: ATEN.split_with_sizes(x, [1, 2]),
    "meta_kernel": lambda x: ATEN.unsafe_split(x, 2),
    "condition": lambda x: ATEN.where.default(x > 0),
    "tuple": lambda x: ATEN.max.dim(x, 1),
    "tuple_of_packet": lambda x: ATEN.topk(x, 2),
    "sizes": lambda x: ATEN.size(x.T),
    "foreach": lambda x: ATEN._foreach_add([x, x], 1.0),
    "named": lambda x: torch.max(x, 1),
    "named_out": with_out,
    "parts": lambda x: x.split(2),
}


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)


@pytest.mark.parametrize("name", RETURNED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_an_op_returns_the_container_of_eager_execution(name: str, dynamic: Any) -> None:
    fn = RETURNED[name]
    compiled = anyshape.compile(fn, dynamic=dynamic)
    for n in (3, 3, 3):
        x = torch.randn(n, 4)
        assert same(compiled(x), fn(x))


def test_the_named_tuple_of_a_function_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "container_of", lambda _: None)
    ROWS.clear()
    try:
        x = torch.randn(3, 4)
        assert not same(anyshape.compile(RETURNED["tuple"])(x), RETURNED["tuple"](x))
    finally:
        ROWS.clear()


NESTED = {
    "repeated": lambda x: x.tolist() * 2,
    "joined": lambda x: x.tolist() + x.T.tolist(),
    "unpacked": lambda x: [*x.tolist(), *x.tolist()],
    "one_row": lambda x: [x.tolist()[0]] * 2,
    "copied": lambda x: list(x.tolist()),
    "gone_through": lambda x: [row for row in x.tolist() for _ in range(2)],
    "floats": lambda x: (x * 0.5).tolist() * 2,
    "three": lambda x: x[None].tolist()[0] * 2,
    "literal": lambda x: [*torch.tensor([[1, 2], [3, 4]]).tolist(), x.tolist()],
}


@pytest.mark.parametrize("name", NESTED)
def test_rows_of_numbers_are_new_lists_on_every_call(name: str) -> None:
    fn = NESTED[name]
    compiled = anyshape.compile(fn)
    last: Any = None
    for n in (2, 2, 1, 3):
        x = torch.arange(2 * n).reshape(n, 2) * n
        found = compiled(x)
        assert same(found, fn(x))
        assert last is None or all(a is not b for a in found for b in last)
        last = found


def test_rows_that_nobody_made_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "made", lambda _, x: x)
    x = torch.arange(4).reshape(2, 2)
    fn = NESTED["repeated"]
    assert not same(_outcome(anyshape.compile(fn, fullgraph=True), x), fn(x))


def _outcome(fn: Any, x: torch.Tensor) -> Any:
    try:
        return fn(x)
    except anyshape.AnyshapeError as e:
        return e


class Hidden:
    def method(self) -> None:
        """Something that a bound method is made of."""


def _closing(x: Any) -> Any:
    def found(a: int = 1, *, b: int = 2) -> Any:
        return x, a, b

    return found


def _default(x: Any) -> Any:
    def found(a: Any = x) -> Any:
        return a

    return found


def _named_default(x: Any) -> Any:
    def found(*, a: Any = x) -> Any:
        return a

    return found


@pytest.mark.parametrize(
    "holding",
    [
        _closing,
        _default,
        _named_default,
        lambda x: x.method,
        lambda x: functools.partial(max, x),
        lambda x: functools.partial(max, key=x),
        lambda x: functools.partial(_closing(x)),
        lambda x: [_closing((x,))],
    ],
)
def test_what_a_function_holds_is_found(holding: Any) -> None:
    x = Hidden()
    assert hidden_in(holding(x), (Hidden,)) is x
    assert hidden_in(holding(x), (set,)) is None


def test_a_function_that_holds_traced_values_is_never_returned() -> None:
    def fn(x: torch.Tensor) -> Any:
        y = x + 1

        def inner(a: int) -> Any:
            assert a  # which pytest rewrites, so that the code is not that of the source

            def found() -> torch.Tensor:
                return y * 2

            return found

        return inner(1)

    x = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(anyshape.compile(fn)(x)(), x * 4)
    found = _outcome(anyshape.compile(fn, fullgraph=True), x)
    assert isinstance(found, anyshape.AnyshapeError) or torch.equal(found(), x * 4)
