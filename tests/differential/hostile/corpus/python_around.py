"""Python around the tensors that is rarely written: descriptors, metaclasses, slots, enums, weak
references, context managers, generators, copies, warnings and the environment."""

import contextlib
import copy
import dataclasses
import enum
import functools
import logging
import os
import pickle
import sys
import threading
import warnings
import weakref

import torch

from tests.differential.hostile.program import Case, leaf, program

STATE = {"n": 1}
LOG = []
LOGGER = logging.getLogger("hostile.around")


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2

    @property
    def factor(self):
        return self.value * STATE["n"]


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Missing(dict):
    def __missing__(self, key):
        self[key] = len(self) + STATE["n"]
        return self[key]


class Meta(type):
    count = 0

    def __len__(cls):
        return STATE["n"]

    def __getitem__(cls, key):
        return key * STATE["n"]

    @property
    def size(cls):
        return cls.count + STATE["n"]


class Thing(metaclass=Meta):
    level = 1


class Slotted:
    __slots__ = ("__weakref__", "a", "b")

    def __init__(self):
        self.a = 1


class Effect:
    total = 0

    @property
    def value(self):
        type(self).total += STATE["n"]
        return self.total

    @value.setter
    def value(self, v):
        LOG.append(v)
        self.kept = v

    @value.deleter
    def value(self):
        LOG.append("gone")


class Lazy:
    def __getattr__(self, name):
        if name.startswith("x"):
            value = STATE["n"] * len(name)
            setattr(self, name, value)
            return value
        raise AttributeError(name)


@dataclasses.dataclass
class Record:
    a: int = 1
    b: list = dataclasses.field(default_factory=lambda: [STATE["n"]])

    def __post_init__(self):
        self.c = self.a + len(self.b) + STATE["n"]


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int = 1


class Reduced:
    def __init__(self, v):
        self.v = v

    def __reduce__(self):
        return Reduced, (self.v + STATE["n"],)


class Copied:
    v = 1

    def __deepcopy__(self, memo):
        made = Copied()
        made.v = self.v + STATE["n"]
        return made


class Manager:
    def __enter__(self):
        LOG.append("in")
        return STATE["n"]

    def __exit__(self, kind, error, trace):
        LOG.append(kind and kind.__name__)
        return kind is KeyError


THING, SLOTTED, EFFECT, LAZY, MISSING = Thing(), Slotted(), Effect(), Lazy(), Missing()
REFERENCE = weakref.ref(THING)
WEAK = weakref.WeakKeyDictionary({THING: 2})
LOCAL = threading.local()
LOCAL.n = 1


def bump():
    STATE["n"] += 1


def asks(name, ask, *changes, args=None):
    """A program that computes with what `ask` gives."""

    def factory():
        def fn(x):
            found = ask(x)
            return x * 2, found

        looks_at = (STATE, LOG, vars(EFFECT), Effect.total, vars(LAZY), MISSING, Thing.level)
        options = {} if args is None else {"args": args}
        return Case(fn, *(changes or (bump,)), looks_at=looks_at, exported=False, **options)

    factory.__name__ = name
    program(factory)


def chained(_):
    with contextlib.ExitStack() as stack:
        n = stack.enter_context(Manager())
        stack.callback(LOG.append, n)
        return n


def swallowed(_):
    with Manager():
        raise KeyError("a")
    return STATE["n"]


def nested_errors(_):
    try:
        try:
            raise ValueError(STATE["n"])
        except ValueError as e:
            raise KeyError("b") from e
    except KeyError as e:
        return type(e.__cause__).__name__, e.__cause__.args


def generated(_):
    def steps():
        got = yield STATE["n"]
        LOG.append(got)
        try:
            yield got * 2
        finally:
            LOG.append("closed")

    g = steps()
    first = next(g)
    second = g.send(first + 1)
    g.close()
    return first, second


def delegated(_):
    def inner():
        yield from range(STATE["n"])
        return "end"

    def outer():
        LOG.append((yield from inner()))

    return list(outer())


def slots(_):
    SLOTTED.b = SLOTTED.a + STATE["n"]
    had = hasattr(SLOTTED, "b")
    del SLOTTED.b
    return had, hasattr(SLOTTED, "b")


def properties(_):
    EFFECT.value = EFFECT.value + 1
    del EFFECT.value
    return EFFECT.kept


def closure_that_changes():
    n = 0

    def step():
        nonlocal n
        n += STATE["n"]
        return n

    return step


STEP = closure_that_changes()


def class_made(_):
    made = type("Made", (Thing,), {"level": STATE["n"]})
    return made.level, len(made), made[2], made.__name__


def class_state(_):
    Thing.level += 1
    return Thing.level, THING.level, Thing.size


