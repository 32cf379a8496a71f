"""Tensors and modules: views, aliases, `out=`, generators, hooks, modes, compiled functions within."""

from __future__ import annotations

import copy
import os
import random
import threading
import time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize

import anyshape
from tests.differential.hostile.program import Box, Case, attribute, item, leaf, matrix, program

LOG: list[Any] = []


@program
def view_of_an_argument_is_written() -> Case:
    def fn(x: Any) -> Any:
        x[1:].mul_(2)
        x.view(-1)[:1] = 7.0
        return x + 1

    return Case(fn)


@program
def aliases_among_arguments() -> Case:
    def fn(a: Any, b: Any) -> Any:
        a.add_(1)
        return b * 2

    base = torch.arange(6.0)
    return Case(
        fn,
        calls=[
            lambda: (torch.ones(3), torch.ones(3)),
            lambda: ((t := torch.ones(3)), t),
            lambda: (base[:3], base[:3]),
            lambda: (base[:3], base[3:]),
            lambda: (base[1:4], base[:3]),
        ],
        looks_at=base,
    )


@program
def out_argument() -> Case:
    buffer = torch.zeros(3)

    def fn(x: Any) -> Any:
        y = torch.add(x, 1, out=torch.empty(0))
        torch.mul(x[:1], 2, out=buffer[:1])
        return y, buffer

    return Case(fn, looks_at=buffer)


@program
def out_argument_that_grows() -> Case:
    buffer = torch.zeros(0)

    def fn(x: Any) -> Any:
        torch.add(x, 1, out=buffer.resize_(x.shape))
        return buffer.sum()

    return Case(fn, looks_at=buffer)


@program
def gradient_requirements_differ() -> Case:
    return Case(
        lambda x: (x * 2, x.requires_grad),
        calls=[
            lambda: (torch.ones(3),),
            lambda: leaf(3),
            lambda: (torch.ones(3),),
            lambda: (torch.ones(3, requires_grad=True) * 2,),
        ],
    )


@program
def detached_inside() -> Case:
    w = torch.ones(1, requires_grad=True)
    return Case(
        lambda x: (x * w).detach() + x.detach().requires_grad_() * w, args=leaf, backward=True
    )


@program
def generator_of_its_own() -> Case:
    g = torch.Generator()
    g.manual_seed(3)
    return Case(
        lambda x: x + torch.rand(x.shape, generator=g),
        lambda: g.manual_seed(7),
        looks_at=lambda: g.get_state(),
    )


@program
def generator_made_inside() -> Case:
    def fn(x: Any) -> Any:
        g = torch.Generator().manual_seed(x.shape[0])
        return x + torch.rand(x.shape, generator=g), torch.randperm(4, generator=g)

    return Case(fn)


@program
def random_state_is_kept_and_restored() -> Case:
    def fn(x: Any) -> Any:
        state = torch.get_rng_state()
        a = torch.rand(2)
        torch.set_rng_state(state)
        return x.sum() + a, torch.rand(2)

    return Case(fn)


@program
def random_numbers_of_python_and_numpy() -> Case:
    def fn(x: Any) -> Any:
        return x * random.random() + float(np.random.rand())

    def seed() -> None:
        random.seed(3)
        np.random.seed(3)

    return Case(fn, seed)


@program
def generators_of_python_and_numpy() -> Case:
    r, n = random.Random(3), np.random.default_rng(3)
    return Case(lambda x: x * r.random() + float(n.random()))


@program
def clock_and_environment() -> Case:
    os.environ["ANYSHAPE_TEST_K"] = "2"

    def fn(x: Any) -> Any:
        late = time.monotonic() < 0
        return x * float(os.environ.get("ANYSHAPE_TEST_K", "1")) + float(late)

    def set_to(v: str) -> Any:
        return lambda: os.environ.__setitem__("ANYSHAPE_TEST_K", v)

    return Case(
        fn, set_to("3"), set_to("4"), cleanup=lambda: os.environ.pop("ANYSHAPE_TEST_K", None)
    )


@program
def environment_is_written() -> Case:
    def fn(x: Any) -> Any:
        os.environ["ANYSHAPE_TEST_N"] = str(int(os.environ.get("ANYSHAPE_TEST_N", "0")) + 1)
        return x * int(os.environ["ANYSHAPE_TEST_N"])

    return Case(fn, cleanup=lambda: os.environ.pop("ANYSHAPE_TEST_N", None))


@program
def default_dtype_inside() -> Case:
    def fn(x: Any) -> Any:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2) * 2
        torch.set_default_dtype(before)
        return x.sum() + y, torch.ones(1)

    return Case(fn)


@program
def default_dtype_outside() -> Case:
    return Case(
        lambda x: (x.sum() + torch.ones(2), torch.tensor(1.5), torch.arange(3.0)),
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    )


