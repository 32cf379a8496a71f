"""Functions that have no source, as those that `exec` makes: what they call and change is seen."""

from __future__ import annotations

import contextvars
import enum
import functools
import io
import itertools
import random
import weakref
from collections import namedtuple
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._pytree import MappingKey

import anyshape

MODES: list[dict[str, Any]] = [{"dynamic": None}, {"dynamic": True}, {"dynamic": "unbacked"}]


class Counting:
    """An object of a class that has a source."""

    def __init__(self) -> None:
        self.count = 0
        self.log: list[int] = []

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append(x.shape[0])
        return x + 1

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count

    @property
    def scale(self) -> float:
        self.log.append(0)
        return 2.0


class Acting:
    """An object whose special methods log."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def __getitem__(self, key: Any) -> float:
        self.log.append("item")
        if key > 2:
            raise IndexError
        return 2.0

    def __bool__(self) -> bool:
        self.log.append("truth")
        return True

    def __mul__(self, x: Any) -> Any:
        self.log.append("times")
        return x * 3

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, *_: object) -> None:
        self.log.append("out")

    def __format__(self, spec: str) -> str:
        self.log.append("text")
        return "text"

    def __hash__(self) -> int:
        self.log.append("hash")
        return 1

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append("call")
        return x

    def __len__(self) -> int:
        self.log.append("len")
        return 1


class Model(nn.Module):
    """A module that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append(x.shape[0])
        return x * 2


NAMES = """
class Cached:
    cache = {}
    hits = 0

    @classmethod
    def positions(cls, n):
        if n in cls.cache:
            cls.hits += 1
        else:
            cls.cache[n] = torch.arange(n) * 2.0
        return cls.cache[n]

class Child(Cached):
    pass

class Point:
    def __init__(self, a):
        self.a = a

    def total(self):
        return self.a.sum()

class State:
    n = 0

TOTAL = []
class Writing:
    def __init__(self, a):
        self.a = a
        TOTAL.append(1)

def called(x):
    called.calls = getattr(called, "calls", 0) + 1
    return x * called.calls
"""

WRITERS = {
    "items of a dict of a class": "Child.cache[x.shape[0]] = 1; return x + len(Child.cache)",
    "a class method": "return x + Child.positions(x.shape[0]), Child.hits, Cached.hits",
    "an attribute of a class": "Child.hits += 1; return x * Child.hits",
    "an attribute of an object": "STATE.n += 1; return x * STATE.n",
    "an attribute by name": "setattr(STATE, 'n', STATE.n + 1); return x * STATE.n",
    "the dict of an object": "vars(STATE)['n'] = STATE.n + 1; return x * STATE.n",
    "an attribute of a function": "return called(x)",
    "a list": "LOG.append(x.shape[0]); return x + len(LOG)",
    "a list only": "LOG.append(x.shape[0]); return x",
    "a list by another name": "known = LOG; known.append(1); return x",
    "an object that is called": "return COUNTING(x)",
    "a method": "return COUNTING.step(x)",
    "a property": "return x * COUNTING.scale",
    "a method below an attribute": "return HOLDER.held.step(x)",
    "a method in a lambda": "return (lambda t: COUNTING.step(t))(x)",
    "a method in a comprehension": "return [COUNTING.step(t) for t in (x, x)]",
    "a module": "return MODEL(x)",
    "a function in a dict": "return TABLE['step'](x)",
    "a function in a list in a dict": "return TABLE['list'][0](x)",
    "what a function gives": "return pick()(x)",
    "what a function gives, by name": "return pick().__call__(x)",
    "an attribute by a made name": "return getattr(COUNTING, 'st' + 'ep')(x)",
    "an item": "return x * ACTING[0]",
    "a loop": "return [x * k for k in ACTING]",
    "a truth": "return x + 1 if ACTING else x",
    "an operator": "return ACTING * x",
    "a block": "with ACTING: return x + 1",
    "a text": "return x + len(f'{ACTING}')",
    "a key": "return x + len({ACTING: 1})",
    "a length": "return x + len(ACTING)",
    "a function that is given": "return list(map(COUNTING.step, [x]))",
    "a partial": "return PARTIAL(x)",
    "a weak reference": "return REFERENCE().step(x)",
    "a default": "return (lambda t, c=COUNTING: c.step(t))(x)",
    "an __init__": "return Writing(x).a",
    "an __init__ by name": "COUNTING.__init__(); return x",
    "a random number": "import random; return x * random.random()",
    "a draw of a generator": "return x * RNG.random()",
    "an iterator": "return x * next(NUMBERS)",
    "a generator": "return x * next(GENERATOR)",
    "a print": "print('x', file=OUT); return x",
    "a context variable": "VARIABLE.set(VARIABLE.get() + 1); return x * VARIABLE.get()",
}
READERS = {
    "an item of a tensor": "y = torch.zeros_like(x); y[:] = x + 1; return y",
    "a list of its own": "parts = []; parts.append(x); return torch.cat(parts)",
    "a method that reads": "return Point(x).total()",
    "a tuple with names": "p = Pair(x, 2)._replace(second=3); return p.first * p.second",
    "a member of an enumeration": "return x * Kind.SECOND.value",
    "a class of no module": "return Nameless().scale(x)",
    "the text of a record of a library": "return x + 1, repr(KEY)",
}


