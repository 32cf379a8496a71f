from __future__ import annotations

import functools

import pytest
import torch
from torch.overrides import TorchFunctionMode, has_torch_function_unary
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode

from anyshape.torch_compat import torch_function


class Deaf(TorchFunctionMode):
    """Answers every call with a text."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return "seen"


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "overridden"


def test_disable_torch_function_switches_modes_and_subclasses_off():
    x = torch.ones(2).as_subclass(Loud)
    with Deaf():
        assert torch.ones(2) == "seen"
        with torch_function.DisableTorchFunction():
            assert torch.ones(2).shape == (2,)
    assert torch.add(x, x) == "overridden"
    with torch_function.DisableTorchFunction():
        assert isinstance(torch.add(x, x), torch.Tensor)


def test_function_mode_depth_counts_active_modes():
    depth = torch_function.function_mode_depth
    assert depth() == 0
    with Deaf(), Deaf():
        assert depth() == 2
    assert depth() == 0


def test_disabled_torch_function_is_no_override():
    class Quiet(torch.Tensor):
        __torch_function__ = torch_function.disabled_torch_function

    assert has_torch_function_unary(torch.ones(2).as_subclass(Loud))
    assert not has_torch_function_unary(torch.ones(2).as_subclass(Quiet))


def test_a_number_without_override_is_taken_in_a_list_of_sizes():
    class Number(torch.SymInt):
        __torch_function__ = torch_function.disabled_torch_function

        def __init__(self):
            self.node = functools.partial(int)

    seen = []

    class Sizes(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(args)

    n = Number()
    with Sizes():
        torch.empty([n, 2])
    assert seen[0][0][0] is n


def test_no_mode_sees_what_is_asked_without_modes():
    seen = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Log(), Log():
        with torch_function.without_modes():
            x.dim()
            assert torch_function.function_mode_depth() == 0
        assert torch_function.function_mode_depth() == 2
        assert seen == []
        x.dim()
    assert len(seen) == 2


def test_dispatching_wrappers_have_no_single_body():
    pool = torch.nn.functional.max_pool2d
    assert pool.__module__ in torch_function.DISPATCHING_WRAPPERS or not hasattr(
        pool, "__wrapped__"
    )
    assert "torch._jit_internal" in {
        f.__code__.co_filename.rsplit("site-packages/", 1)[-1].removesuffix(".py").replace("/", ".")
        for f in (pool, torch.nn.functional.fractional_max_pool2d)
    }


def test_functions_of_these_modules_are_named_after_ops():
    modules = torch_function.SAME_SIGNATURE_MODULES
    assert torch.functional.norm.__module__ in modules
    assert torch.Tensor.__rsub__.__module__ in modules
    assert torch.compile.__module__ in modules


def test_is_plain_tells_classes_with_ops_of_their_own():
    class Scale(torch.nn.Parameter):
        pass

    class Dispatching(torch.nn.Parameter):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    plain = [torch.Tensor, torch.nn.Parameter, Scale]
    assert all(map(torch_function.is_plain, plain))
    assert not any(map(torch_function.is_plain, [Loud, Dispatching]))


def test_has_function_mode_tells_modes_from_the_default_device():
    assert not torch_function.has_function_mode()
    with torch.device("cpu"):
        assert not torch_function.has_function_mode()
    with Deaf():
        assert torch_function.has_function_mode()


def test_mode_questions_are_those_that_read_the_stack():
    names = {f.__name__ for f in torch_function.MODE_QUESTIONS}
    assert names >= {
        "_len_torch_function_stack",
        "_get_function_stack_at",
        "_is_torch_function_mode_enabled",
        "_get_current_function_mode",
        "_get_current_function_mode_stack",
    }
    assert not any("push" in name or "pop" in name for name in names)


def test_modes_that_see_ops_are_told_from_torchs_own():
    assert torch_function.sees_ops(Deaf)
    assert torch_function.sees_ops(TorchDispatchMode)
    assert not torch_function.sees_ops(DeviceContext)
    assert not torch_function.sees_ops(torch.no_grad)


def test_with_calls_what_is_named_for_entering_a_mode():
    function, dispatch = torch_function.ENTER_MODE
    assert vars(TorchFunctionMode)["__enter__"] is function
    assert vars(TorchDispatchMode)["__enter__"] is dispatch


def test_functions_in_c_are_told_from_ops():
    asked = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Asked)
    assert torch_function.is_core_function(torch._C._dispatch_keys)
    torch._C._dispatch_keys(x)
    assert not asked
    assert not torch_function.is_core_function(torch.ops.aten.relu._op)
    torch.ops.aten.relu(x)
    assert asked == [torch.ops.aten.relu]


def test_arguments_are_parsed_and_nothing_is_computed():
    class One:
        def __index__(self):
            return 1

    before = torch.get_rng_state()
    x = torch.zeros(2)
    torch_function.need_parsed(torch.randint, (One(), 3, (1,)), {})
    torch_function.need_parsed(torch.Tensor.add_, (x, 1), {})
    torch_function.need_parsed(torch.Tensor.reshape, (x, 5), {})
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(x, torch.zeros(2))
    with pytest.raises(TypeError):
        torch_function.need_parsed(torch.Tensor.reshape, (x, "a"), {})


def test_attention_by_ops_has_the_layout_of_the_kernel(monkeypatch):
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        expected = attention(x, x, x)[0]
        name = torch_function.ATTENTION_BY_OPS.__name__
        asked = []
        monkeypatch.setattr(torch.nn.modules.activation, name, lambda: asked.append(1) or True)
        found = attention(x, x, x)[0]
    assert asked
    assert found.stride() == expected.stride()
    torch.testing.assert_close(found, expected)
