"""Numbers that are no plain ones: subclasses, members, proxies, and operators that decline."""

import bisect
import ctypes
import enum
import fractions
import functools
import heapq
import itertools
import math
import numbers
import operator
import statistics

import torch

from tests.differential.hostile.program import Box, Case, attribute, body, item, matrix, program

STATE = Box(k=2, bias=0, on=True, reverse=False, keys=[3, 1, 2], seen=[], step=1)


class Width(int):
    """An int that knows where it came from, and adds what is outside to products."""

    def __new__(cls, value, note="made"):
        made = super().__new__(cls, value)
        made.note = note
        return made

    def __mul__(self, other):
        return Width(int(self) * other + STATE.bias, "product")

    def __radd__(self, other):
        return Width(other + int(self), f"sum {STATE.bias}")


class Count(enum.IntEnum):
    ONE = 1
    TWO = 2
    FOUR = 4

    @property
    def doubled(self):
        return Count.FOUR if STATE.on else Count.ONE


class Level(enum.IntFlag):
    LOW = 1
    MID = 2
    HIGH = 4


class Lazy:
    """Something with an `__index__` that reads what is outside."""

    def __init__(self, of):
        self.of, self.asked = of, 0

    def __index__(self):
        self.asked += 1
        return self.of() + STATE.k

    def __int__(self):
        return -7


@body(*attribute(STATE, "bias", 1, 3))
def subclass_of_int_as_a_size(x):
    w = Width(2) * 2
    return x.new_ones(w, x.size(0)), w.note, type(w).__name__


@body(*attribute(STATE, "bias", 1, 3))
def size_added_to_a_subclass(x):
    w = x.size(0) + Width(2)
    return torch.zeros(int(w)), w.note if isinstance(w, Width) else "plain"


@body(*attribute(STATE, "bias", 1, 3))
def subclass_of_a_size(x):
    w = Width(x.size(0))
    y = w * 2
    return x * int(y), y.note, x.new_zeros(y - y + 2)


@body(*attribute(STATE, "on", False, True), args=matrix)
def member_as_a_size(x):
    return x[:, : Count.TWO].sum(0), x.reshape(-1, Count.FOUR).size(0), x[:, : Count.ONE.doubled]


@body(*attribute(STATE, "on", False, True), args=matrix)
def member_as_a_dimension(x):
    d = Count.ONE if STATE.on else Count.TWO - 2
    return x.sum(d), x.size(Count.ONE), repr(d)


@body(args=matrix)
def truth_value_as_a_size(x):
    many = x.size(0) > 2
    return x[:many], torch.ones(many + 1, 2 * many), x.new_zeros(many, not many)


@body(args=matrix)
def truth_value_as_a_dimension(x):
    return x.sum(dim=True), x.select(False, -1) if x.size(0) else x, x.size(True)


@body(*attribute(STATE, "k", 1, 3))
def members_combined_by_sizes(x):
    level = Level(x.size(0) & 7)
    if Level.LOW in level:
        x = x + 1
    return x * (level ^ Level.HIGH), level.name, Level(STATE.k) | level, ~level & Level.HIGH


@body(*attribute(STATE, "k", 1, 0))
def index_that_reads_outside(x):
    i = Lazy(lambda: 0)
    rows = torch.arange(10.0)
    return rows[i], rows[: Lazy(lambda: x.size(0))], i.asked, [*range(i)], i.asked


@body(*attribute(STATE, "k", 1, 0))
def slice_of_lazy_bounds(x):
    s = slice(Lazy(lambda: -2), Lazy(lambda: x.size(0)), Lazy(lambda: 1 - STATE.k + 1))
    try:
        return [*range(20)][s], (10, 11, 12, 13)[s], s.indices(9)
    except ValueError as e:
        return str(e)


@body(*attribute(STATE, "k", 5, 1))
def factor_by_index(x):
    return [x.size(0)] * Lazy(lambda: 0), "ab" * Lazy(lambda: 1), operator.index(Lazy(lambda: 2))


class Declines:
    """Its operators decline where something outside says so."""

    def __add__(self, other):
        return NotImplemented if STATE.on else "left"

    __mul__ = __sub__ = __add__

    def __iadd__(self, other):
        return NotImplemented if STATE.on else "in place"


class Answers:
    def __radd__(self, other):
        return ("right", type(other).__name__, STATE.k)

    __rmul__ = __rsub__ = __radd__


@body(*attribute(STATE, "on", False, True))
def operator_that_declines(x):
    a = Declines()
    a += Answers()
    return Declines() + Answers(), Declines() * Answers(), a, x


@body(*attribute(STATE, "on", False, True))
def operator_that_declines_a_size(x):
    try:
        return Declines() + x.size(0), x + 1
    except TypeError as e:
        return str(e).replace("SymInt", "int"), x


@body(*attribute(STATE, "k", 5, 1))
def size_and_something_that_answers(x):
    n = x.size(0)
    return n + Answers(), n * Answers(), n - Answers(), x


class RightFirst(int):
    """A subclass is asked first, also on the right."""

    def __radd__(self, other):
        return ("asked first", other, STATE.k)

    def __rpow__(self, other, modulo=None):
        return ("power", other, modulo)


@body(*attribute(STATE, "k", 5, 1))
def subclass_on_the_right_is_asked_first(x):
    return x.size(0) + RightFirst(2), x.size(0) ** RightFirst(2), 3 + RightFirst(1)


