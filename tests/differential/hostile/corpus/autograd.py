"""Autograd's state and history: grads, leaves, hooks, functions under an alias, autocast."""

import torch
from torch.autograd.graph import saved_tensors_hooks

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program


def rows(n):
    return (matrix(n)[0].requires_grad_(),)


class Clip(torch.autograd.Function):
    limit = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=2.0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Clip.limit * (x > 0)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


clip = Clip.apply


@program
def function_applied():
    def fn(x):
        return Clip.apply(x) * 2

    return Case(fn, args=leaf)


@program
def function_under_an_alias():
    def fn(x):
        return clip(x) * 2

    return Case(fn, args=leaf)


@program
def function_under_a_local_alias():
    run = Straight.apply

    def fn(x):
        return run(x, 3.0) + 1

    return Case(fn, args=leaf)


@program
def function_as_an_attribute():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Clip.apply

        def forward(self, x):
            return self.op(x)

    return Case(Net(), args=leaf)


@program
def function_that_reads_a_class_attribute_in_backward():
    def fn(x):
        return Clip.apply(x)

    return Case(fn, *attribute(Clip, "limit", 5.0, 2.0), args=leaf)


@program
def function_that_reads_the_outside_in_forward():
    o = Box(k=2.0)

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * o.k

        @staticmethod
        def backward(ctx, g):
            return g * o.k * 10

    def fn(x):
        return Scale.apply(x)

    return Case(fn, *attribute(o, "k", 3.0, 2.0), args=leaf)


@program
def function_with_setup_context():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k * 7, None

    def fn(x):
        return Scale.apply(x, 2.0)

    return Case(fn, args=leaf)


