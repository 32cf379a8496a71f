"""Numbers of every class of Python around sizes: exact, large, packed, rounded, hashed."""

import decimal
import enum
import fractions
import functools
import math
import numbers
import operator
import random
import statistics
import struct

import torch

from tests.differential.hostile.program import body, matrix

STATE = {"n": 2}
TWO, THREE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))


@body(TWO, THREE)
def fractions_of_sizes(x):
    f = fractions.Fraction(x.shape[0], STATE["n"] + 1)
    return x * float(f), f.numerator, f.denominator, f + 1, round(f), f < 2, str(f)


@body(TWO, THREE)
def decimals_of_sizes(x):
    d = decimal.Decimal(x.shape[0]) / STATE["n"]
    with decimal.localcontext() as c:
        c.prec = STATE["n"] + 2
        e = decimal.Decimal(1) / 7
    return x * float(d), str(d.quantize(decimal.Decimal("0.01"))), str(e), d == d


@body(TWO, THREE)
def precision_of_decimals(x):
    before = decimal.getcontext().prec
    decimal.getcontext().prec = 5
    text = str(decimal.Decimal(2).sqrt())
    decimal.getcontext().prec = before
    return x, text, before


@body(TWO, THREE)
def large_integers(x):
    k = (x.shape[0] + STATE["n"]) ** 40
    return x, k, k % 1000007, k.bit_length(), str(k)[:5], math.isqrt(k), pow(k, -1, 1000003)


@body(TWO, THREE)
def bits_of_sizes(x):
    n = x.shape[0] + STATE["n"]
    return (
        n.bit_length(),
        n.bit_count(),
        n.to_bytes(2, "big"),
        int.from_bytes(b"\x01\x02", "little"),
        x,
    )


@body(TWO, THREE)
def rounding_of_halves(x):
    n = x.shape[0]
    return (
        x,
        round(n / 2),
        round(n / 2, 1),
        round(-n / 2),
        math.floor(n / -2),
        n // -2,
        n % -3,
        -n % 3,
    )


@body(TWO, THREE)
def divmod_and_floats(x):
    n = x.shape[0]
    return (
        x,
        divmod(n, 4),
        divmod(-n, 4),
        divmod(n, 2.5),
        n / 4,
        float(n).hex(),
        (n / 4).as_integer_ratio(),
    )


@body(TWO, THREE)
def classes_of_numbers(x):
    n = x.shape[0]
    return (
        isinstance(n, numbers.Integral),
        isinstance(n, (float, int)),
        isinstance(n > 1, int),
        type(n / 1).__name__,
        type(n * True).__name__,
        type(n > 0).__name__,
        n.__class__ is int,
        n.real,
        n.imag,
        n.conjugate(),
        (n > 0) + 1,
        True + n,
        x,
    )


@body(TWO, THREE)
def packed_numbers(x):
    packed = struct.pack("<if", x.shape[0], STATE["n"] / 2)
    return x, packed, struct.unpack("<if", packed), struct.calcsize("qd")


@body(TWO, THREE)
def ranges_of_sizes(x):
    n = x.shape[0]
    r = range(0, n * 2, STATE["n"])
    return (
        x,
        list(r),
        len(r),
        4 in r,
        r == range(0, n * 2, STATE["n"]),
        r[-1:] == range(0),
        list(reversed(r)),
    )


