from __future__ import annotations

import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

from anyshape.torch_compat import tensor_subclass


class Mine(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


def test_make_subclass_shares_the_memory_of_a_tensor():
    x = torch.empty(0, device="meta")
    made = tensor_subclass.make_subclass(Mine, x)
    assert type(made) is Mine
    made.anything = 3  # it has a dict of its own
    assert not hasattr(x, "anything")


def test_make_wrapper_subclass_has_sizes_and_no_memory():
    made = tensor_subclass.make_wrapper_subclass(
        Mine,
        (2, 3),
        strides=(1, 2),
        storage_offset=0,
        dtype=torch.float16,
        device=torch.device("cpu"),
        requires_grad=True,
    )
    assert type(made) is Mine
    assert (made.shape, made.stride(), made.dtype) == ((2, 3), (1, 2), torch.float16)
    assert made.device.type == "cpu"
    assert made.requires_grad


def test_constructors_are_attributes_of_the_class():
    for name in tensor_subclass.CONSTRUCTORS:
        assert callable(getattr(torch.Tensor, name))


def test_view_base_is_the_tensor_that_a_view_was_made_from():
    x = torch.zeros(4)
    assert getattr(x[1:], tensor_subclass.VIEW_BASE) is x
    assert getattr(x, tensor_subclass.VIEW_BASE) is None


def test_is_parameter_makes_a_tensor_count_as_a_parameter():
    x = torch.ones(2)
    assert not isinstance(x, torch.nn.Parameter)
    setattr(x, tensor_subclass.IS_PARAMETER, True)
    assert isinstance(x, torch.nn.Parameter)


def test_data_methods_give_the_data():
    for name in tensor_subclass.DATA_METHODS:
        assert callable(getattr(torch.Tensor, name))


def test_storage_id_tells_whether_two_tensors_share_their_memory():
    for device in ("cpu", "meta"):
        x = torch.empty(4, device=device)
        other = torch.empty(4, device=device)
        key = tensor_subclass.storage_id
        assert key(x.untyped_storage()) == key(x[1:].untyped_storage())
        assert key(x.untyped_storage()) == key(x.detach().untyped_storage())
        assert key(x.untyped_storage()) != key(other.untyped_storage())


def test_storage_use_count_counts_the_tensors_over_a_storage():
    x = torch.ones(4)
    count = tensor_subclass.storage_use_count
    assert count(x.untyped_storage()) == 2
    view = x[1:]
    assert count(x.untyped_storage()) == count(view.untyped_storage()) == 3


def test_wrapper_classes():
    assert tensor_subclass.is_wrapper(TwoTensor)
    assert not tensor_subclass.is_wrapper(FakeTensor)
    assert not tensor_subclass.is_wrapper(torch.Tensor)


def test_hooks_of_a_tensor_are_seen() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not tensor_subclass.has_hooks(x)
    handle = x.register_hook(lambda g: g)
    assert tensor_subclass.has_hooks(x)
    handle.remove()
    assert not tensor_subclass.has_hooks(x)
    x.register_post_accumulate_grad_hook(lambda t: None)
    assert tensor_subclass.has_hooks(x)


def test_tensors_without_data_are_told_from_others():
    x = torch.ones(2)
    with FakeTensorMode() as mode:
        assert tensor_subclass.is_without_data(mode.from_tensor(x))
    assert not tensor_subclass.is_without_data(x)
    assert not tensor_subclass.is_without_data(2)
