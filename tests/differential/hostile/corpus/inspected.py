"""Functions that a program hands to code without a twin: to call, to keep, or to look at."""

import copy
import functools
import inspect
import json
import operator
import pickle
import re
import textwrap
import traceback
import types
import typing

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from tests.differential.hostile.program import Case, program

SCALE = 2


def helper(a, b=3):
    """Add."""
    return a + b + SCALE


def scaled(v):
    return v * SCALE


class Owner:
    def method(self, q):
        return q * SCALE


OWNER = Owner()


def change():
    global SCALE
    SCALE += 1
    helper.__defaults__ = (helper.__defaults__[0] + 1,)
    helper.__doc__ = f"Add {SCALE}."
    helper.level = SCALE


def looks(name, look):
    """A program that returns what `look` tells, and reads nothing else."""

    def factory():
        def fn(x):
            return x * 2, look()

        return Case(fn, change, change, exported=False)

    factory.__name__ = name
    program(factory)


looks("signature_of_a_library", lambda: str(inspect.signature(traceback.print_exc)))
looks("signature", lambda: str(inspect.signature(helper)))
looks("signature_of_a_method", lambda: str(inspect.signature(OWNER.method)))
looks("documentation", lambda: (inspect.getdoc(helper), inspect.getdoc(textwrap.dedent)))
looks("kinds", lambda: (inspect.ismethod(OWNER.method), inspect.isfunction(textwrap.dedent)))
looks("hints", lambda: (typing.get_type_hints(helper), inspect.unwrap(helper) is helper))
looks("pickled", lambda: pickle.loads(pickle.dumps([helper, {"a": scaled}]))[1]["a"] is scaled)
looks("pickled_alone", lambda: pickle.loads(pickle.dumps(textwrap.dedent)) is textwrap.dedent)
looks("hashed", lambda: hash(textwrap.dedent) == hash(textwrap.dedent.__get__(1).__func__))
looks("copied", lambda: copy.deepcopy([helper])[0] is helper and copy.copy(scaled) is scaled)
looks("named_by_torch", lambda: torch.overrides.resolve_name(F.relu))
looks("asked_of_torch", lambda: torch.overrides.is_tensor_method_or_property(F.relu))
looks("compared", lambda: (operator.is_(helper, helper), operator.eq(scaled, helper)))
looks("called_by_json", lambda: json.dumps({"a": OWNER}, default=lambda _: SCALE))
looks("called_by_re", lambda: re.sub("a", lambda _: str(SCALE), "banana"))
looks("called_in_a_list", lambda: float(np.piecewise(np.ones(1), [np.ones(1) > 0], [scaled])[0]))
looks("kept_in_an_array", lambda: np.array([helper, scaled], dtype=object)[1] is scaled)
looks("kept_by_numpy", lambda: np.frompyfunc(helper, 2, 1)(1, 2))
looks("kept_by_vectorize", lambda: np.vectorize(helper)(np.array([1, 2])).tolist())
looks("cached_inside", lambda: functools.lru_cache(scaled)(3))
looks("cached_inside_by_method", lambda: functools.cache(OWNER.method)(3))
looks("bound_inside", lambda: types.MethodType(helper, 3)(4))
looks("keys", lambda: {helper: 1, textwrap.dedent: 2}[textwrap.dedent])
looks("texts", lambda: (textwrap.dedent.__name__, f"{helper.__name__} {helper.__qualname__}"))


@program
def wraps_a_library():
    def fn(x):
        @functools.wraps(textwrap.dedent)
        def inner(q):
            return q * SCALE

        is_wrapped = inner.__wrapped__ is textwrap.dedent
        return inner(x), inner.__name__, is_wrapped, str(inspect.signature(inner))

    return Case(fn, change, exported=False)


@program
def cache_counts_inside():
    def fn(x):
        calls = []

        @functools.lru_cache(maxsize=2)
        def inner(k):
            calls.append(k)
            return k * SCALE

        return x * inner(1) + inner(1) * inner(2) * inner(3) * inner(1), calls

    return Case(fn, change, exported=False)
