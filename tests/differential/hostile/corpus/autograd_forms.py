"""Forms of autograd: functions with flags, contexts and state, hooks that change, transforms."""

from __future__ import annotations

import contextlib

import warnings

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.differential.hostile.program import Box, Case, attribute, item, leaf, program


with warnings.catch_warnings():  # the first use in a process warns
    warnings.simplefilter("ignore")
    torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def weight(n=4):
    w = nn.Parameter(torch.arange(float(n)) + 1)
    return w


@program
def function_that_writes_its_input():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    def f(x):
        y = x * 2
        z = AddOne.apply(y)
        return z * y, z is y

    return Case(f, args=leaf)


@program
def function_differentiable_once():
    state = {"k": 2.0}

    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            return x * state["k"]

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * state["k"]

    return Case(lambda x: Scale.apply(x), *item(state, "k", 3.0, 4.0), args=leaf)


@program
def backward_that_reads_a_class_attribute():
    class Scale(Function):
        k = 2.0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * Scale.k

    return Case(lambda x: Scale.apply(x), *attribute(Scale, "k", 3.0, 4.0), args=leaf)


@program
def backward_that_reads_a_global_table():
    table = {"scale": 2.0}

    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * table["scale"]

    return Case(lambda x: Scale.apply(x) + 1, *item(table, "scale", 3.0, 4.0), args=leaf)


@program
def backward_that_counts():
    seen = []

    class Noted(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(tuple(g.shape))
            return g

    return Case(lambda x: Noted.apply(x) * 2, args=leaf, looks_at=seen)


@program
def forward_that_counts():
    seen = []

    class Noted(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(x.shape[0])
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * len(seen)

    return Case(lambda x: Noted.apply(x) * 2, args=leaf, looks_at=seen)


@program
def context_with_attributes():
    class Power(Function):
        @staticmethod
        def forward(ctx, x, p, names):
            ctx.save_for_backward(x)
            ctx.p, ctx.names, ctx.rows = p, names, x.shape[0]
            return x**p

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.p * x ** (ctx.p - 1) * len(ctx.names) * ctx.rows, None, None

    names = ["a", "b"]
    return Case(
        lambda x: Power.apply(x, 3, names), lambda: names.append("c"), names.clear, args=leaf
    )


@program
def needs_input_grad_that_chooses():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.both = all(ctx.needs_input_grad[:2])
            return x * 2 + y

        @staticmethod
        def backward(ctx, g):
            k = 5 if ctx.both else 7
            return g * k if ctx.needs_input_grad[0] else None, g * k

    w = nn.Parameter(torch.ones(()))

    def f(x):
        return Pair.apply(x, w)

    return Case(f, *attribute(w, "requires_grad", False, True), args=leaf)


@program
def gradients_that_stay_undefined():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            if b is None:
                return a * 10
            return a * 2 + b * 3 if a is not None else b

    def f(x, both):
        a, b = Two.apply(x)
        return (a, b) if both else a

    calls = [lambda b=b, n=n: (*leaf(n), b) for b in (True, False) for n in (3, 0, 1)]
    return Case(f, calls=calls)


@program
def results_not_differentiable():
    class Top(Function):
        @staticmethod
        def forward(ctx, x):
            i = (x > 1).long()
            ctx.mark_non_differentiable(i)
            return x * 2, i

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

    def f(x):
        y, i = Top.apply(x)
        return y, i, i.requires_grad, y.requires_grad

    return Case(f, args=leaf)


@program
def function_in_a_function():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g * 5

    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                y = Inner.apply(inner)
            ctx.pair = inner, y
            return y.detach()

        @staticmethod
        def backward(ctx, g):
            inner, y = ctx.pair
            (found,) = torch.autograd.grad(y, inner, g)
            return found

    return Case(lambda x: Outer.apply(x), args=leaf)


@program
def straight_through():
    def f(x):
        hard = (x > 2).float()
        return hard - x.detach() + x, (x + (hard - x).detach()).requires_grad

    return Case(f, args=leaf)


@program
def hook_on_an_inner_tensor():
    state = {"k": 2.0}

    def f(x):
        y = x * 3
        y.register_hook(lambda g: g * state["k"])
        return y * y

    return Case(f, *item(state, "k", 3.0), args=leaf)


@program
def hook_that_is_removed_inside():
    def f(x):
        y = x * 3
        handle = y.register_hook(lambda g: g * 100)
        z = y * 2
        handle.remove()
        return z

    return Case(f, args=leaf)


@program
def hook_under_a_condition():
    state = Box(on=False)

    def f(x):
        y = x * 3
        if state.on and x.shape[0] > 1:
            y.register_hook(lambda g: g.clamp(max=1))
        return y * y

    return Case(f, *attribute(state, "on", True, False), args=leaf)


@program
def hook_on_a_weight_from_outside():
    w = weight(1)

    def put():
        w.register_hook(lambda g: g * 10)

    return Case(lambda x: x * w, put, args=leaf)


@program
def hook_after_accumulation():
    w = weight(1)
    seen = []

    def put():
        w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))

    return Case(lambda x: x * w, put, args=leaf, backward=True, looks_at=seen)