def replaced(_):
    r = Record(a=STATE["n"])
    s = dataclasses.replace(r, a=9)
    return s.a, s.c, dataclasses.asdict(r), dataclasses.astuple(s), r == Record(a=STATE["n"])


def frozen(_):
    try:
        Frozen().a = 2
    except dataclasses.FrozenInstanceError as e:
        return str(e), Frozen(1) < Frozen(STATE["n"]), hash(Frozen()) == hash(Frozen(1))


def warned(_):
    warnings.warn(f"at {STATE['n']}", stacklevel=1)
    return STATE["n"]


def logged(_):
    LOGGER.error("value %d", STATE["n"])
    return LOGGER.isEnabledFor(logging.ERROR)


def retains(x):
    y = x * STATE["n"]
    y.retain_grad()
    y.tag = STATE["n"]
    return y, y.tag, y.is_leaf, y.grad_fn is not None


def no_grads(x):
    with torch.no_grad():
        a = x * STATE["n"]
    with torch.enable_grad():
        b = x * STATE["n"]
    return a.requires_grad, b.requires_grad, torch.is_grad_enabled()


@functools.singledispatch
def dispatched(v):
    return "any", STATE["n"]


@dispatched.register
def _(v: int):
    return "int", v + STATE["n"]


asks(
    "enum_property",
    lambda _: (Mode.FAST.factor, Mode(1).name, list(Mode), Mode["SLOW"] is Mode.SLOW),
)
asks("flags", lambda _: (Bits.A | Bits.B, Bits.A in (Bits.A | Bits.B), int(~Bits.A & Bits.B)))
asks("missing_keys", lambda x: (MISSING[x.dim()], MISSING["a"], len(MISSING)))
asks("metaclass_length_and_item", lambda _: (len(Thing), Thing[3], Thing.size))
asks("class_made_inside", class_made)
asks("class_level_state", class_state)
asks("slots_made_and_deleted", slots)
asks("property_with_effects", properties)
asks("attributes_made_when_asked", lambda _: (LAZY.xy, LAZY.xyz, getattr(LAZY, "q", 0)))
asks("dataclass_with_a_factory", replaced)
asks("frozen_dataclass", frozen)
asks("reduced_copy", lambda _: copy.copy(Reduced(1)).v)
asks("deep_copy_by_method", lambda _: copy.deepcopy([Copied()])[0].v)
asks("pickled_inside", lambda _: pickle.loads(pickle.dumps(Reduced(2))).v)
asks("exit_stack", chained)
asks("exit_swallows", swallowed)
asks("errors_with_causes", nested_errors)
asks("generator_that_is_sent_to", generated)
asks("generator_that_delegates", delegated)
asks("closure_that_counts", lambda _: STEP())
asks("weak_reference", lambda _: (REFERENCE() is THING, WEAK[THING], len(WEAK)))
asks("thread_local", lambda _: LOCAL.n, lambda: setattr(LOCAL, "n", 5))
asks("warning_text", warned)
asks("log_record", logged)
asks(
    "environment",
    lambda _: os.environ.get("HOSTILE_AROUND", "x"),
    lambda: os.environ.update(HOSTILE_AROUND="y"),
)
asks("recursion_limit", lambda _: sys.getrecursionlimit() > 50)
asks("retained_gradients", retains, args=leaf)
asks("grad_modes", no_grads, args=leaf)
asks("dispatch_by_type", lambda x: (dispatched(x.dim()), dispatched("a")))
asks("sorted_by_attribute", lambda _: sorted(Mode, key=lambda m: -m.factor)[0].name)
asks("matched", lambda x: matched(x.shape))
asks("walrus_and_star", lambda x: [*(y := [STATE["n"]]), *y, {**STATE}["n"]])
asks("comparison_chain", lambda x: 0 <= STATE["n"] < x.dim() + 9 != 3)
asks("default_arguments_that_grow", lambda _: grows())
asks("attribute_of_a_function", lambda _: counts())
asks(
    "type_of_parts",
    lambda x: [type(p).__name__ for p in (x, x.shape, x.shape[0], x.dtype, x.dim())],
)
asks(
    "identity_of_parts",
    lambda x: (x.detach() is x, x.view(-1) is x, x.contiguous() is x, x.shape == x.size()),
)
asks("truth_of_sizes", lambda x: (bool(x.shape), not x.size(0), x.numel() and STATE["n"]))


def matched(shape):
    match tuple(shape):
        case (0,):
            return "none", STATE["n"]
        case (n,) if n > STATE["n"]:
            return "many", n
        case (n, *_):
            return "few", n


def grows(held=[]):  # noqa: B006
    held.append(STATE["n"])
    return len(held)


def counts():
    counts.calls = getattr(counts, "calls", 0) + STATE["n"]
    return counts.calls
