"""What programs call for higher-order calls: the functions are bodies, everything is flat.

A body is called with the list of the values of its parameters. The results are lists with new
memory. A file may name these functions, so whatever is no body is refused; nothing else is checked
that was checked while tracing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat import flex_attention as flex
from anyshape.torch_compat.higher_order import generic_associative_scan
from anyshape.trace.higher_order.body import Body

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[list[Any]], list[Any]]
    Values = list[Any]


def _need_bodies(*bodies: Any) -> None:
    for body in bodies:
        if not isinstance(body, Body | torch.nn.Module):  # in a graph of fx a body is a module
            raise TypeError(f"expected a body, got {type(body).__name__}")


def cond(pred: Any, then: Function, for_then: Values, other: Function, for_other: Values) -> Values:
    """One of two bodies."""
    _need_bodies(then, other)
    return then(for_then) if pred else other(for_other)


def while_loop(
    test: Function, for_test: Values, step: Function, for_step: Values, carried: Values
) -> Values:
    """A body as long as a test holds."""
    _need_bodies(test, step)
    values = [x.clone() if isinstance(x, torch.Tensor) else x for x in carried]
    while test([*values, *for_test])[0]:
        values = step([*values, *for_step])
    return values


def map(body: Function, captured: Values, xs: Values) -> Values:
    """A body for every row, the results stacked."""
    _need_bodies(body)
    rows = [body([*row, *captured]) for row in zip(*[x.unbind() for x in xs], strict=True)]
    return [stack(column) for column in zip(*rows, strict=True)]


def scan(body: Function, captured: Values, init: Values, xs: Values, carries: int) -> Values:
    """A body for every row, which also gets what it returned for the row before."""
    _need_bodies(body)
    values = [x.clone() for x in init]
    rows = []
    for row in zip(*[x.unbind() for x in xs], strict=True):
        results = body([*values, *row, *captured])
        values = results[:carries]
        rows.append(results[carries:])
    return [*values, *[stack(column) for column in zip(*rows, strict=True)]]


def stack(column: tuple[Any, ...]) -> Any:
    """The results of all rounds in one place; a number or None is that of the last round."""
    return torch.stack(column) if isinstance(column[0], torch.Tensor) else column[-1]


def associative_scan(body: Function, captured: Values, xs: Values) -> Values:
    """An associative body over all prefixes, by halves, as torch does it."""
    _need_bodies(body)
    combine = torch.func.vmap(lambda *pair: tuple(body([*pair, *captured])))
    return list(generic_associative_scan(lambda *pair: list(combine(*pair)), xs))


# ---------------------------------------------------------------------- transforms


def vmap(
    body: Function,
    captured: Values,
    xs: Values,
    in_dims: tuple[int, ...],
    out_dims: tuple[Any, ...],
    randomness: str,
    chunk_size: int | None,
) -> Values:
    """A body for all examples of a batch at once."""
    _need_bodies(body)
    call = torch.func.vmap(
        lambda *examples: tuple(body([*examples, *captured])),
        in_dims,
        out_dims,
        randomness,
        chunk_size=chunk_size,
    )
    return list(call(*xs))


def grad(body: Function, captured: Values, xs: Values) -> Values:
    """The gradients of the first result, then all results."""
    _need_bodies(body)
    grads, (value, rest) = torch.func.grad_and_value(
        lambda *operands: _first(body([*operands, *captured])),
        argnums=tuple(range(len(xs))),
        has_aux=True,
    )(*xs)
    return [*grads, value, *rest]


def _first(results: Values) -> tuple[Any, Values]:
    return results[0], results[1:]


def vjp(body: Function, captured: Values, xs: Values, count: int) -> Values:
    """The results, the first `count` of them differentiable, and the pullback of these."""
    _need_bodies(body)
    found: Any = torch.func.vjp(
        lambda *operands: _split(body([*operands, *captured]), count), *xs, has_aux=True
    )
    out, function, rest = found
    return [*out, *rest, LinearMap(function)]


class LinearMap:
    """A function that `vjp` or `linearize` of torch has made, which no program computes itself."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function


def pull_back(made: LinearMap, cotangents: Values) -> Values:
    """The pullback of `vjp` at cotangents."""
    _need_map(made)
    return list(made.function(tuple(cotangents)))


def linearize(body: Function, captured: Values, xs: Values) -> Values:
    """The results, all differentiable, and the tangents of them as a function of those of `xs`."""
    _need_bodies(body)
    out, function = torch.func.linearize(lambda *operands: tuple(body([*operands, *captured])), *xs)
    return [*out, LinearMap(function)]


def push_forward(made: LinearMap, tangents: Values) -> Values:
    """The function that `linearize` has made at tangents."""
    _need_map(made)
    return list(made.function(*tangents))


def _need_map(made: Any) -> None:
    if type(made) is not LinearMap:
        raise TypeError(f"expected a linear map, got {type(made).__name__}")


def jvp(body: Function, captured: Values, xs: Values, tangents: Values, count: int) -> Values:
    """The results, the first `count` of them with tangents, which come last."""
    _need_bodies(body)
    found: Any = torch.func.jvp(
        lambda *operands: _split(body([*operands, *captured]), count),
        tuple(xs),
        tuple(tangents),
        has_aux=True,
    )
    out, slopes, rest = found
    return [*out, *rest, *slopes]


def _split(results: Values, count: int) -> tuple[tuple[Any, ...], Values]:
    return tuple(results[:count]), results[count:]


def jacobian(
    body: Function, captured: Values, xs: Values, count: int, is_reverse: bool, options: Any
) -> Values:
    """The Jacobians of the first `count` results by each operand, then the other results."""
    _need_bodies(body)
    transform = torch.func.jacrev if is_reverse else torch.func.jacfwd
    found, rest = transform(
        lambda *operands: _split(body([*operands, *captured]), count),
        argnums=tuple(range(len(xs))),
        has_aux=True,
        **options,
    )(*xs)
    return [*[part for row in found for part in row], *rest]


# ---------------------------------------------------------------------- attention


def flex_attention(
    score: Function,
    for_score: Values,
    mask: Function,
    for_mask: Values,
    query: Any,
    key: Any,
    value: Any,
    scale: float,
) -> Values:
    """Attention with a body for each score and one for the mask."""
    _need_bodies(score, mask)
    found = flex.attend(
        query,
        key,
        value,
        lambda x, b, h, q, k: score([x, b, h, q, k, *for_score])[0],
        lambda b, h, q, k: mask([b, h, q, k, *for_mask])[0],
        scale,
    )
    return list(found)


def create_mask(
    body: Function, captured: Values, shape: tuple[int, ...], device: str, is_score: bool
) -> Values:
    """The mask that a body makes of scores or of indices."""
    _need_bodies(body)
    of_score = lambda x, b, h, q, k: body([x, b, h, q, k, *captured])[0]  # noqa: E731  torch counts its parameters
    of_index = lambda b, h, q, k: body([b, h, q, k, *captured])[0]  # noqa: E731
    return [flex.create_mask(of_score if is_score else of_index, *shape, device)]


RUNNERS: Final = frozenset(
    (
        cond,
        while_loop,
        map,
        scan,
        associative_scan,
        vmap,
        grad,
        vjp,
        pull_back,
        linearize,
        push_forward,
        jvp,
        jacobian,
        flex_attention,
        create_mask,
    )
)
"""All of them, by which programs with bodies are known."""
