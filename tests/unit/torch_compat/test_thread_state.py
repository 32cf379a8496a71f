from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from anyshape.torch_compat import thread_state


class Log(TorchFunctionMode):
    """The torch functions that were called."""

    def __init__(self):
        super().__init__()
        self.called = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.called.append(func)
        return func(*args, **(kwargs or {}))


def test_set_grad_enabled_is_a_plain_call():
    with torch.enable_grad():
        thread_state.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
        thread_state.set_grad_enabled(True)
        assert torch.is_grad_enabled()


def test_a_mode_sees_set_grad_enabled_as_this_object():
    with Log() as log, torch.no_grad():
        pass
    assert thread_state.set_grad_enabled in log.called


def test_is_any_autocast_enabled_covers_all_devices():
    assert thread_state.is_any_autocast_enabled() is False
    for device in ("cpu", "cuda"):
        torch.set_autocast_enabled(device, True)
        try:
            assert thread_state.is_any_autocast_enabled() is True
        finally:
            torch.set_autocast_enabled(device, False)


def test_get_tracing_state_is_none_outside_torchscript():
    assert thread_state.get_tracing_state() is None


def test_torch_functions_ask_for_the_tracing_state_by_this_object():
    assert thread_state.get_tracing_state is torch._C._get_tracing_state


def test_set_compiling_is_what_torch_compiler_answers():
    assert not torch.compiler.is_compiling()
    before = thread_state.set_compiling(True)
    try:
        assert before is False
        assert torch.compiler.is_compiling()
    finally:
        assert thread_state.set_compiling(before) is True
    assert not torch.compiler.is_compiling()


def test_saved_tensors_hooks_are_the_innermost_pair():
    assert thread_state.saved_tensors_hooks() is None

    def pack(t):
        return t * 3

    with torch.autograd.graph.saved_tensors_hooks(pack, abs):
        assert thread_state.saved_tensors_hooks()[0] is pack
    thread_state.push_saved_tensors_hooks(pack, lambda t: t)
    try:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
    finally:
        thread_state.pop_saved_tensors_hooks()
    assert thread_state.saved_tensors_hooks() is None
    y.backward()
    assert x.grad.tolist() == [6, 6]


def test_dispatch_mode_depth_counts_modes():
    assert thread_state.dispatch_mode_depth() == 0
    with TorchDispatchMode():
        assert thread_state.dispatch_mode_depth() == 1


def test_autocast_is_entered_and_left_by_calls():
    block = thread_state.ENTER_AUTOCAST("cpu")
    assert torch.is_autocast_enabled("cpu")
    thread_state.EXIT_AUTOCAST(block)
    assert not torch.is_autocast_enabled("cpu")
