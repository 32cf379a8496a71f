"""Random numbers and clocks: generators of every kind, seeded inside and outside."""

import random
import secrets
import time
import uuid

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, program


def draws(name, draw):
    def factory():
        def fn(x):
            return x * 2, draw(x)

        return Case(fn)

    factory.__name__ = name
    program(factory)


draws("rand", lambda x: torch.rand(2))
draws("rand_like", lambda x: torch.rand_like(x))
draws("randn_of_a_size", lambda x: torch.randn(x.shape[0]))
draws("randint", lambda x: torch.randint(0, 100, (2,)))
draws("randperm", lambda x: torch.randperm(4))
draws("bernoulli", lambda x: torch.bernoulli(torch.full((4,), 0.5)))
draws("normal_in_place", lambda x: torch.empty(2).normal_())
draws("dropout", lambda x: torch.nn.functional.dropout(torch.ones(4), 0.5))
draws("dead_draw", lambda x: (torch.rand(2), 1)[1])
draws("two_draws", lambda x: (torch.rand(2), torch.rand(2)))
draws("seeded_inside", lambda x: (torch.manual_seed(5), torch.rand(2))[1])
draws("seed_of_a_size", lambda x: (torch.manual_seed(x.shape[0]), torch.rand(2))[1])
draws("initial_seed", lambda x: torch.initial_seed())
draws("state_saved_and_put_back", lambda x: saved())
draws("default_generator_state", lambda x: generator())
draws("forked", lambda x: forked())
draws("python_random", lambda x: random.random())
draws("python_choice", lambda x: random.choice([1.0, 2.0, 3.0]))
draws("python_seeded", lambda x: (random.seed(3), random.random())[1])
draws("python_own_generator", lambda x: random.Random(3).random())
draws("numpy_random", lambda x: float(np.random.rand()))
draws("numpy_exponential", lambda x: float(np.random.exponential()))
draws("numpy_permutation", lambda x: np.random.permutation(4).tolist())
draws("numpy_seeded", lambda x: (np.random.seed(3), float(np.random.rand()))[1])
draws("numpy_generator", lambda x: float(np.random.default_rng(3).random()))
draws("numpy_array_to_tensor", lambda x: torch.from_numpy(np.random.rand(2)))
draws("generator_made_inside", lambda x: torch.rand(2, generator=torch.Generator().manual_seed(4)))
draws("multinomial", lambda x: torch.multinomial(torch.ones(4), 2))
draws("distribution", lambda x: torch.distributions.Normal(0.0, 1.0).sample((2,)))
draws("initializer", lambda x: torch.nn.init.uniform_(torch.empty(2)))


def saved():
    state = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(state)
    return a, torch.rand(2)


def generator():
    state = torch.default_generator.get_state()
    a = torch.rand(2)
    torch.default_generator.set_state(state)
    return a, torch.rand(2)


def forked():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        a = torch.rand(2)
    return a, torch.rand(2)


@program
def generator_in_an_attribute():
    o = Box(g=torch.Generator().manual_seed(1))

    def fn(x):
        return x * torch.rand(1, generator=o.g)

    return Case(
        fn, lambda: o.g.manual_seed(1), *attribute(o, "g", torch.Generator().manual_seed(9))
    )


@program
def generator_seeded_inside():
    o = Box(g=torch.Generator())

    def fn(x):
        o.g.manual_seed(7)
        return x * torch.rand(1, generator=o.g)

    return Case(fn)


@program
def generator_in_a_list():
    gs = [torch.Generator().manual_seed(1)]

    def fn(x):
        return x * torch.rand(1, generator=gs[0])

    return Case(fn)


@program
def generator_as_an_argument():
    g = torch.Generator().manual_seed(1)

    def fn(x, g):
        g.manual_seed(3)
        return x * torch.rand(1, generator=g), g.initial_seed()

    return Case(fn, args=lambda n: (torch.ones(n), g), looks_at=g)


@program
def python_generator_kept():
    r = random.Random(3)

    def fn(x):
        return x * r.random()

    return Case(fn, lambda: r.seed(3))


@program
def numpy_generator_kept():
    r = np.random.default_rng(3)

    def fn(x):
        return x * float(r.random())

    return Case(fn)


@program
def random_branch():
    def fn(x):
        return x * 2 if random.random() < 0.5 else x * 3

    return Case(fn)


@program
def torch_random_branch():
    def fn(x):
        return x * 2 if torch.rand(1) < 0.5 else x * 3

    return Case(fn)


@program
def layer_drop():
    m = torch.nn.ModuleList([torch.nn.Identity() for _ in range(4)])

    def fn(x):
        for layer in m:
            if random.random() < 0.5:
                continue
            x = layer(x) * 2
        return x

    return Case(fn)


@program
def random_size():
    def fn(x):
        return torch.ones(random.randint(1, 4)) * x.sum()

    return Case(fn)


@program
def clocks_never_repeat():
    def fn(x):
        return x * 2, time.perf_counter_ns()

    last = []

    def drive(call, x):
        y, now = call(x)
        last.append(now)
        return y, len(set(last)) == len(last)

    return Case(fn, drive=drive)


@program
def identifiers_never_repeat():
    def fn(x):
        return x * 2, uuid.uuid4().hex, secrets.token_hex(4)

    last = []

    def drive(call, x):
        y, a, b = call(x)
        last.extend([a, b])
        return y, len(set(last)) == len(last)

    return Case(fn, drive=drive)
