"""What users write in a traced function: right at other sizes, or refused with their line."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
import torch

import anyshape
from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.trace import capture
from tests.differential.agree import KINDS
from tests.differential.snippet import LIMITED, REFUSED, RIGHT, B, S, Snippet, Snippets, check

if TYPE_CHECKING:
    Tensor = torch.Tensor

snippet = Snippets()

# ---------------------------------------------------------------------- sizes as numbers


@snippet()
def factories(x: Tensor) -> Any:
    b, s = x.shape
    return (
        torch.zeros(b, s), torch.ones(s), torch.empty(b, 0), torch.full((b, 2), 1.5), torch.eye(s),
        torch.arange(b), torch.arange(1, s + 1), torch.linspace(0, 1, s), torch.rand(b, s) * 0,
        x.new_zeros(b), torch.randn(s, 2).shape[0], torch.zeros(x.shape), torch.zeros(x.size(0)),
        torch.arange(b)[:, None] + torch.arange(s), torch.randint(0, 1, (b,)),
    )  # fmt: skip


@snippet()
def arithmetic(x: Tensor) -> Any:
    b, s = x.shape
    return x / b, x * (s - 1), x + b * s, b * x, x**2 / (b + s), b - x, s // 2 + x, -b * x


@snippet()
def numbers_are_returned(x: Tensor) -> Any:
    return x.shape[0], x.shape[0] * 2 + 1, x.numel(), {"rank": x.dim(), "shape": tuple(x.shape)}


@snippet()
def a_shape_is_returned(x: Tensor) -> Any:
    return x.shape, x.size(), list(x.shape), x.t().shape[0]


@snippet()
def square_root_as_a_power(x: Tensor) -> Any:
    return x / x.shape[1] ** 0.5


@snippet()
def square_root_by_math(x: Tensor) -> Any:
    return x / math.sqrt(x.shape[1])


@snippet(LIMITED, REFUSED)
def rows_by_range(x: Tensor) -> Any:
    total = x.new_zeros(x.shape[1])
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


@snippet(LIMITED, REFUSED)
def rows_by_iteration(x: Tensor) -> Any:
    return sum(row * 2 for row in x)


@snippet(LIMITED, REFUSED)
def rows_by_enumerate(x: Tensor) -> Any:
    return torch.stack([row * i for i, row in enumerate(x)])


@snippet()
def length(x: Tensor) -> Any:
    return x * len(x)


@snippet(LIMITED, REFUSED)
def list_of_a_size(x: Tensor) -> Any:
    return torch.tensor([1.0] * x.shape[0])


@snippet(LIMITED, REFUSED)
def branch_on_a_size(x: Tensor) -> Any:
    return x * 2 if x.shape[0] > 2 else x * 3


@snippet(LIMITED, RIGHT)
def conversion_of_a_size(x: Tensor) -> Any:
    return x * int(x.shape[0]), x * float(x.shape[1])


@snippet(REFUSED)
def a_size_in_text(x: Tensor) -> Any:
    return x * len(f"{x.shape[0]:05d}"), x * len("%d" % x.shape[0])  # noqa: UP031  what users write


@snippet(LIMITED, REFUSED)
def assertions_on_sizes(x: Tensor) -> Any:
    assert x.shape[0] < 100
    if x.shape[1] == 1000:
        raise ValueError("too long")
    return x + 1


@snippet()
def comparisons_with_known_answers(x: Tensor) -> Any:
    return x * 2 if x.shape[0] >= 0 and x.dim() == 2 else x


@snippet()
def smaller_and_larger(x: Tensor) -> Any:
    return x[: torch.sym_min(x.shape[0], 2)], x.new_zeros(torch.sym_max(x.shape[0], 4))


@snippet()
def checks(x: Tensor) -> Any:
    torch._check(x.shape[0] < 1000)
    torch._check(x.shape[1] <= 1000, lambda: "too wide")
    return x + 1


@snippet()
def an_instance_of_int(x: Tensor) -> Any:
    return x + isinstance(x.shape[0], int), isinstance(x, torch.Tensor), torch.is_tensor(x)


# ---------------------------------------------------------------------- structures


@dataclasses.dataclass
class Point:
    """A user's class that pytree does not know."""

    x: Any
    scale: float


class Pair(NamedTuple):
    """A user's class that pytree knows."""

    first: Any
    second: Any


@snippet()
def a_dictionary(x: Tensor) -> Any:
    cache = {"double": x * 2}
    cache["more"] = cache["double"] + 1
    return cache


@snippet()
def lists_and_tuples(x: Tensor) -> Any:
    parts = [x, x * 2]
    parts.append(parts[0] + parts[1])
    return tuple(parts), Pair(x + 1, [x, None, "text", 2.5])


@snippet()
def a_class_inside(x: Tensor) -> Any:
    p = Point(x * 2, 3.0)
    return dataclasses.replace(p, scale=2.0).x * p.scale


@snippet()
def a_tensor_as_a_key(x: Tensor) -> Any:
    names = {x: 2.0}
    return x * names[x], x in {x}


@snippet()
def nested_functions(x: Tensor) -> Any:
    scale = 2.0

    def inner(y: Tensor) -> Tensor:
        nonlocal scale
        scale += 1
        return y * scale

    return inner(x) + inner(x), functools.reduce(torch.add, [x, x, x])