@program
def function_counted_in_backward():
    o = Box(n=0)

    class Count(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            o.n += 1
            return g * 2

    def fn(x):
        return Count.apply(x)

    return Case(fn, args=leaf, looks_at=o)


@program
def grad_of_an_argument():
    def fn(x):
        return x * 2 if x.grad is None else x * 3

    kept = torch.ones(3, requires_grad=True)

    def make(g):
        kept.grad = g
        return (kept,)

    ones = torch.ones(3)
    return Case(fn, calls=[lambda g=g: make(g) for g in (None, ones, None, ones)])


@program
def grad_of_a_parameter():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        scale = 1.0 if m.weight.grad is None else 2.0
        return m(x) * scale

    return Case(fn, *attribute(m.weight, "grad", torch.ones(2, 4), None), args=matrix)


@program
def grad_of_a_parameter_as_a_value():
    m = torch.nn.Linear(4, 2)
    m.weight.grad = torch.ones(2, 4)

    def fn(x):
        return m(x) + m.weight.grad.sum()

    def change():
        m.weight.grad.add_(1)

    return Case(fn, change, *attribute(m.weight, "grad", torch.zeros(2, 4)), args=matrix)


@program
def gradients_that_accumulate():
    return Case(torch.nn.Linear(4, 2), args=rows, backward=True)


@program
def is_leaf_of_an_argument():
    def fn(x):
        return x * 2 if x.is_leaf else x * 3

    def make(k):
        x = torch.ones(3, requires_grad=True)
        return (x if k else x * 1,)

    return Case(fn, calls=[lambda k=k: make(k) for k in (1, 0, 1, 0)])


@program
def grad_fn_of_an_argument():
    def fn(x):
        return x * 2 if x.grad_fn is None else x * 3

    def make(k):
        x = torch.ones(3, requires_grad=True)
        return (x if k else x * 1,)

    return Case(fn, calls=[lambda k=k: make(k) for k in (1, 0, 1, 0)])


@program
def requires_grad_of_an_argument():
    def fn(x):
        return x * 2 if x.requires_grad else x * 3

    calls = [lambda k=k: (torch.ones(3, requires_grad=k),) for k in (True, False, True, False)]
    return Case(fn, calls=calls)


@program
def requires_grad_of_a_parameter():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        return m(x) * (2 if m.weight.requires_grad else 3)

    put = m.weight.requires_grad_
    return Case(fn, lambda: put(False), lambda: put(True), args=matrix)


@program
def attribute_of_a_parameter():
    m = torch.nn.Linear(4, 2)
    m.weight.scale = 2.0

    def fn(x):
        return m(x) * m.weight.scale

    return Case(fn, *attribute(m.weight, "scale", 3.0, 2.0), args=matrix)


@program
def layout_of_a_parameter():
    m = torch.nn.Linear(4, 4)

    def fn(x):
        return m(x) * (2 if m.weight.is_contiguous() else 3)

    def swap():
        m.weight.data = m.weight.data.t()

    return Case(fn, swap, swap, args=matrix)


@program
def parameter_data_swapped():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        return m(x)

    def swap():
        m.weight.data = m.weight.data * 2

    return Case(fn, swap, args=matrix)


@program
def parameter_version():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        return m(x) * (m.weight._version + 1)

    def change():
        with torch.no_grad():
            m.weight.add_(1)

    return Case(fn, change, args=matrix)


@program
def requires_grad_set_on_an_argument():
    def fn(x):
        x.requires_grad_()
        return x * 2

    return Case(fn)


@program
def detached_in_place():
    def fn(x):
        y = x * 2
        y.detach_()
        return y * 3

    return Case(fn, args=leaf)


@program
def argument_detached_in_place():
    def fn(x):
        x.detach_()
        return x * 2

    def make(n):
        return ((torch.arange(n) + 1.0).requires_grad_() * 1,)

    return Case(fn, args=make)


@program
def saved_tensors_hooks_inside():
    o = Box(packed=0)

    def pack(t):
        o.packed += 1
        return t * 1

    def fn(x):
        with saved_tensors_hooks(pack, lambda t: t * 2):
            return (x * x).sum()

    return Case(fn, args=leaf, looks_at=o)


@program
def no_grad_inside():
    def fn(x):
        with torch.no_grad():
            y = x * 2
        return y + x

    return Case(fn, args=leaf)


@program
def no_grad_as_a_decorator():
    @torch.no_grad()
    def helper(x):
        return x * 2

    def fn(x):
        return helper(x) + x

    return Case(fn, args=leaf)


@program
def enable_grad_inside():
    def fn(x):
        with torch.enable_grad():
            y = x * 2
        return y, torch.is_grad_enabled()

    def drive(call, x):
        with torch.no_grad():
            return call(x)

    return Case(fn, args=leaf, drive=drive)


@program
def autocast_disabled_before_any_op():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        with torch.autocast("cpu", enabled=False):
            return m(x)

    def drive(call, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return call(x)

    return Case(fn, args=matrix, drive=drive)


@program
def autocast_enabled_inside():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = m(x)
        return y, m(x)

    return Case(fn, args=matrix)


@program
def autocast_nested():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = m(x)
            with torch.autocast("cpu", enabled=False):
                b = m(x)
            c = m(x)
        return a, b, c

    return Case(fn, args=matrix)


@program
def gradient_inside():
    def fn(x):
        (g,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        return g * 2

    return Case(fn, args=leaf)


@program
def backward_inside():
    def fn(x):
        (x * x).sum().backward()
        return x.grad * 2

    return Case(fn, args=leaf)


@program
def gradients_after_an_error_that_is_caught():
    def fn(x):
        y = x * 2
        try:
            return y.reshape(2, -1).sum()
        except RuntimeError:
            return y * 5

    return Case(fn, args=leaf)


@program
def gradients_after_an_in_place_write():
    def fn(x):
        y = x * 2
        y.mul_(x)
        if y.sum() > 5:
            y.add_(1)
        return y * y

    return Case(fn, args=leaf)


@program
def gradients_after_an_effect():
    o = Box(n=0, last=None)

    def fn(x):
        y = x * 2
        o.n += 1
        o.last = y
        return y * y

    return Case(fn, args=leaf)


@program
def retained_gradient():
    def fn(x):
        y = x * 2
        y.retain_grad()
        return y * 3

    return Case(fn, args=leaf)


@program
def hook_on_an_argument():
    def fn(x):
        x.register_hook(lambda g: g * 5)
        return x * 2

    return Case(fn, args=leaf)


@program
def function_transform_inside():
    def fn(x):
        return torch.func.grad(lambda v: (v * v).sum())(x)

    return Case(fn)


@program
def vmap_inside():
    o = Box(k=2.0)

    def fn(x):
        return torch.vmap(lambda v: v * o.k)(x)

    return Case(fn, *attribute(o, "k", 3.0, 2.0), args=matrix, sizes=(1,))


@program
def torch_function_mode_around():
    class Double(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is torch.sin else out

    def fn(x):
        return torch.sin(x)

    def drive(call, x):
        if x.shape[0] == 3:
            return call(x)
        with Double():
            return call(x)

    return Case(fn, drive=drive)


@program
def torch_function_mode_inside():
    class Double(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is torch.sin else out

    def fn(x):
        with Double():
            return torch.sin(x)

    return Case(fn)


@program
def inference_mode_inside():
    def fn(x):
        with torch.inference_mode():
            return x * 2

    return Case(fn, args=leaf)


@program
def inference_mode_for_a_part():
    def fn(x):
        with torch.inference_mode():
            y = x * 2
        with torch.inference_mode(False):
            z = x * 3
        return y, z, y.is_inference(), z.requires_grad

    return Case(fn, args=leaf)


@program
def frozen_and_unfrozen():
    m = torch.nn.Linear(4, 2)

    def freeze(on):
        for p in m.parameters():
            p.requires_grad_(on)

    return Case(m, lambda: freeze(False), lambda: freeze(True), args=matrix)


@program
def blocks_in_the_modes_of_the_caller():
    w = torch.ones(1, requires_grad=True)

    @torch.no_grad()
    def without(x):
        return x * w

    def fn(x):
        with torch.no_grad():
            a = x * w
        b = x * w
        with torch.enable_grad():
            c = x * w
        return a, b, c, without(x), x * w

    def drive(call, x):
        with torch.set_grad_enabled(x.shape[0] % 2 == 1):
            return call(x)

    return Case(fn, drive=drive)
