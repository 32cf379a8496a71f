"""Names, text and syntax: scopes, deletions, patterns, formats, groups of errors, sort keys."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import re
import string
import struct
import sys
import textwrap
from typing import Any

import torch

from tests.differential.hostile.program import Box, Case, body, item, program

STATE = Box(k=2.0, log=[], name="w")
LEVEL = 2.0
TABLE = {"a": 2.0, "b": 3.0}


def set_k(value: Any) -> Any:
    return lambda: setattr(STATE, "k", value)


def set_level(value: Any) -> Any:
    def change() -> None:
        global LEVEL
        LEVEL = value

    return change


# ---------------------------------------------------------------------- scopes


@program
def a_nonlocal_two_levels_up() -> Case:
    total, last = 0.0, None

    def outer(x: Any) -> Any:
        def middle() -> Any:
            def inner(n: int) -> Any:
                nonlocal total, last
                total += n
                last = x * total
                return last

            return inner(1) + inner(x.shape[0])

        return middle() + total

    return Case(outer)


@program
def a_variable_of_a_closure_is_deleted() -> Case:
    held = 2.0

    def fn(x: Any) -> Any:
        nonlocal held
        y = x * held
        del held
        try:
            held  # noqa: B018
        except NameError:
            held = float(x.shape[0])
        return y * held

    def reset() -> None:
        nonlocal held
        held = 5.0

    return Case(fn, reset)


@body(set_level(3.0))
def a_global_is_deleted_and_made_again(x: Any) -> Any:
    global LEVEL
    y = x * LEVEL
    del LEVEL
    try:
        LEVEL  # noqa: B018
    except NameError:
        LEVEL = 7.0
    return y + LEVEL


@body()
def a_name_is_deleted_in_a_branch(x: Any) -> Any:
    y = x * 2
    if x.shape[0] > 2:
        del y
    try:
        return y + 1
    except UnboundLocalError:
        return x


@program
def a_builtin_is_hidden_later() -> Case:
    space = globals()
    return Case(
        lambda x: x * len([1, 2, 3]) + max(1, 2),
        lambda: space.__setitem__("len", lambda c: 10),
        lambda: space.__setitem__("max", lambda *a: 20),
        lambda: space.pop("len", None),
        exported=False,
    )


@program
def a_builtin_is_replaced_for_all() -> Case:
    plain = builtins.round

    def put() -> None:
        builtins.round = lambda v, *a: 9.0  # type: ignore[assignment]

    def back() -> None:
        builtins.round = plain

    return Case(lambda x: x * round(2.4), put, back, cleanup=back, exported=False)


@body(set_level(3.0), set_level(0.5))
def globals_and_locals_as_dicts(x: Any) -> Any:
    a = 2
    here = sorted(locals())
    return x * globals()["LEVEL"] + a, here


@body()
def locals_that_are_changed(x: Any) -> Any:
    k = 2
    locals()["k"] = 9
    return x * k, "k" in locals()


@body(set_k(3.0), looks_at=STATE)
def the_dict_of_an_object(x: Any) -> Any:
    vars(STATE)["extra"] = vars(STATE).get("extra", 0) + x.shape[0]
    STATE.__dict__.update(name="v")
    return x * STATE.k + STATE.extra, sorted(STATE.__dict__)


@body()
def a_walrus_in_a_comprehension(x: Any) -> Any:
    last = None
    kept = [last := i * x.shape[0] for i in range(4) if (half := i // 2) or last]
    return x * (last or 1), kept, half, [y := 1, y**2]


@body()
def loops_with_else(x: Any) -> Any:
    for i in range(x.shape[0]):
        if i == 3:
            break
    else:
        i = -1
    while i < 10:
        i += 4
    else:
        i = i * 10
    return x * i


@body(set_k(3.0))
def starred_everywhere(x: Any) -> Any:
    def take(*args: Any, k: float = 1.0, **more: Any) -> Any:
        first, *rest, last = args
        return first * last * k, rest, sorted(more)

    rows = [1, *range(x.shape[0]), 2]
    return take(x, *rows, **{"k": STATE.k, "z": 1}, **dict(a=2)), {**TABLE, "a": 1}, (*rows,)


# ---------------------------------------------------------------------- patterns


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


@program
def a_match_over_state() -> Case:
    box = Box(shape={"kind": "pair", "items": [2.0, 3.0], "extra": 1})

    def fn(x: Any) -> Any:
        match box.shape:
            case {"kind": "pair", "items": [a, b], **rest} if len(rest) < 3:
                return x * a + b, rest
            case [first, *_, last]:
                return x * first - last
            case Point(a, b=1.0):
                return x * a
            case None | "none":
                return x
            case other:
                return x * len(str(other))

    return Case(
        fn,
        *[
            lambda v=v: setattr(box, "shape", v)
            for v in ([5.0, 6.0, 7.0], Point(4.0, 1.0), Point(4.0, 2), None, "none", {"kind": 1})
        ][:5],
    )


@body()
def a_match_over_sizes(x: Any) -> Any:
    match x.shape:
        case (0,):
            return x, "empty"
        case (1 | 2 as n,):
            return x * n, "few"
        case (n,) if n % 2:
            return x + n, "odd"
        case _:
            return x, "many"


@program
def match_args_are_changed() -> Case:
    o = Point(2.0, 5.0)

    def fn(x: Any) -> Any:
        match o:
            case Point(k):
                return x * k
        return x

    def swap() -> None:
        Point.__match_args__ = ("b", "a")

    def back() -> None:
        Point.__match_args__ = ("a", "b")

    return Case(fn, swap, back, exported=False)


# ---------------------------------------------------------------------- text


@body(set_k(3.14159))
def formats_with_fields_in_them(x: Any) -> Any:
    n = x.shape[0]
    width = 6
    return (
        x * 2,
        f"{n:>{width}}|{n:<{width}d}|{n!r:^7}|{STATE.k:.{n}f}|{n=}|{n / 7:.3e}|{n:#x}|{n:,}",
        "%-5d|%05.1f|%s" % (n, STATE.k, [n]),
        "{0:{1}} {k.k:.2f} {t[a]}".format(n, width, k=STATE, t=TABLE),
    )


@body()
def a_template_and_bytes(x: Any) -> Any:
    n = x.shape[0]
    text = string.Template("$n of $k").substitute(n=n, k=STATE.name)
    return x + len(text), text, text.encode(), struct.pack("<i", n), n.to_bytes(2, "big")


class Shown:
    def __init__(self, k: float) -> None:
        self.k = k

    def __format__(self, spec: str) -> str:
        STATE.log.append(spec)
        return f"<{self.k:{spec or '.1f'}}>"

    def __str__(self) -> str:
        return f"s{self.k * STATE.k}"


@program
def formats_of_the_user() -> Case:
    o = Shown(2.0)
    return Case(
        lambda x: (x * 2, f"{o} {o:.3f} {o!s}", "{:.2f}".format(o), "%s" % o, str([1, o])[:3]),
        lambda: setattr(o, "k", 3.0),
        set_k(5.0),
        looks_at=STATE,
    )


@program
def a_regular_expression_with_a_function() -> Case:
    pattern = re.compile(r"(\w)=(\d+)")
    box = Box(text="a=1 b=22", pattern=pattern)

    def fn(x: Any) -> Any:
        def grow(m: Any) -> str:
            STATE.log.append(m.group(1))
            return f"{m[1]}={int(m[2]) * x.shape[0]}"

        text = box.pattern.sub(grow, box.text)
        found = [m.groupdict() or m.groups() for m in box.pattern.finditer(text)]
        return x * len(found), text, found

    return Case(
        fn,
        lambda: setattr(box, "text", "c=3"),
        lambda: setattr(box, "pattern", re.compile(r"(?P<k>\w)=(?P<v>\d)")),
        looks_at=STATE,
        exported=False,
    )


@program
def a_scanner_keeps_its_place() -> Case:
    scanner = re.compile(r"\d").scanner("12345678")

    def fn(x: Any) -> Any:
        m = scanner.match()
        return x * int(m.group()) if m else x

    return Case(fn, exported=False)


@body()
def text_by_a_table(x: Any) -> Any:
    n = x.shape[0]
    table = str.maketrans({"a": str(n), "b": None})
    return x + n, "abc".translate(table), textwrap.shorten("a b c " * n, 8), str(n).zfill(4)


# ---------------------------------------------------------------------- errors


@program
def a_group_of_errors() -> Case:
    box = Box(kinds=[ValueError, KeyError])
    log: list[Any] = []

    def fn(x: Any) -> Any:
        try:
            raise ExceptionGroup("many", [kind(x.shape[0]) for kind in box.kinds])
        except* ValueError as g:
            log.append(("value", len(g.exceptions)))
        except* LookupError as g:
            log.append(("lookup", g.exceptions[0].args))
        return x * len(log)

    return Case(
        fn,
        lambda: setattr(box, "kinds", [IndexError]),
        lambda: setattr(box, "kinds", [TypeError, ValueError]),
        looks_at=log,
    )


@body(set_k(0.0), set_k(4.0))
def notes_and_causes(x: Any) -> Any:
    try:
        try:
            1 / STATE.k
        except ZeroDivisionError as e:
            e.add_note(f"n={x.shape[0]}")
            raise ValueError("bad") from e
    except ValueError as e:
        return x * 0, str(e), e.__cause__.__notes__, e.__suppress_context__
    return x / STATE.k


@body(looks_at=STATE)
def a_return_in_finally(x: Any) -> Any:
    for i in range(3):
        try:
            if i == x.shape[0]:
                return x * i
            raise KeyError(i)
        except KeyError as e:
            STATE.log.append(e.args[0])
            continue
        finally:
            STATE.log.append("f")
    return x, sys.exc_info()


@body()
def the_error_in_flight(x: Any) -> Any:
    try:
        [][x.shape[0]]
    except IndexError:
        kind, e, _ = sys.exc_info()
        return x * 2, kind.__name__, str(e)


@program
def a_deep_recursion() -> Case:
    def down(x: Any, n: int) -> Any:
        return x if n == 0 else down(x, n - 1) + 1

    def fn(x: Any) -> Any:
        return down(x, 40) + sys.getrecursionlimit() * 0

    return Case(fn)


@body()
def an_endless_recursion_is_caught(x: Any) -> Any:
    def down(n: int) -> int:
        return down(n + 1) + 1

    try:
        down(0)
    except RecursionError:
        return x * 2
    return x


@body()
def a_recursion_limit_is_set(x: Any) -> Any:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 100)
    try:
        return x * (sys.getrecursionlimit() - before)
    finally:
        sys.setrecursionlimit(before)


@body(set_k(-1.0), set_k(5.0))
def an_assertion_with_an_effect(x: Any) -> Any:
    try:
        assert STATE.k > 0, STATE.log.append("failed") or f"k={STATE.k} n={x.shape[0]}"
    except AssertionError as e:
        return x, str(e), len(STATE.log)
    return x * STATE.k, "", len(STATE.log)


# ---------------------------------------------------------------------- order


@program
def a_sort_key_with_an_effect() -> Case:
    rows = [3, 1, 2]
    log: list[int] = []

    def key(v: int) -> float:
        log.append(v)
        return v * STATE.k

    def fn(x: Any) -> Any:
        rows.sort(key=key, reverse=len(log) > 8)
        return x * rows[0], min(rows, key=key), sorted("ba", key=functools.cmp_to_key(_compared))

    return Case(fn, set_k(-1.0), lambda: rows.append(9), looks_at=(rows, log), exported=False)


def _compared(a: str, b: str) -> int:
    STATE.log.append((a, b))
    return (a > b) - (a < b)


class Ranked:
    def __init__(self, n: int) -> None:
        self.n = n

    def __lt__(self, other: Any) -> bool:
        STATE.log.append((self.n, other.n))
        return self.n * STATE.k < other.n * STATE.k

    def __eq__(self, other: Any) -> bool:
        return self.n % 2 == other.n % 2

    def __hash__(self) -> int:
        return self.n % 2


@body(set_k(-1.0), looks_at=STATE)
def objects_that_compare_themselves(x: Any) -> Any:
    rows = [Ranked(3), Ranked(1), Ranked(x.shape[0])]
    order = [r.n for r in sorted(rows)]
    return x * order[0], order, len({*rows}), rows.count(Ranked(5)), rows.index(Ranked(7))


@functools.total_ordering
class Total:
    def __init__(self, n: float) -> None:
        self.n = n

    def __eq__(self, other: Any) -> bool:
        return self.n == other.n

    def __lt__(self, other: Any) -> bool:
        return self.n < other.n * STATE.k


@body(set_k(0.5))
def a_total_ordering(x: Any) -> Any:
    a, b = Total(2.0), Total(3.0)
    return x * 2 if a >= b else x * 3, a <= b, a > b, max(a, b).n


@program
def a_dict_that_changes_its_order() -> Case:
    def move() -> None:
        TABLE["a"] = TABLE.pop("a")

    def fn(x: Any) -> Any:
        first = next(iter(TABLE))
        return (
            x * TABLE[first],
            list(TABLE),
            dict(sorted(TABLE.items(), key=operator.itemgetter(1))),
        )

    return Case(fn, move, *item(TABLE, "c", 0.5))


@program
def numbers_as_keys_of_several_types() -> Case:
    table: dict[Any, str] = {1: "int", 2.0: "float", True: "bool"}

    def fn(x: Any) -> Any:
        n = x.shape[0]
        return x * len(table), table.get(n), table.get(n / 1.0), [type(k) for k in table]

    return Case(fn, lambda: table.update({3: "three"}), lambda: table.pop(1, None))


@body(set_k(math.nan), set_k(-0.0), set_k(True), set_k(3))
def floats_that_are_not_equal_to_themselves(x: Any) -> Any:
    k = STATE.k
    return x + (k == k), k in [k], math.copysign(1, k), type(k), sorted([k, 1, 2])[0] is k


@program
def a_lambda_default_is_bound_early() -> Case:
    fns: list[Any] = []

    def fn(x: Any) -> Any:
        fns.append(lambda y, n=x.shape[0]: y * n)
        return fns[-1](x), len(fns), fns[0].__defaults__

    return Case(fn, lambda: fns.clear(), exported=False)


@body()
def chained_comparisons(x: Any) -> Any:
    n = x.shape[0]
    calls: list[int] = []

    def mid() -> int:
        calls.append(1)
        return n

    return x * 2 if 0 < mid() < 4 != 3 else x, calls, 1 < n <= 3 < 5, not 0 < n


@body(set_k(1.0))
def augmented_targets_are_evaluated_once(x: Any) -> Any:
    rows = [[1, 2], [3, 4]]
    calls: list[str] = []

    def at(name: str, v: int) -> int:
        calls.append(name)
        return v

    rows[at("i", 1)][at("j", 0)] += x.shape[0] * STATE.k
    rows[0] *= 2
    a, rows[at("t", 0)] = rows[at("t", 0)], 5
    return x + rows[1][0], rows, calls, a
