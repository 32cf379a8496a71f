"""What the patterns of `match` look at, and what looks at all variables of a function."""

from __future__ import annotations

import enum

import torch

from tests.differential.hostile.program import Box, Case, body, program


STATE = Box(k=2.0, size=3, log=[])


def set_(n, v):
    return lambda: setattr(STATE, n, v)


@body()
def eval_of_a_local(x):
    k = 3
    y = x * 2
    z = eval("k + 1")
    return y * z


@body()
def exec_of_a_local(x):
    k = 3
    out = {}
    exec("out['r'] = k")
    return x * out["r"]


@body()
def dir_without(x):
    k = 3
    names = dir()
    exec("pass")
    return x * k, names


@body()
def vars_without(x):
    k = 3
    exec("pass")
    names = sorted(vars())
    return x * k, names


@body(set_("size", 5), set_("size", 1))
def value_pattern(x):
    match x.shape[0]:
        case STATE.size:
            return x * 10
        case _:
            return x


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Proper:
    @property
    def a(self):
        return STATE.k


class Sub:
    __match_args__ = ("a",)

    def __init__(self, a):
        self.a = a


@program
def slot_pattern():
    o = Slotted(2.0)

    def fn(x):
        match o:
            case Slotted(a=2.0):
                return x * 10
            case Slotted(a=k):
                return x * k

    return Case(fn, lambda: setattr(o, "a", 5.0), lambda: setattr(o, "a", 2.0))


@program
def property_pattern():
    o = Proper()

    def fn(x):
        match o:
            case Proper(a=k):
                return x * k

    return Case(fn, set_("k", 5.0))


@program
def nested_pattern():
    o = {"p": [Slotted(2.0), Proper()]}

    def fn(x):
        match o:
            case {"p": [Slotted(a=k), Proper(a=j)]}:
                return x * k + j

    return Case(fn, set_("k", 5.0), lambda: setattr(o["p"][0], "a", 7.0))


class Meta(type):
    def __instancecheck__(cls, o):
        return STATE.k > 3


class Whatever(metaclass=Meta):
    pass


@program
def instance_pattern():
    def fn(x):
        match STATE.size:
            case Whatever():
                return x * 10
            case _:
                return x

    return Case(fn, set_("k", 5.0))


class Mode(enum.Enum):
    A = 1
    B = 2


@program
def enum_pattern():
    box = Box(m=Mode.A)

    def fn(x):
        match box.m:
            case Mode.A:
                return x * 10
            case Mode.B:
                return x

    return Case(fn, lambda: setattr(box, "m", Mode.B))


@body(args=lambda n: (torch.ones(n), Sub(float(n))))
def argument_pattern(x, o):
    match o:
        case Sub(3.0):
            return x * 10
        case Sub(k):
            return x * k


@body(args=lambda n: (torch.ones(n), {"k": n, "t": torch.ones(n)}))
def argument_dict_pattern(x, o):
    match o:
        case {"k": 3}:
            return x * 10
        case {"k": k, "t": torch.Tensor() as t}:
            return x * k + t


@body()
def inside_pattern(x):
    match Sub([x.shape[0], x]):
        case Sub([n, torch.Tensor(shape=(m,)) as y]):
            return y * n + m


@body(set_("k", 3.5))
def spec(x):
    n = x.shape[0]
    return (
        x,
        f"{STATE.k:.{n}f} {n:{n}d} {STATE.k:{n}.{2}f}",
        format(STATE.k, f".{n}f"),
        "{:.{}f}".format(STATE.k, n),
        "%.*f" % (n, STATE.k),
    )
