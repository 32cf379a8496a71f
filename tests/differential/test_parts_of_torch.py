"""The parts of torch that are more than ops: autograd, modes, custom ops, randomness."""

from __future__ import annotations

import copy
import random
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from tests.differential.agree import KINDS
from tests.differential.snippet import LIMITED, REFUSED, Snippet, Snippets, check, fixed, pair

if TYPE_CHECKING:
    Tensor = torch.Tensor

snippet = Snippets()


@torch.library.custom_op("anyshape_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(2 * x.shape[0], *x.shape[1:])


@torch.library.custom_op("anyshape_tests::bump", mutates_args=("x",))
def bump(x: torch.Tensor) -> None:
    x.add_(1)


@bump.register_fake
def _(x: torch.Tensor) -> None:
    return None


@torch.library.custom_op("anyshape_tests::kept", mutates_args=())
def kept(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero().contiguous()


@kept.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    n = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty((n, x.dim()), dtype=torch.long)


@snippet()
def custom_op(x: Tensor) -> Any:
    return twice(x) * 2, torch.ops.anyshape_tests.twice(x.t())


@snippet()
def custom_op_that_mutates(x: Tensor) -> Any:
    bump(x)
    y = x * 2
    bump(y)
    return y


@snippet()
def custom_op_with_a_size_from_data(x: Tensor) -> Any:
    return kept(x) + 1


@torch.library.custom_op("anyshape_tests::unknown", mutates_args=())
def unknown(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@snippet(REFUSED)
def custom_op_without_a_fake(x: Tensor) -> Any:
    return unknown(x)


class Square(torch.autograd.Function):
    """A function with its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Separate(torch.autograd.Function):
    """A function with a context of its own."""

    @staticmethod
    def forward(x: Tensor, scale: float) -> Tensor:
        return x * scale

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.scale, None


@snippet()
def autograd_function(x: Tensor) -> Any:
    return Square.apply(x) + 1


@snippet()
def autograd_function_with_a_context(x: Tensor) -> Any:
    return Separate.apply(x, 3.0)


@snippet()
def checkpointed(x: Tensor) -> Any:
    from torch.utils.checkpoint import checkpoint

    return checkpoint(lambda y: (y * 2).relu(), x, use_reentrant=False)


@snippet()
def checkpointed_reentrant(x: Tensor) -> Any:
    from torch.utils.checkpoint import checkpoint

    return checkpoint(lambda y: (y * 2).relu(), x, use_reentrant=True)


LINEAR = nn.Linear(4, 2)
HOOKED = nn.Linear(4, 2)
HOOKED.register_forward_hook(lambda _, __, out: out * 2)
HOOKED.register_forward_pre_hook(lambda _, args: (args[0] + 1,))


@snippet(inputs=fixed)
def hooks_of_a_module(x: Tensor) -> Any:
    return HOOKED(x)


@snippet(inputs=fixed)
def functional_call(x: Tensor) -> Any:
    weights = {"weight": torch.ones(2, 4), "bias": x[0, :2]}
    return torch.func.functional_call(LINEAR, weights, (x,))


@snippet(inputs=fixed)
def a_module_made_inside(x: Tensor) -> Any:
    torch.manual_seed(0)
    return nn.Linear(4, 3)(x)


@snippet(inputs=fixed)
def autocast(x: Tensor) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        y = LINEAR(x)
        z = y + x[:, :2]
    return y, z, LINEAR(x)


@snippet(inputs=fixed)
def no_gradients(x: Tensor) -> Any:
    with torch.no_grad():
        y = LINEAR(x)
    z = LINEAR(x)
    with torch.enable_grad():
        return y, z, torch.set_grad_enabled(True) is not None and LINEAR(x)


@snippet(inputs=fixed)
def inference_mode(x: Tensor) -> Any:
    with torch.inference_mode():
        return LINEAR(x).clone()


@snippet()
def gradients_required(x: Tensor) -> Any:
    y = x.clone().requires_grad_()
    return (y * 2).requires_grad, (y * 2).detach().requires_grad, y.is_leaf


@snippet(REFUSED)
def gradients_inside(x: Tensor) -> Any:
    y = x.clone().requires_grad_()
    return torch.autograd.grad((y * y).sum(), y)


@snippet(REFUSED)
def backward_inside(x: Tensor) -> Any:
    y = x.clone().requires_grad_()
    (y * y).sum().backward()
    return y.grad


@snippet()
def default_dtype(x: Tensor) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.zeros(x.shape[0])
        z = x.long() * 1.5
    finally:
        torch.set_default_dtype(before)
    return y, z


@snippet()
def dtypes(x: Tensor) -> Any:
    return (
        torch.finfo(x.dtype).max, x.to(torch.float16), x.double() + x, x.long(), x.type_as(x),
        x.type(torch.float64), torch.result_type(x, 1), torch.promote_types(x.dtype, torch.int8),
    )  # fmt: skip


@snippet()
def vmapped(x: Tensor) -> Any:
    return torch.vmap(lambda row: row * 2)(x)


@snippet()
def gradient_transform(x: Tensor) -> Any:
    return torch.func.grad(lambda y: (y * y).sum())(x)


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.size(0) > 2 else x * 3


@snippet(LIMITED, REFUSED)
def jit_script(x: Tensor) -> Any:
    return scripted(x)


@snippet()
def conditional(x: Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y * 3, (x,))


@snippet(REFUSED)
def python_random(x: Tensor) -> Any:
    return x * random.random()


@snippet(REFUSED)
def numpy_random(x: Tensor) -> Any:
    return x * float(np.random.rand())


@snippet(REFUSED)
def the_clock(x: Tensor) -> Any:
    return x * time.time()


@snippet()
def torch_random(x: Tensor) -> Any:
    return torch.rand(x.shape[0]), torch.randn_like(x), F.dropout(x, 0.5), torch.bernoulli(x * 0)


@snippet()
def seeded_inside(x: Tensor) -> Any:
    torch.manual_seed(7)
    return torch.rand(x.shape)


GENERATOR = torch.Generator()


@snippet(REFUSED)
def a_generator_made_inside(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(3)
    return torch.rand(x.shape, generator=g), torch.randperm(x.shape[0], generator=g)


@snippet()
def a_generator_seeded_inside(x: Tensor) -> Any:
    GENERATOR.manual_seed(3)
    return torch.rand(x.shape, generator=GENERATOR)


@snippet(LIMITED, inputs=pair)
def einsum(x: Tensor, y: Tensor) -> Any:
    sums = torch.einsum("bs,bs->b", x, y), torch.tensordot(x, y, dims=([1], [1]))
    return sums, torch.inner(x, y)


@snippet(inputs=pair)
def several_operands(x: Tensor, y: Tensor) -> Any:
    return (
        x @ y.t(), torch.addmm(y @ y.t(), x, y.t()), torch.outer(x[0], y[0]),
        torch.meshgrid(x[0], y[0], indexing="ij"), torch.broadcast_tensors(x, y[:1]),
        torch.atleast_3d(x), torch.cdist(x, y), torch.block_diag(x, y), torch.cartesian_prod(x[0]),
    )  # fmt: skip


@snippet(inputs=pair)
def padding_of_sequences(x: Tensor, y: Tensor) -> Any:
    return nn.utils.rnn.pad_sequence([x[0], y[0, :1], y[0]], batch_first=True)


@snippet()
def weight_norm(x: Tensor) -> Any:
    return torch._weight_norm(x, x[:, :1], 0)


@snippet()
def the_function_form_of_properties(x: Tensor) -> Any:
    return torch.numel(x), torch.is_floating_point(x), torch.is_complex(x), torch.Tensor.size(x, 0)


@snippet(REFUSED, inputs=fixed)
def threads_inside(x: Tensor) -> Any:
    return torch.set_num_threads(torch.get_num_threads()), LINEAR(x)


@snippet()
def an_attribute_of_a_tensor(x: Tensor) -> Any:
    x.note = "mine"
    return x * 2, x.note


@snippet()
def copies_of_tensors(x: Tensor) -> Any:

    return copy.copy(x), copy.deepcopy(x), x.clone(), torch.tensor(2.0), torch.tensor([1, 2])


@snippet()
def tensors_from_tensors(x: Tensor) -> Any:
    return torch.stack([x.sum(), x.mean()]), torch.as_tensor(x), torch.asarray(x)


@snippet()
def a_tensor_of_items(x: Tensor) -> Any:
    return torch.tensor([x[0, 0], x[0, 0]]) * 2, torch.tensor([x.shape[0], 1])


@snippet()
def named_arguments(x: Tensor) -> Any:
    return (
        torch.sum(input=x, dim=0), torch.add(input=x, other=x, alpha=2), x.sum(axis=1),
        torch.cat(tensors=(x, x), dim=0), x.mean(dim=(0, 1), keepdim=True), F.pad(x, pad=(1, 1)),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@snippet.parametrize()
def test_snippet(s: Snippet, kind: str) -> None:
    check(s, kind)