@program
def grad_mode_inside() -> Case:
    def fn(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
            with torch.enable_grad():
                z = x * 3
        return y.requires_grad, z.requires_grad, y + z, torch.is_grad_enabled()

    return Case(fn, args=leaf)


@program
def grad_mode_outside() -> Case:
    return Case(
        lambda x: ((x * 2).requires_grad, x * 3),
        lambda: torch.set_grad_enabled(False),
        lambda: torch.set_grad_enabled(True),
        args=leaf,
    )


@program
def inference_mode_inside() -> Case:
    def fn(x: Any) -> Any:
        with torch.inference_mode():
            y = x * 2
        return y.is_inference(), y + 1 if not x.requires_grad else x

    return Case(fn)


@program
def hook_that_removes_itself() -> Case:
    m = nn.Linear(4, 2)
    handle: list[Any] = []

    def once(module: Any, args: Any, out: Any) -> Any:
        LOG.append("once")
        handle.pop().remove()
        return out * 2

    handle.append(m.register_forward_hook(once))
    return Case(lambda x: m(x), args=matrix, looks_at=LOG)


@program
def hook_on_a_tensor() -> Case:
    def fn(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y + 1

    return Case(fn, args=leaf, backward=True)


@program
def hook_before_forward() -> Case:
    m = nn.Linear(4, 2)
    state = {"k": 2.0}
    m.register_forward_pre_hook(lambda module, args: (args[0] * state["k"],))
    return Case(lambda x: m(x), *item(state, "k", 3.0), args=matrix)


class Double(nn.Module):
    def forward(self, w: torch.Tensor) -> torch.Tensor:
        return w * 2


@program
def parametrized_weight() -> Case:
    m = nn.Linear(4, 2)
    parametrize.register_parametrization(m, "weight", Double())
    return Case(
        lambda x: m(x),
        lambda: m.parametrizations.weight.original.data.fill_(1.0),  # type: ignore[union-attr, operator]
        args=matrix,
        backward=True,
    )


@program
def parametrization_that_is_cached() -> Case:
    m = nn.Linear(4, 2)
    parametrize.register_parametrization(m, "weight", Double())

    def fn(x: Any) -> Any:
        with parametrize.cached():
            return m(x) + m(x)

    return Case(fn, args=matrix)


@program
def functional_call() -> Case:
    m = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    state = {"k": 2.0}

    def fn(x: Any) -> Any:
        p = {name: t * state["k"] for name, t in m.named_parameters()}
        return torch.func.functional_call(m, p, (x,)) + m(x)

    return Case(fn, *item(state, "k", 3.0), args=matrix, backward=True)


@program
def module_that_is_copied_inside() -> Case:
    m = nn.Linear(4, 2)

    def fn(x: Any) -> Any:
        other = copy.deepcopy(m)
        with torch.no_grad():
            other.weight.add_(1)
        return other(x) - m(x)

    return Case(fn, args=matrix)


@program
def module_made_inside() -> Case:
    def fn(x: Any) -> Any:
        torch.manual_seed(0)
        m = nn.Linear(4, 2)
        return m(x)

    return Case(fn, args=matrix)


@program
def compiled_module_is_copied() -> Case:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))
            self.k = 2.0

        def forward(self, x: Any) -> Any:
            return x * self.w * self.k

    m = M()

    def drive(f: Any, x: Any) -> Any:
        other = copy.deepcopy(f if isinstance(f, nn.Module) else m)
        other.k = 5.0
        return f(x), other(x)

    return Case(m, drive=drive, args=matrix, exported=False)


@program
def nested_compiled_functions() -> Case:
    state = {"k": 2.0}

    @anyshape.compile
    def inner(x: Any) -> Any:
        return x * state["k"]

    return Case(lambda x: inner(x + 1) - inner(x), *item(state, "k", 3.0))


@program
def function_that_compiles() -> Case:
    state = {"k": 2.0}

    def fn(x: Any) -> Any:
        f = anyshape.compile(lambda y: y * state["k"])
        return f(x) + 1

    return Case(fn, *item(state, "k", 3.0))


@program
def compiled_function_that_calls_back_itself() -> Case:
    box = Box(f=None, depth=0)

    def fn(x: Any) -> Any:
        if box.depth < 2:
            box.depth += 1
            return box.f(x + 1) * 2
        box.depth = 0
        return x

    def drive(f: Any, x: Any) -> Any:
        box.f = f
        try:
            return f(x)
        finally:
            box.f = fn

    box.f = fn
    return Case(fn, drive=drive, looks_at=lambda: box.depth, exported=False)


@program
def re_entry_from_a_hook() -> Case:
    m = nn.Linear(4, 4)
    box = Box(f=None, busy=False)

    def hook(module: Any, args: Any, out: Any) -> Any:
        if box.busy:
            return out
        box.busy = True
        try:
            return out + module(args[0])
        finally:
            box.busy = False

    m.register_forward_hook(hook)
    return Case(lambda x: m(x), args=matrix, looks_at=lambda: box.busy)


