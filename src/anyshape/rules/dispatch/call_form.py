"""Normalization of calls: other names of keywords, other orders of operands.

A rule has the signature of its op. torch accepts more: NumPy's names for keywords, `input` and
`self` for the tensor that a method is called on, sizes as one keyword, and deprecated orders of
operands. This module converts each of them to the signature of the rule.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.rules.shared.operand import is_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_NUMPY: Final = {"axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1"}
_TENSOR: Final = ("input", "self")
_SIZES: Final = "size"
_OPERAND: Final = "x"  # what a rule calls the tensor that a method is called on
# Overloads whose parameters have other names than those of the rule, in its order.
_OVERLOADS: Final[dict[str, tuple[str, ...]]] = {
    "batch_sizes": (
        "data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train",
        "bidirectional",
    ),
    "dims_self": ("self", "other", "dims_self", "dims_other"),
}  # fmt: skip


class _Parameters(NamedTuple):
    """Which other forms of a call the parameters of a rule allow.

    `tensor`: the parameter for `input` and `self` if it is not the first. `spreads`: sizes may be
    given one by one.
    """

    tensor: str | None
    spreads: bool


@functools.cache
def _parameters(function: Callable[..., Any]) -> _Parameters:
    known = inspect.signature(function).parameters
    first = next(iter(known))
    spreads = any(p.kind is p.VAR_POSITIONAL and p.name.startswith(_SIZES) for p in known.values())
    return _Parameters(_OPERAND if first != _OPERAND and _OPERAND in known else None, spreads)


def normalized(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    """The arguments with the keywords of the rule; `out=None` is dropped."""
    if "out" in kwargs:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    if not _NUMPY.keys().isdisjoint(kwargs):
        kwargs = {_NUMPY.get(k, k): v for k, v in kwargs.items()}
    for mark, names in _OVERLOADS.items():
        if mark in kwargs:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            args = tuple([given.pop(name) for name in names if name in given])
            kwargs = given
    for name in _TENSOR:
        if name in kwargs:
            kwargs = dict(kwargs)
            x = kwargs.pop(name)
            keyword = _parameters(function).tensor
            if keyword is None:
                args = (x, *args)
            else:
                kwargs[keyword] = x
    if _SIZES in kwargs and _parameters(function).spreads:
        kwargs = dict(kwargs)
        args = (*args, kwargs.pop(_SIZES))
    return args, kwargs


def takes(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the signature of a function accepts the arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


# ---------------------------------------------------------------------- deprecated orders

_SCALED: Final = frozenset(("add", "sub", "subtract"))
_WEIGHTED: Final = frozenset(("addcmul", "addcdiv"))
_BLENDED: Final = frozenset(("addmm", "addmv", "addr", "addbmm", "baddbmm"))


def reordered(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
    """The arguments of a call in a deprecated order, in the current one; None for other calls.

    - `add(x, alpha, other)` and `add(x, other, alpha)` are `add(x, other, alpha=alpha)`.
    - `addcmul(x, value, a, b)` is `addcmul(x, a, b, value=value)`.
    - `addmm(beta, x, alpha, a, b)` is `addmm(x, a, b, beta=beta, alpha=alpha)`; so is the form
      without `alpha`, and the method, which has `x` first.
    """
    name = name.removesuffix("_")
    if name in _SCALED and len(args) == 3:
        x, other, alpha = args
        if is_tensor(alpha):
            other, alpha = alpha, other
        return (x, other), {**kwargs, "alpha": alpha}
    if name in _WEIGHTED and len(args) == 4:
        x, value, a, b = args
        return (x, a, b), {**kwargs, "value": value}
    if name in _BLENDED and len(args) in (4, 5):
        numbers = [a for a in args if not is_tensor(a)]
        tensors = [a for a in args if is_tensor(a)]
        if len(tensors) == 3 and len(numbers) == len(args) - 3:
            scales = dict(zip(("beta", "alpha"), numbers, strict=False))
            return tuple(tensors), {**kwargs, **scales}
    return None
