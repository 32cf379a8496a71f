"""Modes that a program sets to what they are while it is traced, and that its caller changes."""

import contextlib

import torch

from tests.differential.hostile.program import Box, Case, attribute, program


def modes(x):
    """Tensors that show the modes in which they were made."""
    return x * 2, torch.mm(x[:, None], x[None])


class Caller:
    """Calls a function in modes that change from call to call."""

    def __init__(self):
        self.grad, self.inference, self.autocast = False, False, False

    def __call__(self, fn, x):
        grad, inference = torch.set_grad_enabled(self.grad), torch.inference_mode(self.inference)
        with inference, grad, torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            found = fn(x)
            seen = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_cache_enabled(True)
        return found, seen

    def set(self, **flags):
        return lambda: vars(self).update(
            {"grad": False, "inference": False, "autocast": False}, **flags
        )


def called(body):
    """A program that is traced without gradients, and called in other modes."""

    def factory():
        caller = Caller()
        changes = [
            caller.set(grad=True),
            caller.set(autocast=True),
            caller.set(inference=True),
            caller.set(),
        ]
        args = lambda n: ((torch.arange(n) + 1.0).requires_grad_(),)  # noqa: E731
        return Case(body(), *changes, drive=caller, args=args)

    factory.__name__, factory.__module__ = body.__name__, body.__module__
    return program(factory)


@called
def gradients_off():
    def fn(x):
        torch.set_grad_enabled(False)
        return modes(x)

    return fn


@called
def gradients_off_then_on():
    def fn(x):
        torch.set_grad_enabled(False)
        a = modes(x)
        torch.set_grad_enabled(True)
        return a, modes(x)

    return fn


@called
def gradients_put_back():
    def fn(x):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        a = modes(x)
        torch.set_grad_enabled(before)
        return a, modes(x)

    return fn


@called
def gradients_off_in_a_block():
    def fn(x):
        with torch.set_grad_enabled(False):
            a = modes(x)
        return a, modes(x)

    return fn


@called
def gradients_off_in_a_block_made_before():
    def fn(x):
        block = torch.set_grad_enabled(False)
        a = modes(x)
        with block:
            b = modes(x)
        return a, b, modes(x)

    return fn


@called
def gradients_off_within_a_block():
    def fn(x):
        with torch.enable_grad():
            a = modes(x)
            torch.set_grad_enabled(False)
            b = modes(x)
        return a, b, modes(x)

    return fn


@called
def no_grad_in_a_stack():
    def fn(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            a = modes(x)
        return a, modes(x)

    return fn


@called
def no_grad_by_calls():
    def fn(x):
        block = torch.no_grad()
        block.__enter__()
        a = modes(x)
        block.__exit__(None, None, None)
        return a, modes(x)

    return fn


@called
def no_grad_by_a_decorator():
    part = torch.no_grad()(modes)

    def fn(x):
        return part(x), modes(x)

    return fn


@called
def gradients_off_in_a_function():
    def off():
        torch.set_grad_enabled(False)

    def fn(x):
        off()
        return modes(x)

    return fn


@called
def autocast_off():
    def fn(x):
        torch.set_autocast_enabled("cpu", False)
        return modes(x)

    return fn


@called
def autocast_dtype_set():
    def fn(x):
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        return modes(x)

    return fn


@called
def autocast_off_in_a_stack():
    def fn(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.autocast("cpu", enabled=False))
            a = modes(x)
        return a, modes(x)

    return fn


@called
def inference_within_no_grad():
    def fn(x):
        with torch.inference_mode():
            a = modes(x)
        with torch.no_grad():
            b = modes(x)
        return a, b, modes(x)

    return fn


@called
def no_grad_around_inference():
    def fn(x):
        with torch.no_grad():
            with torch.inference_mode():
                a = modes(x)
            b = modes(x)
        return a, b, modes(x)

    return fn


@called
def inference_within_autocast():
    def fn(x):
        with torch.autocast("cpu", torch.bfloat16):
            with torch.inference_mode():
                a = modes(x)
            b = modes(x)
        return a, b, modes(x)

    return fn


@called
def inference_off_within_no_grad():
    def fn(x):
        with torch.inference_mode(False):
            a = modes(x)
        return a, modes(x)

    return fn


@called
def gradients_within_inference():
    def fn(x):
        with torch.inference_mode(), torch.enable_grad():
            a = modes(x)
        return a, modes(x)

    return fn


@called
def default_dtype_as_it_is():
    def fn(x):
        torch.set_default_dtype(torch.float32)
        return torch.ones(2).dtype, x + torch.ones(())

    return fn


@program
def default_dtype_that_changes():
    on = Box(dtype=torch.float32)

    def fn(x):
        torch.set_default_dtype(torch.float32)
        return torch.ones(2) + x[:1]

    def drive(f, x):
        torch.set_default_dtype(on.dtype)
        try:
            return f(x), torch.get_default_dtype()
        finally:
            torch.set_default_dtype(torch.float32)

    return Case(fn, *attribute(on, "dtype", torch.float64, torch.float32), drive=drive)


@program
def determinism_that_changes():
    on = Box(flag=False)

    def fn(x):
        torch.use_deterministic_algorithms(False)
        return x + torch.are_deterministic_algorithms_enabled()

    def drive(f, x):
        torch.use_deterministic_algorithms(on.flag)
        try:
            return f(x), torch.are_deterministic_algorithms_enabled()
        finally:
            torch.use_deterministic_algorithms(False)

    return Case(fn, *attribute(on, "flag", True, False), drive=drive)
