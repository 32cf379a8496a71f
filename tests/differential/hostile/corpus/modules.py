"""Modules and tensors that change between calls, or in one: hooks, parameters, views, dtypes."""

import copy
import random

import torch
from torch import nn
from torch.nn.utils import parametrize

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program

LOG = []


def four(n):
    return (torch.arange(4.0 * n).reshape(n, 4) - 2.0,)


def linear():
    m = nn.Linear(4, 2)
    with torch.no_grad():
        m.weight.copy_(torch.arange(8.0).reshape(2, 4) / 8)
        m.bias.copy_(torch.tensor([1.0, -1.0]))
    return m


@program
def hook_registered_in_forward():
    m = linear()

    def fn(x):
        handle = m.register_forward_hook(lambda mod, args, out: out * 2)
        y = m(x)
        handle.remove()
        return y + m(x)

    return Case(fn, args=four)


@program
def hook_that_removes_itself():
    m = linear()
    handles = []

    def hook(mod, args, out):
        handles.pop().remove()
        return out + 1

    def fn(x):
        return m(x)

    def add():
        handles.append(m.register_forward_hook(hook))

    return Case(fn, add, add, args=four, looks_at=handles, exported=False)


@program
def pre_hook_with_keywords():
    m = linear()
    k = Box(v=2.0)
    m.register_forward_pre_hook(lambda mod, args: (args[0] * k.v,))

    def fn(x):
        return m(x)

    return Case(fn, *attribute(k, "v", 3.0, -1.0), args=four)


@program
def always_called_hook():
    m = linear()
    torch.utils.hooks.RemovableHandle.next_id = 0  # hooks are named by a counter
    m.register_forward_hook(lambda mod, args, out: LOG.append(1), always_call=True)

    def fn(x):
        return m(x)

    return Case(fn, args=four, looks_at=LOG)


@program
def no_grad_as_a_decorator():
    m = linear()

    @torch.no_grad()
    def frozen(x):
        return m(x)

    def fn(x):
        return frozen(x) + m(x)

    return Case(fn, args=four)


@program
def enable_grad_inside_no_grad():
    m = linear()

    def fn(x):
        with torch.no_grad():
            with torch.enable_grad():
                y = m(x)
            z = m(x)
        return y + z, y.requires_grad, z.requires_grad

    return Case(fn, args=four)


@program
def grad_mode_switched():
    m = linear()

    def fn(x):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        y = m(x)
        torch.set_grad_enabled(before)
        return y + m(x), y.requires_grad

    return Case(fn, args=four)


@program
def grad_mode_left_switched():
    def fn(x):
        torch.set_grad_enabled(False)
        return x * 2

    return Case(fn, args=leaf)


@program
def transform_of_a_function():
    def fn(x):
        return torch.func.grad(lambda v: (v * v).sum())(x)

    return Case(fn)


@program
def mapped_function():
    def fn(x):
        return torch.func.vmap(lambda v: v * 2 + 1)(x)

    return Case(fn)


@program
def functional_call():
    m = linear()

    def fn(x):
        given = {"weight": m.weight * 2, "bias": m.bias}
        return torch.func.functional_call(m, given, (x,))

    return Case(fn, args=four)


@program
def parameter_replaced_between():
    m = linear()

    def fn(x):
        return m(x)

    def replace():
        m.weight = nn.Parameter(m.weight.detach() * 2)

    def widen():
        m.weight = nn.Parameter(torch.ones(3, 4))
        m.bias = nn.Parameter(torch.zeros(3))

    return Case(fn, replace, widen, replace, args=four)


@program
def parameter_data_replaced():
    m = linear()

    def fn(x):
        return m(x)

    def swap():
        m.weight.data = m.weight.data * 2

    return Case(fn, swap, swap, args=four)


@program
def parameter_frozen_between():
    m = linear()

    def fn(x):
        return m(x)

    return Case(fn, lambda: m.requires_grad_(False), lambda: m.requires_grad_(True), args=four)