@body(*attribute(STATE, "reverse", True, False))
def heap_of_sizes(x):
    h = [x.size(0), 4, 2]
    heapq.heapify(h)
    first = heapq.heappushpop(h, x.numel() + 1)
    return x * first, h, heapq.nlargest(2, h, key=lambda v: -v if STATE.reverse else v)


@body(*item(STATE.keys, 0, 0, 9))
def bisection_by_an_outside_key(x):
    at = bisect.bisect_left([0, 1, 2], x.size(0), key=lambda i: STATE.keys[i])
    rows = sorted(range(3), key=STATE.keys.__getitem__, reverse=STATE.on)
    return x + at, rows


@body(*attribute(STATE, "k", 5, 1))
def total_of_fractions(x):
    half = fractions.Fraction(x.size(0) * STATE.k, 6)
    return x * float(half), half.numerator, str(half), half.limit_denominator(2) > 1


@body(*attribute(STATE, "k", 5, 1))
def mean_of_sizes(x):
    sizes = [x.size(0), 4, STATE.k]
    return statistics.fmean(sizes), statistics.median(sizes), statistics.mode([*sizes, 4]), x


@body(*attribute(STATE, "step", 2, 3))
def steps_of_counts(x):
    c = itertools.count(x.size(0), STATE.step)
    taken = [next(c), next(c)]
    return taken, [*itertools.islice(c, 2)], repr(c) if False else x


@body(args=matrix)
def registered_kinds_of_numbers(x):
    n = x.size(0)
    return (
        isinstance(n, numbers.Integral),
        isinstance(n * 0.5, numbers.Real),
        isinstance(x, numbers.Number),
        issubclass(type(n), numbers.Rational),
        n.numerator,
        (n + 1).conjugate(),
        n.real,
        n.imag,
        x,
    )


@body(args=matrix)
def numbers_of_ctypes(x):
    cell = ctypes.c_int(x.size(0) + 300)
    small = ctypes.c_uint8(cell.value)
    return cell.value, small.value, x * small.value


@body(*attribute(STATE, "k", 5, 1), args=matrix)
def integer_methods(x):
    n = x.size(0)
    return n.bit_count(), n.to_bytes(2, "big"), int.from_bytes(n.to_bytes(2, "little"), "big"), (
        n * STATE.k).as_integer_ratio(), (n / 2).hex(), (n * 1.0).is_integer()  # fmt: skip


@body(*attribute(STATE, "k", 5, 1))
def formats_of_sizes(x):
    n = x.size(0)
    names = {f"{n:03d}": 1.0, f"{n!r:>4}": 2.0, f"{n:x}{STATE.k}": 3.0, "{:e}".format(n): 4.0}
    return x * names[f"{n:03d}"], [*names], "%05.1f|%-4d|%+d" % (n, n, n), format(n, "b")


@body(*attribute(STATE, "k", 5, 1))
def rounding_with_a_subclass(x):
    class Money(float):
        def __round__(self, digits=None):
            return ("rounded", digits, STATE.k)

        def __trunc__(self):
            return STATE.k

        def __floor__(self):
            return STATE.k * 2

    m = Money(x.size(0) + 0.5)
    return round(m), round(m, 1), math.trunc(m), math.floor(m), x * m


@body(*attribute(STATE, "k", 5, 1))
def product_with_a_start(x):
    shape = (*x.shape, STATE.k, 2)
    return math.prod(shape, start=Width(1)), sum(shape, Width(0)), x, math.prod(x.shape)


@body(*attribute(STATE, "on", False, True))
def reduce_with_an_operator_of_ours(x):
    pick = operator.add if STATE.on else operator.mul
    return functools.reduce(pick, (*x.shape, 3, 4)), x * functools.reduce(pick, [1, 2, 3])


@program
def in_place_on_an_attribute_and_an_item():
    class Account:
        def __init__(self):
            self.total = Width(1)
            self.rows = {"a": [1]}

    account = Account()

    def f(x):
        account.total += x.size(0)
        account.rows["a"] += [x.size(0)]
        account.rows["a"][0] <<= 1
        x[0:1] *= account.rows["a"][0]
        return x + 0, type(account.total).__name__

    return Case(f, *attribute(STATE, "k", 3), looks_at=account)


@program
def a_default_of_a_subclass():
    def f(x, w=Width(3, "default"), *, c=Count.TWO):
        return x.new_zeros(w, c), w.note, c.name, w + c

    return Case(f, lambda: setattr(f.__defaults__[0], "note", "changed"))


@program
def sizes_as_members():
    class Known(enum.Enum):
        SMALL = 1
        BIG = 5

        @classmethod
        def _missing_(cls, value):
            return cls.BIG if STATE.on else cls.SMALL

    def f(x):
        return Known(x.size(0)).name, x * Known(x.size(0)).value

    return Case(f, *attribute(STATE, "on", False, True))


@program
def hidden_operator_of_an_int_subclass():
    class Odd(int):
        pass

    odd = Odd(3)

    def f(x):
        return x * (odd + 1), x.new_zeros(odd), odd == 3

    def put():
        Odd.__add__ = lambda self, other: 100
        Odd.__eq__ = lambda self, other: "odd"
        Odd.__hash__ = int.__hash__

    return Case(f, put, lambda: delattr(Odd, "__add__"))
