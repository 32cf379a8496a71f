"""Functions of libraries that code without a twin looks at, and tensors below Python."""

from __future__ import annotations

import functools
import inspect
import json
import pickle
import traceback
import types
import typing
import warnings
import weakref

import torch

from tests.differential.hostile.program import Case, program


def looks(name, f):
    def factory():
        return Case(f)

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


PRINT = traceback.print_exc
looks(
    "hints",
    lambda x: (x + 1, str(typing.get_type_hints(PRINT)), typing.get_type_hints(json.dumps) == {}),
)
looks("sig", lambda x: (x + 1, str(inspect.signature(PRINT)), str(inspect.signature(json.dumps))))
looks(
    "name",
    lambda x: (
        x + 1,
        PRINT.__name__,
        PRINT.__qualname__,
        PRINT.__module__,
        PRINT.__code__.co_argcount,
    ),
)
looks(
    "wraps",
    lambda x: (
        x + 1,
        functools.wraps(PRINT)(lambda: 1).__name__,
        functools.wraps(PRINT)(lambda: 1).__wrapped__ is PRINT,
    ),
)
looks(
    "part",
    lambda x: (
        x + 1,
        functools.partial(PRINT, 1).func is PRINT,
        repr(functools.partial(json.dumps, 1))[:40],
    ),
)
looks("pick", lambda x: (x + 1, pickle.dumps(PRINT), pickle.dumps(json.dumps)))
looks("text", lambda x: (x + 1, repr(PRINT)[:20], f"{PRINT}"[:20], str([PRINT])[:20]))
looks(
    "keyd",
    lambda x: (
        x + 1,
        {PRINT: 1}[PRINT],
        PRINT in {PRINT},
        [PRINT].index(PRINT),
        PRINT == PRINT,
        hash(PRINT) == hash(PRINT),
    ),
)
looks("meth", lambda x: (x + 1, types.MethodType(PRINT, 3).__func__ is PRINT))
looks("defaults", lambda x: (x + 1, json.dumps.__defaults__, json.dumps.__kwdefaults__))
looks("weak", lambda x: (x + 1, weakref.ref(PRINT)() is PRINT))
looks(
    "unw",
    lambda x: (
        x + 1,
        inspect.unwrap(PRINT) is PRINT,
        inspect.isfunction(PRINT),
        inspect.getmodule(PRINT) is traceback,
        inspect.getdoc(PRINT),
    ),
)
looks(
    "warnsig",
    lambda x: (
        x + 1,
        str(inspect.signature(warnings.warn)),
        inspect.signature(print).parameters.keys() == {1},
    ),
)
looks(
    "lensig",
    lambda x: (
        x + 1,
        str(inspect.signature(len)),
        str(inspect.signature(sorted)),
        inspect.isbuiltin(len),
    ),
)
looks("deflt", lambda x: (x + 1, json.dumps([{1}], default=str), json.dumps([{1}], default=repr)))
looks("fullarg", lambda x: (x + 1, str(inspect.getfullargspec(json.dumps))))
looks("partsig", lambda x: (x + 1, str(inspect.signature(functools.partial(json.dumps, indent=2)))))
looks(
    "torchsig",
    lambda x: (
        x + 1,
        str(inspect.signature(torch.nn.functional.relu)),
        str(inspect.signature(torch.manual_seed)),
    ),
)
looks("dkeys", lambda x: (x + 1, str(torch._C._dispatch_keys(x))))
looks(
    "functorch",
    lambda x: (x + 1, torch._C._functorch.is_batchedtensor(x), torch._is_functional_tensor(x)),
)