@program
def bias_removed_between():
    m = linear()

    def fn(x):
        return m(x) if m.bias is not None else m(x) * 2

    def drop():
        m.bias = None

    return Case(fn, drop, args=four, exported=False)


@program
def buffer_registered_again():
    m = linear()
    m.register_buffer("k", torch.tensor(2.0))

    def fn(x):
        return m(x) * m.k

    return Case(
        fn,
        lambda: m.register_buffer("k", torch.tensor(3.0)),
        lambda: m.register_buffer("k", torch.tensor([1.0, 2.0])),
        args=four,
    )


@program
def state_loaded_between():
    m = linear()
    kept = copy.deepcopy(m.state_dict())

    def double():
        m.load_state_dict({k: v * 2 for k, v in kept.items()})

    def assign():
        m.load_state_dict({k: v * 3 for k, v in kept.items()}, assign=True)

    def fn(x):
        return m(x)

    return Case(fn, double, assign, args=four)


class Doubled(nn.Module):
    k = 2.0

    def forward(self, w):
        return w * self.k


@program
def parametrized_weight():
    m = linear()
    parametrize.register_parametrization(m, "weight", Doubled())
    p = m.parametrizations.weight[0]

    def fn(x):
        return m(x)

    return Case(fn, *attribute(p, "k", 3.0, 1.0), args=four)


@program
def parametrization_removed():
    m = linear()
    parametrize.register_parametrization(m, "weight", Doubled())

    def fn(x):
        return m(x)

    def drop():
        if parametrize.is_parametrized(m):
            parametrize.remove_parametrizations(m, "weight")

    return Case(fn, drop, args=four, exported=False)


@program
def cached_parametrization():
    m = linear()
    parametrize.register_parametrization(m, "weight", Doubled())

    def fn(x):
        with parametrize.cached():
            return m(x) + m(x)

    return Case(fn, args=four)


@program
def training_switched_between():
    m = nn.Sequential(linear(), nn.Dropout(0.5), nn.BatchNorm1d(2))

    def fn(x):
        return m(x)

    return Case(fn, m.eval, args=four, sizes=(2,))


@program
def training_switched_inside():
    m = nn.Sequential(linear(), nn.Dropout(0.5))

    def fn(x):
        was = m.training
        m.eval()
        y = m(x)
        m.train(was)
        return y, m[1].training

    return Case(fn, args=four)


@program
def module_list_changed():
    m = nn.ModuleList([linear()])

    def fn(x):
        return sum(layer(x) for layer in m)

    return Case(fn, lambda: m.append(linear()), lambda: m.pop(0), args=four)


@program
def module_dict_changed():
    m = nn.ModuleDict({"a": linear()})

    def fn(x):
        return sum(layer(x) * len(name) for name, layer in m.items())

    return Case(
        fn, lambda: m.update({"bb": linear()}), lambda: m.update({"a": linear()}), args=four
    )


@program
def module_made_inside():
    def fn(x):
        m = nn.Linear(4, 2)
        nn.init.constant_(m.weight, 0.5)
        nn.init.zeros_(m.bias)
        return m(x)

    return Case(fn, args=four)


@program
def module_moved_inside():
    m = linear()

    def fn(x):
        return m.to(torch.float64)(x.double())

    return Case(fn, args=four, exported=False)


@program
def gradients_cleared_inside():
    m = linear()

    def fn(x):
        m.zero_grad()
        return m(x)

    return Case(fn, args=four, backward=True)


@program
def lazy_module():
    m = nn.LazyLinear(2)

    def fn(x):
        return m(x).shape

    return Case(fn, args=four, exported=False)


@program
def tied_weights():
    a, b = linear(), linear()
    b.weight = a.weight

    def fn(x):
        return a(x) + b(x), a.weight is b.weight

    def untie():
        b.weight = nn.Parameter(a.weight.detach() + 1)

    return Case(fn, untie, args=four)


@program
def view_that_is_written():
    def fn(x):
        y = x.clone()
        v = y[:1]
        v += 5
        y.view(-1)[-1:].mul_(2)
        return y, v

    return Case(fn)


