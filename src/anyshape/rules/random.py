"""Random ops: shapes as for factories and elementwise ops; equal calls give different values."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.rules.cast import formatted
from anyshape.rules.dispatch.result import Done, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.factory import new_meta, zeros_like
from anyshape.rules.generator import set_seed
from anyshape.rules.pointwise import elementwise, like
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import is_tensor, meta_of, shape_of, sizes_of
from anyshape.rules.shared.promote import floating
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import plain


@rule("rand", "randn", random=True)
def rand(
    *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    generator: Any = None, layout: Any = None, pin_memory: bool = False, names: Any = None,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """Random numbers of given sizes."""
    return formatted(new_meta(sizes_of(size), dtype, device, requires_grad), memory_format)


@rule("randint", random=True)
def randint(  # noqa: PLR0913  the signature is torch's
    *args: Any, low: Any = 0, high: Any = None, size: Any = None, dtype: Any = torch.int64,
    device: Any = None, requires_grad: bool = False, generator: Any = None, layout: Any = None,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Random integers."""
    shape = size if size is not None else next(a for a in args if isinstance(a, tuple | list))
    return new_meta(tuple(shape), dtype, device, requires_grad)


@rule("randperm", random=True)
def randperm(
    n: Any, *, dtype: Any = torch.int64, device: Any = None, requires_grad: bool = False,
    generator: Any = None, layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A random permutation."""
    return new_meta((n,), dtype, device, requires_grad)


@rule("rand_like", "randn_like", random=True)
def rand_like(x: Any, *, generator: Any = None, **options: Any) -> Any:
    """Random numbers of the shape of another tensor."""
    return zeros_like(x, **options)


@rule("randint_like", random=True)
def randint_like(x: Any, *bounds: Any, low: Any = 0, high: Any = None, **options: Any) -> Any:
    """Random integers of the shape of another tensor."""
    return zeros_like(x, **options)


@rule(
    "uniform",
    "normal_",
    "normal_functional",
    "exponential",
    "geometric",
    "log_normal",
    "cauchy",
    "random",
    random=True,
)
def filled(x: Any, *_: Any, **__: Any) -> Any:
    """A tensor filled with random numbers."""
    return like(x)


@rule("bernoulli", "poisson", "binomial", random=True)
def drawn(x: Any, *_: Any, **__: Any) -> Any:
    """A draw for each element, contiguous."""
    return Meta(meta_of(x).shape, meta_of(x).dtype)


@rule("normal", random=True)
def normal(  # noqa: PLR0913  the signature is torch's
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Normal variables with given means and deviations."""
    if size is not None:
        return new_meta(tuple(size), dtype, device, requires_grad)
    operands = [x for x in (mean, std) if is_tensor(x)]
    shape = broadcast(*[shape_of(x) for x in operands])
    return Meta(shape, meta_of(operands[0]).dtype)


@rule("multinomial", random=True)
def multinomial(
    x: Any, num_samples: Any, replacement: bool = False, *, generator: Any = None
) -> Any:
    """Draws of classes by their weights."""
    return Meta((*shape_of(x)[:-1], plain(num_samples)), torch.int64)


@rule("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", random=True)
def dropout(x: Any, p: Any, train: bool) -> Any:
    """Elements zeroed at random; the tensor itself if none are."""
    return Done(x) if not train or p == 0 else like(x)


@rule("native_dropout", random=True)
def native_dropout(x: Any, p: Any, train: Any) -> Any:
    """Elements zeroed at random, and which are kept."""
    kept = like(x, torch.bool)
    kept.requires_grad = False
    return Many([like(x), kept])


@rule("native_dropout_backward")
def native_dropout_backward(grad_output: Any, mask: Any, scale: Any) -> Any:
    """The gradient of dropout."""
    return elementwise(floating(meta_of(grad_output).dtype), grad_output, mask)


@rule("rrelu_with_noise_functional", random=True)
def rrelu_with_noise_functional(x: Any, noise: Any, *_: Any, **__: Any) -> Any:
    """A leaky relu with random slopes, and the slopes."""
    return Many([like(x), like(noise)])


@rule("rrelu", random=True)
def rrelu(x: Any, *_: Any, **__: Any) -> Any:
    """A leaky relu with random slopes."""
    return like(x)


@rule("F.dropout", random=True)
def functional_dropout(x: Any, p: Any = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """The function of `torch.nn.functional`."""
    if inplace or not 0 <= p <= 1:
        return NotImplemented
    return dropout(x, p, training)


@rule("manual_seed", "seed", random=True)
def manual_seed(*args: Any) -> Any:
    """Seed the generator when the program runs."""
    current().emit(set_seed, args)
    return Done(torch.default_generator)