@snippet()
def a_generator(x: Tensor) -> Any:
    def parts() -> Any:
        for i in range(3):
            yield x * i

    return list(parts())


@snippet(LIMITED, REFUSED)
def an_exception_inside(x: Tensor) -> Any:
    try:
        return x @ torch.zeros(2, 2, 2)[0, 0, 0]
    except RuntimeError:
        return x + 1


@snippet(LIMITED)
def an_exception_that_depends_on_a_size(x: Tensor) -> Any:
    try:
        return x @ torch.zeros(2)
    except RuntimeError:
        return x + 1


@snippet()
def a_context_manager(x: Tensor) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        x = x + 1
        1 / 0  # noqa: B018
    return x


# ---------------------------------------------------------------------- the type of a tensor


@snippet()
def an_exact_type(x: Tensor) -> Any:
    return x * 2 if type(x) is torch.Tensor else x * 3


@snippet()
def a_hundred_attributes(x: Tensor) -> Any:
    return (
        x.T, x.mT, x.real, x.ndim, x.dtype, x.device, x.is_cuda, x.requires_grad, x.is_leaf,
        x.itemsize, x.nbytes, x.layout is torch.strided, x.is_floating_point(), x.numel(),
    )  # fmt: skip


@snippet(REFUSED)
def to_numpy(x: Tensor) -> Any:
    return torch.from_numpy(np.tanh(x.numpy()))


@snippet(REFUSED)
def to_numpy_by_asarray(x: Tensor) -> Any:
    return x + float(np.asarray(x).sum())


@snippet(REFUSED)
def numpy_function(x: Tensor) -> Any:
    return np.exp(x)


@snippet()
def with_numpy_numbers(x: Tensor) -> Any:
    return x * np.float32(2.0), x + np.int64(3), x[:, np.int64(0)], x.sum(np.int64(0))


@snippet()
def constant_from_numpy(x: Tensor) -> Any:
    return x * torch.from_numpy(np.ones(1, dtype=np.float32)), x + torch.as_tensor(np.arange(1))


@snippet(LIMITED, REFUSED)
def list_of_values(x: Tensor) -> Any:
    return [v * 2 for v in x[0].tolist()]


@snippet(REFUSED)
def branch_on_data(x: Tensor) -> Any:
    return x * 2 if x.sum() > 0 else x * 3


@snippet(REFUSED)
def loop_on_data(x: Tensor) -> Any:
    while x.abs().max() > 1:
        x = x / 2
    return x


@snippet(REFUSED)
def equal_tensors(x: Tensor) -> Any:
    return x * 2 if torch.equal(x, x + 1) else x * 3


@snippet(REFUSED)
def close_tensors(x: Tensor) -> Any:
    return x * 2 if torch.allclose(x, x) else x * 3


@snippet()
def printed(x: Tensor) -> Any:
    print(x, x.shape, f"{x.shape[0]} {x}")
    return x + 1


@snippet()
def items_that_stay_symbolic(x: Tensor) -> Any:
    n = (x > 0).sum().item()
    return x + n, torch.zeros(2) + n, x * x.sum().item(), x.max().item() + x


@snippet()
def sizes_from_data(x: Tensor) -> Any:
    n = (x > 0).sum().item()
    return torch.arange(n), x[x > 0] * 2, x.nonzero(), torch.where(x > 0)


@snippet()
def unique_values(x: Tensor) -> Any:
    return (x > 0).long().unique(), torch.unique((x > 0).int().flatten(), return_counts=True)


@snippet()
def assertion_on_data(x: Tensor) -> Any:
    torch._assert_async((x == x).all())
    return x + 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@snippet.parametrize()
def test_snippet(s: Snippet, kind: str) -> None:
    check(s, kind)


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_as_the_result(kind: str) -> None:
    with pytest.raises(UnsupportedError, match="returns a Plain with traced values inside"):
        capture(lambda x: [Plain(x * 2)], (torch.randn(B, S),), dynamic=kind)
    (point,) = capture(lambda x: [Point(x * 2, 3.0)], (torch.ones(B, S),), dynamic=kind)(
        torch.ones(B + 1, S)
    )
    assert type(point) is Point
    assert torch.equal(point.x, torch.full((B + 1, S), 2.0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_as_a_key(kind: str) -> None:
    def f(x: Tensor) -> Any:
        return x * {3: 1.0}[x.shape[0]]

    if kind == "unbacked":
        with pytest.raises(DataDependentError):
            capture(f, (torch.randn(3, S),), dynamic=kind)
    else:
        assert capture(f, (torch.randn(3, S),), dynamic=kind).guards


class _Asking(type):
    def __instancecheck__(cls, instance):
        return True


class _Plain:
    def __init__(self, tag="default"):
        self.tag = tag


class _Other(_Plain, metaclass=_Asking):
    def __new__(cls):
        return _Plain("made")


def test_init_does_not_run_for_what_is_no_instance():
    compiled = anyshape.compile(lambda x: (x + 1, _Other().tag), fullgraph=True)
    assert compiled(torch.ones(2))[1] == "made"
