"""Values that are equal and not the same: types, signs, bits, fields that `__eq__` ignores."""

import collections
import decimal
import fractions

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


class Tagged:
    """Equal to every other one of its kind."""

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Tagged)

    def __hash__(self):
        return 1

    def scale(self, x):
        return x * self.k


Pair = collections.namedtuple("Pair", ["a", "b"])


def with_value(name, first, *others, use):
    """A program that reads an attribute, which gets a value equal to the first."""

    def factory():
        o = Box(k=first)

        def fn(x):
            return use(x, o.k)

        return Case(fn, *attribute(o, "k", *others, first))

    factory.__name__ = name
    program(factory)


def with_argument(name, *values, use):
    """A program that is given values that are equal."""

    def factory():
        def fn(x, k):
            return use(x, k)

        calls = [lambda v=v, n=n: (torch.arange(n) + 1.0, v) for n in (3, 2) for v in values * 2]
        return Case(fn, calls=calls)

    factory.__name__ = name
    program(factory)


def divided(x, k):
    return x / k


def typed(x, k):
    return x * {int: 1, float: 2, bool: 3, str: 4}.get(type(k), 5)


with_value("zero_and_minus_zero", 0.0, -0.0, use=divided)
with_value("int_and_float", 1, 1.0, use=typed)
with_value("int_and_bool", 1, True, use=typed)
with_value("float_and_bool", 1.0, True, use=typed)
with_value("zero_int_float_bool", 0, False, 0.0, -0.0, use=lambda x, k: (x * k, k))
with_value("returned_number", 1, 1.0, True, use=lambda x, k: (x + 1, k))
with_value("int_dtype", 1, 1.0, use=lambda x, k: torch.full((2,), k))
with_value("true_division", 2, 2.0, use=lambda x, k: x * (7 // k) + (7 % k))
with_value("formatted", 1, 1.0, True, use=lambda x, k: (x + 1, f"{k}"))
with_value("complex_and_float", 1.0, 1 + 0j, use=lambda x, k: x * k)
with_value("nan_and_nan", float("nan"), 1.0, float("nan"), use=lambda x, k: x * k)
with_value("nan_sign", float("inf"), float("-inf"), use=lambda x, k: x * k)
with_value("fraction_and_int", 2, fractions.Fraction(2), use=lambda x, k: (x + 1, type(k).__name__))
with_value(
    "decimal_exponent",
    decimal.Decimal("1.0"),
    decimal.Decimal("1.00"),
    use=lambda x, k: (x + 1, str(k)),
)
with_value(
    "numpy_scalar",
    2.0,
    np.float32(2.0),
    np.float64(2.0),
    use=lambda x, k: (x * k, type(k).__name__),
)
with_value("bytes_and_bytearray", b"a", bytearray(b"a"), use=lambda x, k: (x + 1, type(k).__name__))
with_value("tuple_of_equal", (1, 0.0), (1.0, 0.0), (1, -0.0), use=lambda x, k: (x / k[1], k[0]))
with_value("list_of_equal", [1], [1.0], [True], use=lambda x, k: (x + 1, k[0]))
with_value("nested_equal", {"k": (0.0,)}, {"k": (-0.0,)}, use=lambda x, k: x / k["k"][0])
with_value("set_of_equal", {1}, {1.0}, {True}, use=lambda x, k: (x + 1, *k))
with_value("tuple_and_list", (2.0,), [2.0], use=lambda x, k: (x * k[0], type(k).__name__))
with_value("size_and_tuple", (2, 3), torch.Size([2, 3]), use=lambda x, k: (x + 1, type(k).__name__))
with_value(
    "string_subclass", "a", type("S", (str,), {})("a"), use=lambda x, k: (x + 1, type(k) is str)
)
with_value("int_subclass", 2, type("I", (int,), {})(2), use=lambda x, k: (x * k, type(k) is int))
with_value("equal_objects", Tagged(2.0), Tagged(3.0), use=lambda x, k: x * k.k)
with_value("equal_objects_in_a_list", [Tagged(2.0)], [Tagged(3.0)], use=lambda x, k: x * k[0].k)
with_value(
    "equal_objects_as_keys",
    {Tagged(2.0): 1},
    {Tagged(3.0): 1},
    use=lambda x, k: x * next(iter(k)).k,
)
with_value("methods_of_equal_objects", Tagged(2.0).scale, Tagged(3.0).scale, use=lambda x, k: k(x))
with_value(
    "array_shape", np.array([1.0]), np.array([[1.0]]), use=lambda x, k: x * torch.tensor(k.ndim)
)
with_value("array_dtype", np.array([1.0]), np.array([1]), use=lambda x, k: (x + 1, str(k.dtype)))
with_value(
    "array_values", np.array([1.0, 2.0]), np.array([1.0, 3.0]), use=lambda x, k: x * float(k[1])
)
with_value("array_zero_sign", np.array([0.0]), np.array([-0.0]), use=lambda x, k: x / float(k[0]))
with_value(
    "slice_bounds", slice(0, 2), slice(0, 2.0), use=lambda x, k: (x + 1, type(k.stop).__name__)
)
with_value("range_equal", range(0, 3, 2), range(0, 4, 2), use=lambda x, k: (x + 1, k.stop))
with_value("dtype_swap", torch.float32, torch.float64, use=lambda x, k: x.to(k))
with_value("device_equal", torch.device("cpu"), "cpu", use=lambda x, k: (x + 1, type(k).__name__))

with_argument("argument_zero_and_minus_zero", 0.0, -0.0, use=divided)
with_argument("argument_int_float_bool", 1, 1.0, True, use=lambda x, k: (x * k, k))
with_argument("argument_types", 1, 1.0, True, use=typed)
with_argument("argument_in_a_tuple", (1,), (1.0,), (True,), use=lambda x, k: (x * k[0], k[0]))
with_argument("argument_in_a_dict", {"k": 1}, {"k": 1.0}, use=lambda x, k: (x * k["k"], k["k"]))
with_argument("argument_key", {1: 2.0}, {1.0: 2.0}, {True: 2.0}, use=lambda x, k: (x * k[1], *k))
with_argument("argument_equal_objects", Tagged(2.0), Tagged(3.0), use=lambda x, k: x * k.k)
with_argument(
    "argument_equal_objects_as_keys",
    {Tagged(2.0): 1},
    {Tagged(3.0): 1},
    use=lambda x, k: x * next(iter(k)).k,
)
with_argument("argument_keys_with_signs", {0.0: 1}, {-0.0: 1}, use=lambda x, k: x / next(iter(k)))
with_argument(
    "argument_tuples_as_keys", {(1, 2): 1}, {(1.0, 2): 1}, use=lambda x, k: (x, next(iter(k)))
)
with_argument(
    "argument_named_tuples_as_keys",
    {Pair(1, 2): 1},
    {Pair(1, 3): 1},
    {Pair(True, 3): 1},
    use=lambda x, k: (x * next(iter(k)).b, next(iter(k)).a),
)
with_argument("argument_string", "a", "b", use=lambda x, k: x if k == "a" else -x)
with_argument("argument_none", None, 2.0, use=lambda x, k: x if k is None else x * k)
with_argument("argument_nan", float("nan"), 1.0, use=lambda x, k: x * k)
with_argument(
    "argument_numpy_scalar", 2.0, np.float32(2.0), np.float64(2.0), use=lambda x, k: (x * k, k)
)
with_argument("argument_large_int", 2**53, 2**53 + 1, float(2**53), use=lambda x, k: (x + 1, k))
with_argument("argument_complex", 1.0, 1 + 0j, use=lambda x, k: x * k)
with_argument("argument_function", abs, float, use=lambda x, k: x * k(2))
with_argument("argument_type", int, float, use=lambda x, k: x * k(2.5))
with_argument("argument_dtype", torch.float32, torch.float64, use=lambda x, k: x.to(k))
with_argument("argument_list_lengths", [1.0], [1.0, 2.0], [], use=lambda x, k: x * sum(k))


@program
def keys_of_a_dict():
    d = {1: 2.0}

    def fn(x):
        return x + 1, next(iter(d))

    def change(key):
        d.clear()
        d[key] = 2.0

    return Case(fn, lambda: change(1.0), lambda: change(True))


@program
def items_of_a_list():
    rows = [1]

    def fn(x):
        return x + 1, rows[0]

    return Case(fn, *item(rows, 0, 1.0, True))


@program
def default_that_is_equal():
    def fn(x, k=1):
        return x * k, k

    return Case(fn, *attribute(fn, "__defaults__", (1.0,), (True,)))


@program
def cell_that_is_equal():
    k = 0.0

    def fn(x):
        return x / k

    def change():
        nonlocal k
        k = -k

    return Case(fn, change)


LEVEL = 0


@program
def global_that_is_equal():
    def fn(x):
        return x + 1, LEVEL

    def change():
        global LEVEL
        LEVEL = {int: 0.0, float: False, bool: 0}[type(LEVEL)]

    return Case(fn, change, change)