@program
def threads_that_call_one_function() -> Case:
    state = {"k": 2.0}

    def drive(f: Any, x: Any) -> Any:
        found: dict[int, Any] = {}

        def work(i: int) -> None:
            found[i] = f(x + i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return [found[i] for i in range(3)]

    return Case(lambda x: x * state["k"], *item(state, "k", 3.0), drive=drive, exported=False)


@program
def buffer_that_is_replaced() -> Case:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.steps = 0

        def forward(self, x: Any) -> Any:
            self.steps += 1
            self.mean = self.mean * 0.5 + x.sum(0) / (x.shape[0] + 1)
            return x - self.mean

    m = M()
    return Case(m, args=matrix, looks_at=lambda: (m.mean, m.steps))


@program
def parameters_that_are_frozen() -> Case:
    m = nn.Linear(4, 2)
    return Case(
        m,
        lambda: m.requires_grad_(False),
        lambda: m.requires_grad_(True),
        args=matrix,
        backward=True,
    )


@program
def train_and_eval() -> Case:
    m = nn.BatchNorm1d(4)
    return Case(
        m,
        lambda: m.eval(),
        lambda: m.train(),
        args=matrix,
        sizes=(4,),
        looks_at=lambda: list(m.buffers()),
    )


@program
def attribute_of_a_tensor() -> Case:
    w = torch.ones(1)
    w.scale = 2.0  # type: ignore[attr-defined]

    def fn(x: Any) -> Any:
        y = x * w.scale  # type: ignore[attr-defined]
        y.tag = "made"
        return y, getattr(x, "tag", None)

    return Case(fn, *attribute(w, "scale", 3.0), exported=False)


@program
def shapes_as_objects() -> Case:
    def fn(x: Any) -> Any:
        s = x.shape
        return (
            s,
            s + (1,),
            s[0],
            len(s),
            s.numel(),
            list(s),
            s == (3,),
            torch.Size([*s, 2]),
            hash(s) == hash(tuple(s)),
        )

    return Case(fn, exported=False)


@program
def data_is_swapped() -> Case:
    w = torch.ones(3)

    def fn(x: Any) -> Any:
        return x.sum() + w * 2

    def swap() -> None:
        w.data = torch.full((3,), 5.0)

    return Case(fn, swap, looks_at=w)


@program
def strides_change() -> Case:
    return Case(
        lambda x: (x.is_contiguous(), x.stride(), x.reshape(-1), x.t().contiguous().stride()),
        calls=[
            lambda: (torch.arange(6.0).reshape(2, 3),),
            lambda: (torch.arange(6.0).reshape(3, 2).t(),),
            lambda: (torch.arange(12.0).reshape(2, 6)[:, ::2],),
            lambda: (torch.arange(6.0).reshape(2, 3),),
        ],
    )


@program
def dtype_changes() -> Case:
    return Case(
        lambda x: (x + 1, x.dtype, x.to(torch.float32) is x, x.is_floating_point()),
        calls=[
            lambda: (torch.ones(3),),
            lambda: (torch.ones(3, dtype=torch.float64),),
            lambda: (torch.ones(3, dtype=torch.int64),),
            lambda: (torch.ones(3),),
        ],
        exported=False,
    )


@program
def no_arguments_at_all() -> Case:
    w = torch.ones(3)

    def fn() -> Any:
        w.add_(1)
        return w * 2

    return Case(fn, calls=[lambda: ()] * 4, looks_at=w)


@program
def accumulated_gradients_are_read() -> Case:
    w = torch.ones(3, requires_grad=True)

    def fn(x: Any) -> Any:
        g = w.grad
        return x.sum() * w + (0.0 if g is None else g)

    return Case(fn, lambda: setattr(w, "grad", torch.ones(3)), lambda: setattr(w, "grad", None))


@program
def backward_inside() -> Case:
    w = torch.ones(3, requires_grad=True)

    def fn(x: Any) -> Any:
        (w * x.sum()).sum().backward()
        g = w.grad.clone()  # type: ignore[union-attr]
        w.grad = None
        return g + x.sum()

    return Case(fn, looks_at=w)


@program
def optimizer_step_inside() -> Case:
    w = torch.ones(3, requires_grad=True)
    o = torch.optim.SGD([w], lr=0.5, momentum=0.9)

    def fn(x: Any) -> Any:
        o.zero_grad()
        loss = (w * x.sum()).sum()
        loss.backward()
        o.step()
        return loss.detach()

    return Case(fn, looks_at=w)


@program
def list_of_tensors_that_grows() -> Case:
    cache: list[Any] = []

    def fn(x: Any) -> Any:
        cache.append(x * 2)
        return torch.stack([c.sum() for c in cache]).sum()

    return Case(fn, lambda: cache.clear(), looks_at=cache)


@program
def tensor_in_an_f_string() -> Case:
    def fn(x: Any) -> Any:
        print(f"{x.shape} {x.sum().item():.2f} {x.dtype}")
        return x * 2

    return Case(fn)
