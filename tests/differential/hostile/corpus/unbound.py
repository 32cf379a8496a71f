"""Methods taken from their classes and called with the object, as `random.Random.random(r)`."""

import contextvars
import io
import random
import types

import numpy as np
import torch

from tests.differential.hostile.program import Case, program

VARIABLE = contextvars.ContextVar("variable", default=1)
GENERATOR = torch.Generator().manual_seed(3)
RANDOM = random.Random(3)
NUMPY = np.random.default_rng(3)
ARRAY = np.ones(2)
TEXT = io.StringIO()
ITERATOR = iter(range(99))
TABLE = {"a": 1}
PROXY = types.MappingProxyType(TABLE)


class Subclass(torch.Tensor):
    pass


def calls(name, call, *changes):
    """A program that returns what `call` gives of its input."""

    def factory():
        def fn(x):
            return x * 2, call(x)

        state = (ARRAY, TABLE, TEXT.getvalue, GENERATOR.get_state)
        return Case(fn, *changes, looks_at=state, exported=False)

    factory.__name__ = name
    program(factory)


def fill(x):
    np.ndarray.fill(ARRAY, float(ARRAY[0]) + 1)
    return x * float(ARRAY[0])


def seeded(_):
    torch.Generator.manual_seed(GENERATOR, torch.Generator.initial_seed(GENERATOR) + 1)
    return torch.rand(2, generator=GENERATOR)


calls("context_variable", lambda _: contextvars.ContextVar.get(VARIABLE), lambda: VARIABLE.set(7))
calls("generator_of_torch", seeded)
calls("generator_of_numpy", lambda _: float(np.random.Generator.random(NUMPY)))
calls("random", lambda _: random.Random.random(RANDOM))
calls("array", fill)
calls("text_file", lambda _: io.StringIO.write(TEXT, "a"))
calls("iterator", lambda _: type(ITERATOR).__next__(ITERATOR))
calls("bound_next", lambda _: ITERATOR.__next__())
calls("proxy", lambda _: types.MappingProxyType.get(PROXY, "a"), lambda: TABLE.update(a=5))
calls("numbers", lambda x: (int.__mul__(x.size(0), 2), int.bit_length(x.size(0))))
calls("texts", lambda x: (str.format("{}", x.size(0)), str.__mod__("%d", x.size(0)), "a".upper()))
calls(
    "of_the_class", lambda _: (dict.fromkeys("ab", 1), bytes.fromhex("00"), range.__len__(range(3)))
)
calls("subclass", lambda x: type(torch.Tensor.as_subclass(x, Subclass)) is Subclass)
calls("made_subclass", lambda x: type(torch.Tensor.__new__(Subclass, x)) is Subclass)
calls("attribute_set", lambda x: torch.Tensor.__setattr__(x, "foo", 3))
calls("formatted", lambda x: torch.Tensor.__format__(x.sum(), ".1f"))
