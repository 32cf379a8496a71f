"""What raises: errors that are caught, decided by sizes, by data or by the outside."""

import contextlib

import torch

from tests.differential.hostile.program import Box, Case, attribute, program


def tries(name, act, error=Exception, args=None):
    """A program that catches an error of an expression over a size."""

    def factory():
        def fn(x):
            try:
                k = act(x.shape[0], x)
            except error:
                k = 100
            return x * k, k

        return Case(fn) if args is None else Case(fn, args=args)

    factory.__name__ = name
    program(factory)


def number(name, act, error, values=(0, 2, 3, 0, 1, -1, 2)):
    """A program that catches an error of an expression over an argument."""

    def factory():
        def fn(x, n):
            try:
                k = act(n)
            except error:
                k = 100
            return x * k, k

        return Case(fn, calls=[lambda v=v: (torch.arange(3) + 1.0, v) for v in values])

    factory.__name__ = name
    program(factory)


tries("division_by_a_size", lambda n, x: 6 // n, ZeroDivisionError)
tries("true_division_by_a_size", lambda n, x: 1.0 / n, ZeroDivisionError)
tries("modulo_of_a_size", lambda n, x: 7 % n, ZeroDivisionError)
tries("shift_by_a_size", lambda n, x: 1 << (n - 3), ValueError)
tries("index_of_a_list_by_a_size", lambda n, x: [1, 2, 3][n], IndexError)
tries("key_of_a_dict_by_a_size", lambda n, x: {1: 10, 3: 30}[n], KeyError)
tries("select_beyond", lambda n, x: x[2].sum(), IndexError)
tries("reshape_that_fails", lambda n, x: x.reshape(2, -1).sum(), RuntimeError)
tries("view_that_fails", lambda n, x: x.view(3).sum(), RuntimeError)
tries("add_that_fails", lambda n, x: (x + torch.ones(3)).sum(), RuntimeError)
tries(
    "cat_that_fails", lambda n, x: torch.cat([x[:, None], torch.ones(3, 1)], 1).sum(), RuntimeError
)
tries("split_that_fails", lambda n, x: x.split([2, n - 2])[0].sum(), RuntimeError)
tries("chunk_that_is_missing", lambda n, x: x.chunk(2)[1].sum(), IndexError)
tries("unpack_that_fails", lambda n, x: sum(x.split(1)[:2][1]), (IndexError, ValueError))
tries("max_of_nothing", lambda n, x: x.max(), (RuntimeError, IndexError))
tries("assertion_on_a_size", lambda n, x: check(n > 2), AssertionError)
tries("value_error_on_a_size", lambda n, x: need(n != 3), ValueError)
tries("torch_check_on_a_size", lambda n, x: torch._check(n > 2) or 1, RuntimeError)
tries("square_root_of_a_size", lambda n, x: (n - 2.5) ** 0.5, TypeError)
tries("range_step_of_zero", lambda n, x: len(range(0, 5, n)), ValueError)
tries("narrow_beyond", lambda n, x: x.narrow(0, 1, 2).sum(), RuntimeError)
tries("narrow_beyond_is_no_index_error", lambda n, x: x.narrow(0, 1, 2).sum(), IndexError)
tries("select_beyond_is_no_value_error", lambda n, x: x[2].sum(), (ValueError, KeyError))
tries("select_by_a_method", lambda n, x: x.select(0, n - 1).sum(), IndexError)
tries("stack_of_others", lambda n, x: torch.stack([x, torch.ones(3)]).sum(), RuntimeError)
tries("matmul_that_fails", lambda n, x: (x @ torch.ones(3)).sum(), RuntimeError)
tries("expand_that_fails", lambda n, x: x.expand(3).sum(), RuntimeError)
tries("split_of_others", lambda n, x: x.split([1, 2])[1].sum(), (RuntimeError, ValueError))
tries("roll_of_a_dim", lambda n, x: x.reshape(1, n).sum(n - 2), IndexError)
tries("unsqueeze_beyond", lambda n, x: x.unsqueeze(n - 2).sum(), IndexError)
tries("take_beyond", lambda n, x: x.unflatten(0, (2, 2)).sum(), RuntimeError)
tries("largest_of_few", lambda n, x: x.topk(3)[0].sum(), RuntimeError)
tries("transpose_of_a_dim", lambda n, x: x.transpose(0, n - 3).sum(), IndexError)
tries("item_of_many", lambda n, x: x.item(), RuntimeError)
tries("truth_of_many", lambda n, x: 1 if x else 2, RuntimeError)
tries("index_tensor_beyond", lambda n, x: x[torch.tensor([2])].sum(), IndexError)
tries("int_of_text", lambda n, x: int("a" * n), ValueError)
tries("string_index_by_a_size", lambda n, x: ord("abc"[n]), IndexError)
tries("any_exception", lambda n, x: 6 // (n - 3))
tries("bare_base_exception", lambda n, x: 6 // (n - 3), BaseException)

number("division_by_an_argument", lambda n: 6 // n, ZeroDivisionError)
number("true_division_by_an_argument", lambda n: 1.0 / n, ZeroDivisionError)
number("division_by_a_float", lambda s: 1.0 / s, ZeroDivisionError, (0.0, 2.0, 0.5, 0.0, -0.0))
number("shift_by_an_argument", lambda n: 1 << n, ValueError)
number("modulo_of_an_argument", lambda n: 5 % n, ZeroDivisionError)
number("divmod_of_an_argument", lambda n: divmod(7, n)[1], ZeroDivisionError)
number("power_of_an_argument", lambda n: 0.0**n, ZeroDivisionError)
number("index_by_an_argument", lambda n: [5, 6][n], IndexError)
number("root_of_an_argument", lambda n: __import__("math").sqrt(n), ValueError)
number(
    "int_of_an_argument",
    lambda n: int(n),
    (ValueError, OverflowError),
    (1.5, float("inf"), 2.5, float("nan")),
)
number("zeros_of_an_argument", lambda n: torch.zeros(n).numel(), RuntimeError)


def check(condition):
    assert condition, "not so"
    return 2


def need(condition):
    if not condition:
        raise ValueError("needed")
    return 2


@program
def error_that_escapes():
    def fn(x):
        if x.shape[0] == 2:
            raise ValueError(f"bad size {x.shape[0]}")
        return x * 2

    return Case(fn)


@program
def error_on_data_that_escapes():
    def fn(x):
        if x.sum() > 6:
            raise ValueError("too large")
        return x * 2

    return Case(fn)


@program
def error_of_an_own_class():
    class Bad(Exception):
        def __init__(self, n):
            super().__init__(n)
            self.n = n

    def inner(x):
        if x.shape[0] != 3:
            raise Bad(x.shape[0])
        return x * 2

    def fn(x):
        try:
            return inner(x)
        except Bad as e:
            return x * e.n

    return Case(fn)


@program
def error_chained():
    def fn(x):
        try:
            return x * (6 // (x.shape[0] - 2))
        except ZeroDivisionError as e:
            raise RuntimeError("chained") from e

    return Case(fn)


@program
def error_raised_again():
    o = Box(n=0)

    def fn(x):
        try:
            return x * (6 // (x.shape[0] - 2))
        except ZeroDivisionError:
            o.n += 1
            raise

    return Case(fn)


@program
def suppressed_error():
    def fn(x):
        y = x * 2
        with contextlib.suppress(IndexError):
            y = y + x[2]
        return y

    return Case(fn)


@program
def suppressed_own_error():
    def fn(x):
        with contextlib.suppress(ValueError):
            if x.shape[0] != 3:
                raise ValueError("no")
            return x * 2
        return x * 3

    return Case(fn)


@program
def error_that_data_decides():
    def fn(x, i):
        try:
            v = x[i]
            if v.sum() > 0:
                v = v * 2
        except IndexError:
            return x * 0 - 1
        return v

    calls = [lambda i=i: (torch.arange(4.0) + 1, torch.tensor([i])) for i in (9, 0, 3, 9, 1, -9)]
    return Case(fn, calls=calls)


@program
def error_that_data_decides_in_a_method():
    class Table:
        def __init__(self):
            self.missed = 0

        def find(self, x, i):
            try:
                v = x.index_select(0, i)
                return v * 2 if v.sum() > 3 else v
            except IndexError:
                self.missed += 1
                return x * 0

    table = Table()

    def fn(x, i):
        return table.find(x, i) + table.missed

    calls = [lambda i=i: (torch.arange(4.0) + 1, torch.tensor([i])) for i in (0, 9, 3, 9, 1)]
    return Case(fn, calls=calls)


@program
def error_that_data_decides_with_a_last_word():
    said = []

    def fn(x, i):
        try:
            v = x[i] * 2
            if v.sum() > 3:
                return v
        finally:
            said.append(1)
        return x

    calls = [lambda i=i: (torch.arange(4.0) + 1, torch.tensor([i])) for i in (9, 0, 3, 9, 1)]
    return Case(fn, calls=calls, looks_at=said)


@program
def error_that_data_decides_after_a_write():
    o = Box(n=0)

    def fn(x, i):
        o.n += 1
        try:
            return x[i] * 2
        except IndexError:
            o.n += 10
            return x * 0

    calls = [lambda i=i: (torch.arange(4.0) + 1, torch.tensor([i])) for i in (9, 0, 3, 9, 1)]
    return Case(fn, calls=calls)


@program
def error_of_a_refusal_that_is_caught():
    def fn(x):
        y = x[x > 1]
        try:
            return y.chunk(2)[0].sum()
        except RuntimeError:
            return torch.tensor(-5.0)

    return Case(fn)


@program
def error_of_item_that_is_caught():
    def fn(x):
        try:
            k = int(x.sum().item())
            return torch.ones(k).sum() + k
        except RuntimeError:
            return torch.tensor(-5.0)

    return Case(fn)


@program
def branch_on_data_that_is_caught():
    def fn(x):
        try:
            if x.sum() > 4:
                return x * 2
            return x * 3
        except RuntimeError:
            return x * 4

    return Case(fn)


@program
def attribute_error_of_a_tensor():
    def fn(x):
        try:
            return x * x.no_such_thing
        except AttributeError:
            return x * 3

    return Case(fn)


@program
def type_error_of_a_call():
    def inner(x):
        return x

    def fn(x):
        try:
            return inner(x, 1)
        except TypeError:
            return x * 3

    return Case(fn)


@program
def first_of_two_checks():
    def fn(x):
        torch._check(x.shape[0] > 1, lambda: "more than one")
        torch._check(x.shape[0] > 2, lambda: "more than two")
        return x * 2

    def drive(call, x):
        try:
            return call(x)
        except RuntimeError as e:
            return [w for w in ("more than one", "more than two") if w in str(e)]

    return Case(fn, drive=drive)


@program
def stop_iteration():
    rows = [1.0, 2.0]

    def fn(x):
        it = iter(rows)
        try:
            while True:
                x = x + next(it)
        except StopIteration:
            return x * 2

    return Case(fn, lambda: rows.append(3.0), rows.pop)


@program
def else_and_finally():
    o = Box(log=())

    def fn(x):
        try:
            y = x * (6 // (x.shape[0] - 2))
        except ZeroDivisionError:
            o.log += ("error",)
            y = x
        else:
            o.log += ("fine",)
        finally:
            o.log += ("end",)
        return y

    return Case(fn)


@program
def return_in_a_finally():
    def fn(x):
        try:
            return x * (6 // (x.shape[0] - 2))
        finally:
            if x.shape[0] == 2:
                return x * 7

    return Case(fn)


@program
def error_by_the_outside():
    d = {"k": 2.0}

    def fn(x):
        return x * d["k"]

    def put():
        d["k"] = 2.0

    return Case(fn, d.clear, put)


@program
def error_in_place_then_caught():
    def fn(x):
        x.add_(1)
        try:
            return x.reshape(2, -1).sum()
        except RuntimeError:
            return x * 5

    return Case(fn)


@program
def random_numbers_then_an_error():
    def fn(x):
        y = torch.rand(2)
        try:
            return y + x[2]
        except IndexError:
            return y * torch.rand(1)

    return Case(fn)


@program
def error_in_a_context_manager():
    class Guard:
        def __init__(self):
            self.kinds = []

        def __enter__(self):
            return self

        def __exit__(self, kind, value, tb):
            self.kinds.append(kind.__name__ if kind else None)
            return kind is ZeroDivisionError

    guard = Guard()

    def fn(x):
        y = x
        with guard:
            y = x * (6 // (x.shape[0] - 2))
        return y + 1

    return Case(fn)


@program
def exception_that_is_returned():
    def fn(x):
        try:
            return x * (6 // (x.shape[0] - 2))
        except ZeroDivisionError as e:
            return x, str(e), type(e).__name__

    return Case(fn)


@program
def nested_handlers():
    def fn(x):
        try:
            try:
                return x * [5, 6, 7][x.shape[0]]
            except KeyError:
                return x
        except LookupError:
            return x * 9

    return Case(fn)


@program
def retries():
    o = Box(budget=1)

    def fn(x):
        for k in (x.shape[0] - 2, 1):
            try:
                return x * (6 // k)
            except ZeroDivisionError:
                o.budget -= 1
        return x

    return Case(fn, *attribute(o, "budget", 5))


@program
def generator_exit():
    closed = []

    def values():
        try:
            yield 2.0
            yield 3.0
        finally:
            closed.append(True)

    def fn(x):
        g = values()
        y = x * next(g)
        g.close()
        return y

    return Case(fn, looks_at=closed)