@program
def view_of_an_argument_written():
    def fn(x):
        x.t()[0] += 1
        return x * 2

    return Case(fn, args=matrix)


@program
def result_into_an_argument():
    def fn(x, out):
        r = torch.add(x, 1, out=out)
        return r * 2, r is out

    return Case(fn, args=lambda n: (torch.ones(n), torch.zeros(n)), exported=False)


@program
def result_into_a_wrong_size():
    def fn(x, out):
        return torch.add(x, 1, out=out)

    return Case(fn, args=lambda n: (torch.ones(n), torch.zeros(0)), exported=False)


@program
def one_argument_twice():
    def fn(a, b):
        a.add_(1)
        return a * b, a is b

    def args(n):
        x = torch.ones(n)
        return x, x

    return Case(fn, args=args, exported=False)


@program
def overlapping_arguments():
    def fn(a, b):
        a.add_(1)
        return a * 2, b * 3

    calls = []
    for apart in (True, False, True, False):

        def make(apart=apart):
            x = torch.arange(6.0)
            return (x[:3].clone(), x[2:5].clone()) if apart else (x[:3], x[2:5])

        calls.append(make)
    return Case(fn, calls=calls)


@program
def expanded_argument():
    def fn(x):
        return x * 2 + x.stride(0)

    calls = [
        lambda: (torch.ones(3, 2),),
        lambda: (torch.ones(1, 2).expand(3, 2),),
        lambda: (torch.ones(2, 3).t(),),
        lambda: (torch.ones(6, 2)[::2],),
    ]
    return Case(fn, calls=calls)


def of_dtype(name, use):
    """A program over one argument of every dtype."""

    def factory():
        def fn(x):
            return use(x)

        kinds = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32)
        kinds += (torch.uint8, torch.bool, torch.complex64)
        calls = [lambda d=d: ((torch.arange(3) + 1).to(d),) for d in (*kinds, *kinds)]
        return Case(fn, calls=calls)

    factory.__name__ = name
    program(factory)


of_dtype("scaled_dtype", lambda x: x * 2.5)
of_dtype("shifted_dtype", lambda x: x + 1)
of_dtype("summed_dtype", lambda x: x.sum())
of_dtype("divided_dtype", lambda x: x / 2)
of_dtype("compared_dtype", lambda x: x == 1)
of_dtype("branch_on_dtype", lambda x: x + 1 if x.dtype.is_floating_point else x * 2)
of_dtype("converted_dtype", lambda x: (x.real if x.is_complex() else x).to(torch.float32).mean())
of_dtype("negated_dtype", lambda x: ~x if x.dtype is torch.bool else x.abs())
of_dtype("filled_dtype", lambda x: torch.full_like(x, 3) + torch.ones((), dtype=x.dtype))


@program
def conjugate_argument():
    def fn(x):
        return x * 2, x.is_conj()

    z = torch.tensor([1 + 2j, 3 - 1j])
    return Case(fn, calls=[lambda: (z.clone(),), lambda: (z.conj(),), lambda: (z.clone(),)])


@program
def seeded_inside():
    def fn(x):
        torch.manual_seed(3)
        return x + torch.rand(x.shape)

    return Case(fn)


@program
def python_random_inside():
    def fn(x):
        return x * random.random()

    return Case(fn, lambda: random.seed(3), lambda: random.seed(4))


@program
def tensor_kept_and_changed():
    kept = []

    def fn(x):
        y = x * 2
        kept.append(y)
        y.add_(len(kept))
        return y + kept[0].sum()

    return Case(fn, looks_at=kept, sizes=(1,))


@program
def history_detached():
    state = Box(h=torch.zeros(3))

    def fn(x):
        state.h = (state.h + x.sum()).detach()
        return state.h * 2

    return Case(fn, args=leaf, looks_at=state)


@program
def optimizer_in_the_function():
    m = linear()
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)

    def fn(x):
        loss = m(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Case(fn, args=four, looks_at=m, exported=False)


@program
def checkpointed():
    m = linear()

    def fn(x):
        return torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)

    return Case(fn, args=four, backward=True)
