from __future__ import annotations

import pytest
import torch

from anyshape.torch_compat import message


def error_of(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011  each torch has its own class
        call()
    return str(caught.value)


@pytest.fixture(scope="module")
def without_fake():
    @torch.library.custom_op("anyshape_compat::without_fake", mutates_args=())
    def op(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    return op


def on_meta(*shape):
    return torch.empty(shape, device="meta")


@pytest.mark.parametrize(
    "call",
    [
        lambda: on_meta().item(),
        lambda: on_meta(3).tolist(),
        lambda: torch.bincount(on_meta(3).long()),
    ],
    ids=["item", "tolist", "bincount"],
)
def test_a_kernel_that_needs_data_says_so(call):
    assert message.has_no_kernel(error_of(call))


def test_an_op_without_a_meta_kernel_says_so(without_fake):
    text = error_of(lambda: without_fake(on_meta(3)))
    assert message.has_no_kernel(text)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.mm(on_meta(2, 3), on_meta(4, 5)),
        lambda: torch.cat([on_meta(2, 3), on_meta(2, 4, 5)]),
        lambda: on_meta(6).view(4, 2),
    ],
    ids=["mm", "cat", "view"],
)
def test_operands_that_do_not_fit_are_no_missing_kernel(call):
    assert not message.has_no_kernel(error_of(call))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_wraps_an_error():
    class Odd(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError("refused")

        __torch_function__ = torch._C._disabled_torch_function_impl

    script = torch.jit.CompilationUnit("def twice(x: Tensor):\n  return x + x\n").twice
    text = error_of(lambda: script(torch.Tensor._make_subclass(Odd, torch.ones(2))))
    assert message.TORCHSCRIPT in text
