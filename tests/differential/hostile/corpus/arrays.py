"""NumPy: arrays as arguments, in cells, as results, and functions of NumPy over sizes."""

import operator

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


def given(name, use, *arrays):
    """A program that is called with one array after the other."""

    def factory():
        def fn(x, a):
            return use(x, a)

        calls = [
            lambda a=a, n=n: (torch.arange(n) + 1.0, a.copy()) for n in (3, 2) for a in arrays * 2
        ]
        return Case(fn, calls=calls)

    factory.__name__ = name
    program(factory)


ONE, TWO = np.array([1.0, 2.0]), np.array([1.0, 3.0])

given("argument_item", lambda x, a: x * float(a[1]), ONE, TWO)
given("argument_sum", lambda x, a: x * float(a.sum()), ONE, TWO)
given("argument_to_tensor", lambda x, a: x.sum() * torch.from_numpy(a), ONE, TWO)
given("argument_as_tensor", lambda x, a: torch.as_tensor(a) + 1, ONE, TWO)
given("argument_copied_to_tensor", lambda x, a: torch.tensor(a) + 1, ONE, TWO)
given("argument_shape", lambda x, a: x * len(a) + a.ndim, ONE, np.ones((3, 1)))
given(
    "argument_dtype",
    lambda x, a: (x * 2, str(a.dtype)),
    ONE,
    ONE.astype(np.float32),
    ONE.astype(int),
)
given("argument_returned", lambda x, a: (x * 2, a), ONE, TWO)
given("argument_doubled", lambda x, a: (x * 2, a * 2), ONE, TWO)
given("argument_that_decides", lambda x, a: x if (a > 2).any() else -x, ONE, TWO)
given("argument_of_a_function", lambda x, a: x * float(np.linalg.norm(a)), ONE, TWO)
given(
    "argument_of_ints_as_index",
    lambda x, a: x[torch.from_numpy(a)],
    np.array([0, 1]),
    np.array([1, 1]),
)
given("where_over_an_argument", lambda x, a: np.where(a < 1.5, 0.0, a), ONE, TWO)
given("argument_in_place", lambda x, a: (x * 2, a.__iadd__(1.0)), ONE, TWO)
given("multiplied_tensor", lambda x, a: torch.tensor(x.numpy() * a[0]), ONE, TWO)
given("scalar_of_an_array", lambda x, a: (x * a[1], a[1]), ONE, TWO)


@program
def array_in_a_cell():
    a = np.array([1.0, 2.0])

    def fn(x):
        return x * float(a[1])

    return Case(fn, *item(a, 1, 3.0, 2.0))


@program
def array_in_an_attribute():
    o = Box(a=np.array([1.0, 2.0]))

    def fn(x):
        return x.sum() * torch.from_numpy(o.a)

    return Case(fn, *item(o.a, 1, 3.0, 2.0), *attribute(o, "a", np.array([5.0])))


@program
def array_written():
    a = np.zeros(2)

    def fn(x):
        a[0] += 1
        return x * float(a[0])

    return Case(fn)


@program
def tensor_to_numpy():
    def fn(x):
        return x.numpy() * 2

    return Case(fn)


@program
def tensor_through_numpy():
    def fn(x):
        return torch.from_numpy(np.sort(x.numpy())) + 1

    return Case(fn)


@program
def where_over_a_tensor():
    a = np.array(5.0)

    def fn(x):
        return np.where(x < 2.5, a, x)

    return Case(fn)


@program
def where_over_sizes():
    def fn(x):
        return x * 2, np.where(np.array([1, 3]) < x.shape[0], x.shape[0], 0)

    return Case(fn)


@program
def functions_of_sizes():
    def fn(x):
        n = x.shape[0]
        return x * np.sqrt(n) + np.prod(x.shape), np.arange(n), np.zeros(n), np.ceil(n / 2)

    return Case(fn)


@program
def array_of_sizes():
    def fn(x):
        a = np.array(x.shape)
        return x * 2, a, a.dtype.kind, np.asarray([x.shape[0], 1])

    return Case(fn)


@program
def array_made_inside_is_new():
    def fn(x):
        a = np.zeros(2)
        a += 1
        return x * 2, a

    return Case(fn)


@program
def numpy_error_state():
    def fn(x):
        with np.errstate(divide="ignore"):
            k = float(np.float64(1.0) / np.float64(x.shape[0] - 2))
        return x * k

    return Case(fn)