@program
def retained_gradient_of_a_result():
    def f(x):
        y = x * 3
        y.retain_grad()
        return y, y * y

    def drive(fn, x):
        y, z = fn(x)
        z.sum().backward(retain_graph=True)
        return z.detach(), y.retains_grad, None if y.grad is None else y.grad.clone()

    return Case(f, drive=drive, args=leaf)


@program
def gradient_taken_inside():
    def f(x):
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=False)
        return g * 2

    return Case(f, args=leaf)


@program
def gradient_of_a_weight_inside():
    w = weight(1)

    def f(x):
        loss = (x.detach() * w).sum()
        (g,) = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w.sub_(0.01 * g)
        return loss.detach()

    return Case(f, args=leaf)


@program
def backward_inside_accumulates():
    w = weight(1)

    def f(x):
        loss = (x.detach() * w).sum()
        loss.backward()
        return loss.detach(), w.grad.clone()

    def clear():
        w.grad = None

    return Case(f, clear, lambda: w.grad.zero_(), args=leaf, looks_at=w)


@program
def gradient_zeroed_in_place():
    w = weight(1)
    w.grad = torch.ones(1)

    def f(x):
        if w.grad is not None:
            w.grad.zero_()
        return x * w

    def clear():
        w.grad = None

    def put():
        w.grad = torch.full((1,), 5.0)

    return Case(f, clear, put, args=leaf, looks_at=w)


@program
def gradient_norm_clipped():
    w, v = weight(3), weight(2)

    def fill():
        w.grad, v.grad = torch.full((3,), 4.0), torch.full((2,), 3.0)

    fill()

    def f(x):
        norm = nn.utils.clip_grad_norm_([w, v], 1.0)
        nn.utils.clip_grad_value_([w], 0.25)
        return x * norm, w.grad.sum()

    def less():
        v.grad = None

    return Case(f, fill, less, fill, looks_at=(w, v))


@program
def parameters_as_a_vector():
    ws = nn.ParameterList([weight(2), weight(3)])

    def f(x):
        v = nn.utils.parameters_to_vector(ws.parameters())
        with torch.no_grad():
            nn.utils.vector_to_parameters(v * 2, ws.parameters())
        return (v * v).sum() * x

    return Case(f, lambda: ws.append(weight(1)), looks_at=ws)


@program
def transforms_of_a_closure():
    state = {"k": 2.0}

    def f(x):
        g = torch.func.grad(lambda t: (t**2).sum() * state["k"])(x)
        return g, torch.func.vmap(lambda t: t * state["k"])(x)

    return Case(f, *item(state, "k", 3.0))


@program
def forward_mode():
    def f(x):
        y, t = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
        return y + t

    return Case(f)


@program
def jacobian_of_a_function():
    state = {"k": 2.0}
    return Case(lambda x: torch.func.jacrev(lambda t: t**2 * state["k"])(x), *item(state, "k", 3.0))


@program
def vector_jacobian_product():
    state = Box(k=2.0)

    def f(x):
        y, pull = torch.func.vjp(lambda t: t * state.k * t, x)
        return y, pull(torch.ones_like(y))[0]

    return Case(f, *attribute(state, "k", 3.0))


@program
def has_aux_gradient():
    def f(x):
        def loss(t):
            y = t * 2
            return y.sum(), {"rows": t.shape[0], "y": y}

        g, aux = torch.func.grad(loss, has_aux=True)(x)
        return g, aux["y"], aux["rows"]

    return Case(f)


@program
def saved_on_the_side():
    packed = []

    def f(x):
        def pack(t):
            packed.append(t.shape[0])
            return t * 2

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t / 2):
            return (x * x).exp()

    return Case(f, packed.clear, args=leaf, looks_at=packed)