@body(TWO, THREE)
def slices_of_sizes(x):
    s = slice(None, x.shape[0] // 2, STATE["n"])
    return x[s], s.indices(10), s == slice(None, x.shape[0] // 2, STATE["n"]), s.stop, "abcdefgh"[s]


@body(TWO, THREE)
def texts_and_lists_by_sizes(x):
    n = x.shape[0]
    return x, "ab" * n, [0] * n, bytes(n), bytearray(n), ("a",) * n, "z".rjust(n, "-"), "abc"[n % 3]


@body(TWO, THREE)
def hashes_of_numbers(x):
    n = x.shape[0]
    return x, hash(n), hash((n, 1)), {n: "a"}.get(float(n)), len({n, float(n), n + 0}), n in {3, 5}


@body(TWO, THREE)
def extremes_with_keys(x):
    n = x.shape[0]
    items = [n, 4, STATE["n"]]
    return (
        x,
        max(items, key=lambda k: -k),
        min(items, default=0),
        max([], default=n),
        sum(items, start=n),
        sorted(items, reverse=True),
        math.prod(items),
        statistics.median(items),
        math.gcd(n, 6),
        math.lcm(n + 1, 4),
        math.comb(n + 3, 2),
        functools.reduce(operator.xor, items),
    )


@body(TWO, THREE)
def chained_comparisons_with_effects(x):
    seen = []

    def told(k):
        seen.append(k)
        return k

    return x, told(1) < told(x.shape[0]) < told(4) != told(STATE["n"]), seen


@body(TWO, THREE)
def special_floats(x):
    inf, nan = float("inf"), float("nan")
    n = x.shape[0]
    return (
        x,
        n < inf,
        nan == nan,
        [nan] == [nan],
        min(nan, n),
        math.isclose(n / 3, n * (1 / 3)),
        -0.0 * n,
        n * 1e308 * 10,
    )


@body(TWO, THREE)
def float_sizes_become_integers(x):
    n = x.shape[0]
    return (
        x.new_ones(int(n * 1.5)),
        int(n / 2 + 0.5),
        math.ceil(n / STATE["n"]),
        int(-n / 2),
        int(f"{n}"),
    )


SOURCE = random.Random(3)


@body(TWO, looks_at=SOURCE)
def generator_kept_in_a_global(x):
    return x * SOURCE.random(), SOURCE.randint(0, 9)


@body(TWO)
def generator_seeded_by_a_size(x):
    r = random.Random(x.shape[0] * STATE["n"])
    return x * r.random(), r.randrange(10)


@body(TWO)
def shuffled_and_chosen(x):
    items = list(range(5))
    random.shuffle(items)
    return x + items[0], random.choice(items), random.sample(items, 2), random.choices("ab", k=3)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    ALL = READ | WRITE


RIGHTS = [Right.READ]


@body(
    lambda: RIGHTS.__setitem__(0, Right.ALL),
    lambda: RIGHTS.__setitem__(0, Right(0)),
    looks_at=RIGHTS,
)
def flags_that_change(x):
    now = RIGHTS[0]
    return (
        x + 1 if Right.WRITE in now else x - 1,
        now | Right.WRITE,
        ~now,
        bool(now & Right.READ),
        now.value,
        [r.name for r in Right],
        Level.HIGH > x.shape[0],
        Level(1) + x.shape[0],
        Level["LOW"].name,
    )


@body(TWO, THREE)
def enumeration_made_inside(x):
    kind = enum.Enum("Kind", {"A": STATE["n"], "B": x.dim()})
    return x * kind.A.value, kind["B"].value, [k.name for k in kind], kind(STATE["n"]).name


@body(TWO, THREE, args=matrix)
def complex_numbers(x):
    z = complex(x.shape[0], STATE["n"])
    return x * abs(z), z * z, z.conjugate(), z == complex(x.shape[0], STATE["n"]), (z**2).imag


@body(TWO, THREE)
def in_place_operators_on_numbers(x):
    n = m = x.shape[0]
    n += 1
    n *= STATE["n"]
    n -= m
    n //= 2
    n **= 2
    n %= 7
    n <<= 2
    n |= 1
    n ^= 3
    n &= 15
    n >>= 1
    return x * n, n, m


@body(TWO, THREE)
def truth_of_mixed_things(x):
    n = x.shape[0]
    return (
        x,
        n and "yes",
        n or "no",
        not n,
        bool(n) is True,
        (n > 2) & True,
        [n > 2] == [True],
        any([n, 0]),
        n is n,
    )


@body(TWO, THREE)
def conditional_walrus(x):
    if (n := x.shape[0]) > 2 and (k := STATE["n"]) > n - 2:
        return x * k, n
    return [y := n + 1, y**2], x, (lambda a=(b := 3): a + b)()
