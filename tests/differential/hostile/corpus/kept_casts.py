"""Casts of weights that autocast keeps until its outermost block is left, while weights change."""

import contextlib

import torch
from torch.nn import functional as F

from tests.differential.hostile.program import Box, Case, attribute, leaf, program

LOW = torch.bfloat16


def cast(**options):
    return torch.autocast("cpu", options.pop("dtype", LOW), **options)


def kept(body):
    """A program that takes a weight, and what changes it."""

    def factory():
        weight = torch.nn.Parameter(torch.eye(4) + 0.5)

        def change():
            with torch.no_grad():
                weight.add_(1)

        fn = body(weight, change)
        return Case(fn, args=lambda n: (torch.ones(n, 4),))

    factory.__name__, factory.__module__ = body.__name__, body.__module__
    return program(factory)


@kept
def changed_within(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            change()
            return a, F.linear(x, w)

    return fn


@kept
def changed_after_inner_block(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            with cast(enabled=False):
                b = F.linear(x, w)
            change()
            return a, b, F.linear(x, w)

    return fn


@kept
def inner_block_of_the_same(w, change):
    def fn(x):
        with cast():
            with cast():
                a = F.linear(x, w)
            change()
            return a, F.linear(x, w)

    return fn


@kept
def left_and_entered(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            change()
        with cast():
            return a, F.linear(x, w)

    return fn


@kept
def left_and_entered_by_a_stack(w, change):
    def fn(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(cast())
            a = F.linear(x, w)
            change()
        with contextlib.ExitStack() as stack:
            stack.enter_context(cast())
            return a, F.linear(x, w)

    return fn


@kept
def left_and_entered_by_a_decorator(w, change):
    @cast()
    def part(x):
        y = F.linear(x, w)
        change()
        return y

    def fn(x):
        return part(x), part(x)

    return fn


@kept
def entered_by_calls(w, change):
    def fn(x):
        block = cast()
        block.__enter__()
        a = F.linear(x, w)
        change()
        block.__exit__(None, None, None)
        block.__enter__()
        b = F.linear(x, w)
        block.__exit__(None, None, None)
        return a, b

    return fn


@kept
def without_a_cache(w, change):
    def fn(x):
        with cast(cache_enabled=False):
            a = F.linear(x, w)
            change()
            return a, F.linear(x, w)

    return fn


@kept
def without_a_cache_within(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            change()
            with cast(cache_enabled=False):
                b = F.linear(x, w)
            return a, b, F.linear(x, w)

    return fn


@kept
def cleared(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            change()
            b = F.linear(x, w)
            torch.clear_autocast_cache()
            return a, b, F.linear(x, w)

    return fn


@kept
def changed_without_gradients(w, change):
    def fn(x):
        with cast():
            with torch.no_grad():
                a = F.linear(x, w)
            change()
            return a, F.linear(x, w)

    return fn


@kept
def in_inference_mode(w, change):
    def fn(x):
        with cast():
            with torch.inference_mode():
                a = F.linear(x, w) + 0
            change()
            return a.sum().item(), F.linear(x, w)

    return fn


@kept
def another_dtype_within(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            with cast(dtype=torch.float16):
                return a, F.linear(x, w)

    return fn


@kept
def another_dtype_within_caught(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            try:
                with cast(dtype=torch.float16):
                    b = F.linear(x, w)
            except RuntimeError:
                b = x
            return a, b

    return fn


@kept
def changed_by_data(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            w.data.mul_(2)
            return a, F.linear(x, w)

    return fn


@kept
def changed_through_a_view(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            w.detach()[0].zero_()
            return a, F.linear(x, w), F.linear(x, w[:])

    return fn


@kept
def set_without_a_block(w, change):
    def fn(x):
        torch.set_autocast_enabled("cpu", True)
        torch.set_autocast_dtype("cpu", LOW)
        a = F.linear(x, w)
        change()
        b = F.linear(x, w)
        torch.set_autocast_enabled("cpu", False)
        torch.clear_autocast_cache()
        return a, b, F.linear(x, w)

    return fn


@kept
def cache_switched_off_by_a_call(w, change):
    def fn(x):
        torch.set_autocast_cache_enabled(False)
        with cast():
            a = F.linear(x, w)
            change()
            b = F.linear(x, w)
        torch.set_autocast_cache_enabled(True)
        return a, b

    return fn


@kept
def a_read_between(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            if a.sum().item() > 1:
                change()
            return a, F.linear(x, w)

    return fn


@program
def an_input_that_changes():
    def fn(w):
        with cast():
            a = torch.mm(w, torch.ones(2, 2))
            with torch.no_grad():
                w.add_(1)
            return a, torch.mm(w, torch.ones(2, 2))

    return Case(fn, args=lambda n: (torch.ones(n, 2).requires_grad_(),))


@program
def cache_switched_off_by_the_caller():
    w = torch.nn.Parameter(torch.eye(4))
    on = Box(cache=True)

    def fn(x):
        with cast():
            a = F.linear(x, w)
            with torch.no_grad():
                w.add_(1)
            return a, F.linear(x, w)

    def drive(f, x):
        torch.set_autocast_cache_enabled(on.cache)
        try:
            return f(x)
        finally:
            torch.set_autocast_cache_enabled(True)

    return Case(fn, *attribute(on, "cache", False, True), drive=drive, looks_at=w,
                args=lambda n: (torch.ones(n, 4),))  # fmt: skip


@program
def twice_with_gradients():
    w = torch.nn.Parameter(torch.eye(3))

    def fn(x):
        with cast():
            return (torch.outer(x, x)[:3, :3].sum() * F.linear(torch.ones(2, 3), w)).float().sum()

    return Case(fn, args=leaf, backward=True)


# ---------------------------------------------------------------------- the caller's block


def given(body):
    """A program that the caller calls within a block; what changes the weight is the caller's."""

    def factory():
        weight = torch.nn.Parameter(torch.eye(4) + 0.5)
        fn, drive = body(weight)
        return Case(fn, drive=drive, args=lambda n: (torch.ones(n, 4),), looks_at=weight)

    factory.__name__, factory.__module__ = body.__name__, body.__module__
    return program(factory)


def add(w):
    with torch.no_grad():
        w.add_(1)


@given
def changed_by_the_caller(w):
    def drive(f, x):
        with cast():
            a = f(x)
            add(w)
            return a, f(x)

    return lambda x: F.linear(x, w), drive


@given
def changed_by_the_caller_between_blocks(w):
    def drive(f, x):
        with cast():
            a = f(x)
        add(w)
        with cast():
            return a, f(x), f(x)

    return lambda x: F.linear(x, w), drive


@given
def not_changed_by_the_caller(w):
    def drive(f, x):
        with cast():
            a = f(x)
            with cast(enabled=False):
                b = f(x)
            with cast():
                return a, b, f(x), f(x + 1)

    return lambda x: F.linear(x, w), drive


@given
def swapped_by_the_caller(w):
    def drive(f, x):
        with cast():
            a = f(x)
            w.data = w.data * 2
            return a, f(x)

    return lambda x: F.linear(x, w), drive


@given
def changed_by_the_caller_without_a_cache(w):
    def drive(f, x):
        with cast(cache_enabled=False):
            a = f(x)
            add(w)
            return a, f(x)

    return lambda x: F.linear(x, w), drive


@given
def cleared_by_the_caller(w):
    def drive(f, x):
        with cast():
            a = f(x)
            add(w)
            torch.clear_autocast_cache()
            return a, f(x)

    return lambda x: F.linear(x, w), drive


@given
def changed_by_the_caller_without_gradients(w):
    def drive(f, x):
        with cast(), torch.no_grad():
            a = f(x)
            w.add_(1)
            return a, f(x)

    return lambda x: F.linear(x, w), drive


@given
def changed_by_the_caller_in_inference_mode(w):
    def drive(f, x):
        with cast(), torch.inference_mode():
            a = f(x).sum().item()
            w.add_(1)
            return a, f(x).sum().item()

    return lambda x: F.linear(x, w), drive


@given
def changed_by_the_function_in_the_block_of_the_caller(w):
    def fn(x):
        a = F.linear(x, w)
        add(w)
        return a, F.linear(x, w)

    def drive(f, x):
        with cast():
            return f(x)

    return fn, drive


@kept
def changed_in_a_cut_block(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            open("/dev/null").close()
            change()
            return a, F.linear(x, w)

    return fn


@kept
def changed_by_the_statement_that_is_cut(w, change):
    def fn(x):
        with cast():
            a = F.linear(x, w)
            open("/dev/null").close(), change()
            b = F.linear(x, w)
            return a, b

    return fn


@kept
def not_changed_in_a_cut_block(w, change):
    def fn(x):
        change()
        with cast():
            a = F.linear(x, w)
            open("/dev/null").close()
            return a, F.linear(x, w)

    return fn