def space() -> dict[str, Any]:
    """The names that a program without source uses, made anew."""
    names: dict[str, Any] = {"torch": torch, "__name__": "without_source"}
    exec(NAMES, names)
    holder = type("Holder", (), {"held": Counting()})()
    given = {"COUNTING": Counting(), "HOLDER": holder, "MODEL": Model(), "LOG": []}
    counting: Any = given["COUNTING"]
    table = {"step": counting.step, "list": [counting.step]}
    more = {
        "TABLE": table,
        "ACTING": Acting(),
        "pick": lambda: table["step"],
        "PARTIAL": functools.partial(counting.step),
        "REFERENCE": weakref.ref(counting),
        "RNG": random.Random(0),
        "NUMBERS": itertools.count(1),
        "GENERATOR": (k for k in range(1, 100)),
        "OUT": io.StringIO(),
        "VARIABLE": contextvars.ContextVar("variable", default=1),
        "Pair": namedtuple("Pair", "first second"),
        "Kind": enum.Enum("Kind", "FIRST SECOND"),
        "Nameless": _nameless(),
        "KEY": (MappingKey("a"), 2),
    }
    return {**names, **given, **more, "STATE": names["State"]()}


def _nameless() -> Any:
    """A class whose module has no name, so that Python takes it for one of the builtins."""
    names: dict[str, Any] = {}
    exec("class Nameless:\n    def scale(self, x):\n        return x * 2", names)
    return names["Nameless"]


def made(body: str) -> tuple[Any, dict[str, Any]]:
    """A function of this body, and its names."""
    names = space()
    exec(f"def f(x):\n    {body}", names)
    names["called"] = names["called"].__class__(names["called"].__code__, names, "called")
    return names["f"], names


def state(names: dict[str, Any]) -> Any:
    """What the programs change."""
    counting, held, model = names["COUNTING"], names["HOLDER"].held, names["MODEL"]
    objects = [(o.count, o.log) for o in (counting, held)]
    classes = [(list(c.cache), c.hits) for c in (names["Cached"], names["Child"])]
    known = (names["ACTING"].log, names["OUT"].getvalue(), len(names["TOTAL"]))
    return (*objects, *classes, model.log, names["STATE"].n, names["LOG"], *known)


def results(value: Any) -> list[Any]:
    """A result as lists and numbers."""
    parts = value if isinstance(value, list | tuple) else [value]
    return [p.tolist() if isinstance(p, torch.Tensor) else p for p in parts]


@pytest.mark.filterwarnings("ignore::anyshape.errors.AnyshapeWarning")
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("body", [*WRITERS, *READERS])
def test_it_does_what_eager_does(body: str, mode: dict[str, Any]) -> None:
    eager, of_eager = made({**WRITERS, **READERS}[body])
    plain, of_plain = made({**WRITERS, **READERS}[body])
    compiled = anyshape.compile(plain, **mode)
    for n in (3, 3, 0, 1, 4, 3, 4):
        x = torch.ones(n)
        drawn = random.getstate()
        found = results(compiled(x))
        random.setstate(drawn)
        assert found == results(eager(x)), n
        assert state(of_plain) == state(of_eager), n


@pytest.mark.parametrize("body", READERS)
def test_what_only_reads_is_traced(body: str) -> None:
    f, _ = made(READERS[body])
    compiled = anyshape.compile(f, dynamic="unbacked")
    for n in (3, 0, 1, 4):
        assert results(compiled(torch.ones(n))) == results(f(torch.ones(n)))
    assert (compiled.stats.traces, compiled.stats.eager) == (1, 0)


@pytest.mark.parametrize("body", WRITERS)
def test_an_export_is_refused(body: str) -> None:
    f, names = made(WRITERS[body])
    before = repr(state(names))
    with pytest.raises(anyshape.AnyshapeError):
        anyshape.export(f, (torch.ones(3),))
    assert repr(state(names)) == before


@pytest.mark.parametrize("n", [1, 5])
def test_what_is_reached_by_no_name_is_followed_once(n: int) -> None:
    """The layers of a model whose method has no twin are reached without a name of the code."""
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(
        "def forward(self, x, y):\n    return self.layer(x, y, y)[0] + self.layer(y, x, x)[0]",
        names,
    )
    model: Any = type("Crossed", (nn.Module,), {"forward": names["forward"]})()
    model.layer = nn.MultiheadAttention(8, 2, batch_first=True)
    compiled = anyshape.compile(model, dynamic="unbacked")
    x, y = torch.randn(2, n, 3, 8)
    torch.testing.assert_close(compiled(x, y), model(x, y))