@program
def array_dunder():
    class Like:
        def __init__(self):
            self.k = 2.0

        def __array__(self, dtype=None, copy=None):
            return np.array([self.k])

    o = Like()

    def fn(x):
        return x * float(np.asarray(o)[0])

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


def of_outside(name, use):
    """A program over an array from outside, whose elements change in place."""

    def factory():
        a = np.array([1.0, 2.0])

        def fn(x):
            return x * use(a)

        return Case(fn, *item(a, 1, 3.0, 2.0), looks_at=a)

    factory.__name__ = name
    program(factory)


of_outside("mean_of_outside", lambda a: float(np.mean(a)))
of_outside("sum_of_outside", lambda a: float(np.sum(a)))
of_outside("ufunc_of_outside", lambda a: float(np.sqrt(a)[1]))
of_outside("reduction_of_a_ufunc", lambda a: float(np.add.reduce(a)))
of_outside("sorted_array", lambda a: float(np.sort(a)[-1]))
of_outside("clipped_array", lambda a: float(a.clip(0.0, 2.5).sum()))
of_outside("iterated_array", lambda a: sum(v for v in a))
of_outside("unpacked_array", lambda a: max(*a))
of_outside("view_of_an_array", lambda a: float(a[::-1][0]))
of_outside("dot_of_an_array", lambda a: float(a @ a))
of_outside("array_in_a_list", lambda a: float(np.concatenate([a, a]).sum()))
of_outside("added_into_an_array", lambda a: float(np.add(a, 1.0, out=a).sum()))
of_outside("copied_into_an_array", lambda a: np.copyto(a, a + 1.0) or 2.0)
of_outside("put_into_an_array", lambda a: np.put(a, [0], [a[0] + 1]) or 2.0)
of_outside("array_as_a_condition", lambda a: 2.0 if (a > 2.5).any() else 3.0)
of_outside("array_as_text", lambda a: float(len(str(a))))
of_outside("array_as_bytes", lambda a: float(a.tobytes()[-2]))
of_outside("memory_of_an_array", lambda a: float(memoryview(a)[1]))


def scalar(name, use):
    """A program that is called with scalars of NumPy of every type, and with arrays of rank 0."""

    def factory():
        def fn(x, k):
            return use(x, k)

        kinds = (np.int64, np.int32, np.uint8, np.float32, np.float64, np.bool_, np.array)
        values = [kind(v) for kind in kinds for v in (2, 1, 0, 2)]
        return Case(fn, calls=[lambda k=k: (torch.arange(3) + 1.0, k) for k in values])

    factory.__name__ = name
    program(factory)


scalar("scalar_factor", lambda x, k: x * k)
scalar("scalar_reflected", lambda x, k: k * x)
scalar("scalar_itself", lambda x, k: (x * 1, k, type(k).__name__))
scalar("scalar_as_a_size", lambda x, k: torch.zeros(int(k)) + x.sum())
scalar("scalar_as_an_index", lambda x, k: x[k])
scalar("scalar_as_a_bound", lambda x, k: x[:k])
scalar("scalar_in_a_test", lambda x, k: x * 2 if k else x * 3)
scalar("scalar_compared", lambda x, k: x * 2 if k > 1 else x * 3)
scalar("scalar_arithmetic", lambda x, k: (x * (k + 1), k / 2, k // 2, -k if k.dtype != bool else k))
scalar("scalar_classes", lambda x, k: (x * 1, isinstance(k, int), isinstance(k, np.floating)))
scalar("scalar_converted", lambda x, k: (x * k.item(), int(k), float(k), bool(k)))
scalar("scalar_as_a_range", lambda x, k: x + sum(range(k)))
scalar("scalar_in_a_shape", lambda x, k: x.expand(k, 3))
scalar("scalar_in_a_tensor", lambda x, k: torch.tensor(k) + x.sum())
scalar("scalar_as_a_key", lambda x, k: x * {0: 1.0, 1: 2.0, 2: 3.0}[k])


def in_place(name, operation):
    """A program that changes a tensor in place, or not: an array takes the operator over."""

    def factory():
        other = np.arange(1, 4, dtype=np.float32)

        def fn(x):
            y = x.clone()
            z = operation(y, other)
            return y, z, z is y

        return Case(fn, sizes=())

    factory.__name__ = f"{name}_an_array"
    program(factory)


for of in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"):
    in_place(of, getattr(operator, of))