@program
def saved_on_the_cpu():
    def f(x):
        with torch.autograd.graph.save_on_cpu():
            return (x * x).exp()

    return Case(f, args=leaf)


@program
def saving_disabled():
    def f(x):
        with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
            return x.exp()

    return Case(f, args=leaf)


@program
def versions_that_do_not_fit():
    def f(x):
        y = x.exp()
        y.add_(1)
        return y

    return Case(f, args=leaf)


@program
def no_grad_as_a_decorator():
    state = Box(k=2.0)

    @torch.no_grad()
    def part(x):
        return x * state.k

    def f(x):
        return part(x) + x, part(x).requires_grad

    return Case(f, *attribute(state, "k", 3.0), args=leaf)


@program
def generator_under_no_grad():
    @torch.no_grad()
    def parts(x):
        yield x * 2
        yield x * 3

    def f(x):
        found = []
        for y in parts(x):
            found.append((y + x, torch.is_grad_enabled(), y.requires_grad))
        return found

    return Case(f, args=leaf)


@program
def grad_mode_by_a_flag():
    flag = Box(on=True)

    def f(x):
        with torch.set_grad_enabled(flag.on):
            y = x * 2
        return y, y.requires_grad

    return Case(f, *attribute(flag, "on", False, 1, 0), args=leaf)


@program
def inference_inside_then_used():
    def f(x):
        with torch.inference_mode():
            table = torch.arange(x.shape[0]) * 2.0
        try:
            return x * table
        except RuntimeError as e:
            return str(e)[:30]

    return Case(f, args=leaf)


@program
def requires_grad_made_inside():
    def f(x):
        y = torch.ones(x.shape[0], requires_grad=True)
        z = torch.zeros_like(x).requires_grad_(x.shape[0] > 2)
        return (y * z * x).sum(), y.is_leaf, z.requires_grad

    return Case(f)


@program
def detached_in_place():
    def f(x):
        y = x * 2
        z = y * 3
        z.detach_()
        return z, y, z.requires_grad, z.is_leaf

    return Case(f, args=leaf)


@program
def view_written_under_no_grad():
    def f(x):
        y = x * 1
        with torch.no_grad():
            y[:1] = 7
        return y * 2

    return Case(f, args=leaf)


@program
def view_of_a_leaf_written():
    def f(x):
        try:
            x[:1] = 7
        except RuntimeError as e:
            return str(e)[:40]
        return x * 2

    return Case(f, args=leaf)


@program
def written_after_saving():
    def f(x):
        y = x * 2
        z = y * y
        y.mul_(0)
        return z

    return Case(f, args=leaf)


@program
def grad_function_named():
    def f(x):
        y = (x * 2).sum()
        name = type(y.grad_fn).__name__ if y.grad_fn is not None else None
        return y, name, x.grad_fn is None

    return Case(f, args=leaf)


@program
def leaf_swapped_by_data():
    w = weight(2)

    def f(x):
        return x.sum() * w

    def swap():
        w.data = torch.full((2,), 9.0)

    return Case(f, swap, args=leaf)


@program
def gradient_checked_for_none():
    ws = [weight(1), weight(1)]

    def f(x):
        found = [w.grad for w in ws if w.grad is not None]
        return x * (len(found) + 1), sum(g.sum() for g in found) if found else None

    def put(i):
        ws[i].grad = torch.full((1,), 2.0 + i)

    return Case(f, lambda: put(0), lambda: put(1), lambda: setattr(ws[0], "grad", None))


@program
def anomaly_mode():
    def f(x):
        with torch.autograd.detect_anomaly(check_nan=False):
            return (x * 2).sqrt()

    return Case(f, args=leaf)


@program
def many_hooks_of_tensors():
    seen = []

    def f(x):
        a, b = x * 2, x * 3
        torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: seen.append(len(gs)))
        return a * b

    return Case(f, args=leaf, looks_at=seen)


@program
def custom_backward_of_a_module():
    lin = nn.Linear(4, 2)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)
    seen = []

    def hook(m, gin, gout):
        seen.append(len(gout))
        return tuple(None if g is None else g * 2 for g in gin)

    handles = []

    def put():
        handles.append(lin.register_full_backward_hook(hook))

    def remove():
        with contextlib.suppress(IndexError):
            handles.pop().remove()

    return Case(
        lambda x: lin(x),
        put,
        remove,
        args=lambda n: (torch.ones(n, 4, requires_grad=True),),
        looks_at=seen,
    )
