"""Functions cut at every one of their statements do what the whole function does.

The pieces are not compiled here: they run as plain functions, so that the cut alone is tested.
"""

from __future__ import annotations

import ast
import contextlib
from typing import Any

import pytest

from anyshape.compile.pieces import outline
from anyshape.compile.pieces.break_site import BreakSite
from anyshape.compile.pieces.name_flow import Flow, Uses, needed_before
from anyshape.compile.pieces.pieces import NotCut, Pieces
from anyshape.trace.twin.source import source_of

COUNTS = {"n": 0}
TOTAL = 0


def tell(log: list[Any], x: Any) -> Any:
    log.append(x)
    return x


def straight(log, a, b):
    c = tell(log, a) + b
    d = c * 2
    c += d
    return c - b, d


def branches(log, a, b):
    if tell(log, a) > 2:
        c = a * b
        tell(log, c)
    elif a == 1:
        return tell(log, "one")
    else:
        c = -b
    return c + 1


def maybe_unbound(log, a, b):
    if a > 2:
        c = tell(log, a)
    d = b * 2
    tell(log, d)
    return c + d


def rebound_in_a_call(log, a, b):
    k = b

    def step():
        nonlocal k
        tell(log, k)
        k = k * 2

    step()
    step()
    d = k + a
    return d, k


def bound_in_a_condition(log, a, b):
    rows = [tell(log, i) for i in range(a) if (last := i) >= 0]
    tell(log, rows)
    return last + b if a > 0 else b


def bound_where_errors_end(log, a, b):
    with contextlib.suppress(ZeroDivisionError):
        c = tell(log, b) // a
    tell(log, a)
    return c if a else b


def loop_without_items(log, a, b):
    for i in range(a):
        tell(log, i)
        if i == 7:
            break
    else:
        tell(log, i * b if a > 0 else b)
    return b


def loops(log, a, b):
    total = 0
    for i in range(a):
        if i == 3:
            continue
        total += tell(log, i) * b
        if total > 20:
            break
    else:
        total = -total
    while total > 5:
        total = total - 7
        tell(log, total)
    return total


def carried(log, a, b):
    last = None
    rows = []
    for i in range(a):
        rows.append(tell(log, last))
        last = i * b
    return rows, last


def rounds(log, a, b):
    last = b
    for i in range(a):
        tell(log, i)
        last = last + tell(log, last)
    return a


def caught(log, a, b):
    step = 0
    try:
        step = 1
        tell(log, 10 // a)
        step = 2
        c = 10 // (a - 1)
        step = 3
    except ZeroDivisionError as e:
        c = tell(log, str(e))
    else:
        c = c + 1
    finally:
        tell(log, step)
    return c, step


def handled_then_ended(log, a, b):
    step = 0
    try:
        tell(log, 10 // a)
    except ZeroDivisionError:
        step = 1
        tell(log, step)
        step = 10 // b
        step = 3
    else:
        step = 4
        tell(log, 10 // (b - 1))
        step = 5
    finally:
        tell(log, step)
    return step


def swallowed(log, a, b):
    step = 0
    with contextlib.suppress(ZeroDivisionError):
        step = 1
        tell(log, 10 // a)
        step = 2
        tell(log, 10 // (a - 1))
        step = 3
    return step


def captured(log, a, b):
    k = a + 1
    f = lambda x: x + k  # noqa: E731
    tell(log, f(b))
    k = k * 2
    tell(log, f(b))
    return f(1)


def comprehended(log, a, b):
    rows = [tell(log, i + b) for i in range(a) if i != b]
    table = dict.fromkeys(range(2), rows)
    if (n := len(rows)) > 1:
        tell(log, n)
    return rows, table, n


def shared(log, a, b):
    global TOTAL
    TOTAL = TOTAL + a
    COUNTS["n"] += b
    tell(log, TOTAL)
    return TOTAL + COUNTS["n"]


def unpacked(log, a, b, *rest, key=3, **named):
    (x, *y), z = (a, b, *rest), named
    x, z = tell(log, (x, y)), key
    del y
    return x, z, sorted(named)


def matched(log, a, b):
    match (a, b):
        case (0, c):
            d = tell(log, c)
        case (c, 2) if c > 1:
            d = c
        case _:
            d = None
    return d


def nested(log, a, b):
    out = []
    for i in range(a):
        with contextlib.nullcontext(i) as k:
            try:
                for j in range(b):
                    if j == 2:
                        return tell(log, (i, j, k))
                    out.append(tell(log, i * j))
            finally:
                out.append(tell(log, "end"))
    return out


def raises(log, a, b):
    c = tell(log, a)
    if c == 1:
        raise ValueError(tell(log, "one"))
    c = c // b
    return c + 1


class Base:
    __secret = 5

    def method(self, log, a, b):
        return tell(log, (a, b))


class Child(Base):
    __secret = 7

    def method(self, log, a, b):
        first = super().method(log, a, b)
        tell(log, self.__secret)
        __kept = (*first, 1)
        tell(log, __kept)
        return first


def closure():
    k = 3

    def inner(log, a, b):
        nonlocal k
        c = a + k
        k = c
        tell(log, k)
        return c * b

    return inner


def closure_of_a_closure():
    k = 3

    def inner(log, a, b):
        def step():
            nonlocal k
            tell(log, k)
            k = k * 2 + a

        step()
        step()
        return k * b

    return inner


FACTORIES = (closure, closure_of_a_closure)
FUNCTIONS = [
    rebound_in_a_call, bound_in_a_condition, bound_where_errors_end, loop_without_items,
    straight, branches, maybe_unbound, loops, carried, rounds, caught,
    handled_then_ended, swallowed, captured,
    comprehended, shared, unpacked, matched, nested, raises, Child().method, *FACTORIES,
]  # fmt: skip


def outcome(f: Any, a: int, b: int) -> Any:
    global TOTAL
    TOTAL = 0
    COUNTS["n"] = 0
    log: list[Any] = []
    try:
        result = f(log, a, b)
    except Exception as e:
        result = (type(e), str(e) if not isinstance(e, UnboundLocalError) else "")
    return result, log, TOTAL, dict(COUNTS)


def sites(f: Any) -> list[BreakSite | None]:
    function = getattr(f, "__func__", f)
    node = source_of(function.__code__)
    assert isinstance(node, ast.FunctionDef)
    found: list[BreakSite | None] = [None]
    for s in ast.walk(node):
        if isinstance(s, ast.stmt) and s is not node:
            found.append(BreakSite("", s.lineno, s.col_offset))
    return found


def fresh(f: Any) -> Any:
    return f() if f in FACTORIES else f


def differences(f: Any, make: Any = lambda f, is_plain: f) -> list[Any]:
    wrong = []
    for site in sites(fresh(f)):
        for a in range(5):
            for b in range(4):
                want = outcome(fresh(f), a, b)
                cut = Pieces(fresh(f), "", make, site=site)
                got = outcome(cut.run, a, b)
                if got != want:
                    wrong.append((site, a, b, got, want))
    return wrong


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_a_cut_at_any_statement_changes_nothing(f):
    assert differences(f) == []


def test_pieces_of_a_function_that_was_replaced_are_not_current():
    def f(log, a, b=1):
        c = tell(log, a)
        return c + b

    made = Pieces(f, "", lambda g, is_plain: g)
    assert made.is_current
    f.__defaults__ = (2,)
    assert not made.is_current
    made = Pieces(f, "", lambda g, is_plain: g)
    f.__code__ = straight.__code__
    assert not made.is_current


@pytest.mark.parametrize("f", [straight, loops, nested], ids=lambda f: f.__qualname__)
def test_pieces_are_cut_again(f):
    def again(g, is_plain):
        try:
            return Pieces(g, "", lambda h, is_plain: h).run
        except NotCut:
            return g

    assert differences(f, again) == []


def test_a_lost_variable_is_noticed(monkeypatch):
    """A planted bug: pieces give only what is read outside, and not what the next round reads."""
    plain = outline.Outline._block

    def forgets(self, body, bound, place):
        return plain(self, body, bound, place._replace(in_loop=False))

    monkeypatch.setattr(outline.Outline, "_block", forgets)
    assert differences(rounds)


def test_pieces_hold_what_is_not_the_broken_statement():
    made = []

    def keep(f, is_plain):
        made.append(f)
        return f

    line = straight.__code__.co_firstlineno + 2
    Pieces(straight, "", keep, site=BreakSite("", line, 4)).run([], 1, 2)
    assert [f.__code__.co_varnames[: f.__code__.co_argcount] for f in made[:2]] == [
        ("log", "a", "b"),
        ("b", "c", "d"),
    ]


def test_generators_are_not_cut():
    def numbers(n):
        yield n

    with pytest.raises(NotCut):
        Pieces(numbers, "", lambda f, is_plain: f)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ("loss.backward()", False),
        ("loss.backward(retain_graph=True)", True),
        ("grad(loss, x, create_graph=asked)", True),
        ("grad(loss, x, create_graph=False, retain_graph=None)", False),
        ("loss.backward(inputs=[x])", False),
    ],
)
def test_calls_that_keep_a_graph(call, kept):
    assert outline.keeps_graph(ast.parse(f"def f():\n    {call}")) is kept


def test_names_of_a_statement():
    def uses(text):
        found = Uses(*ast.parse(text).body)
        return sorted(found.loads), sorted(found.stores)

    assert uses("a = b + c.d[e]") == (["b", "c", "e"], ["a"])
    assert uses("a += b") == (["a", "b"], ["a"])
    assert uses("[x + k for x in xs if (y := x)]") == (["k", "xs"], ["y"])
    assert uses("def f(x, y=z): return x + w") == (["w", "z"], ["f"])
    assert uses("import a.b, c as d") == ([], ["a", "d"])
    assert uses("try:\n  f()\nexcept E as e:\n  g(e)") == (["E", "e", "f", "g"], ["e"])


def _swallows(manager: ast.expr) -> bool:
    return ast.unparse(manager) == "quiet"


def test_what_nested_functions_rebind():
    def rebound(text):
        found = Uses(*ast.parse(text).body)
        return sorted(found.rebound), sorted(found.stores)

    assert rebound("def f():\n  nonlocal a\n  a = 1") == (["a"], ["f"])
    assert rebound("def f():\n  global a\n  a = 1") == ([], ["f"])
    inner = "def g():\n    nonlocal a\n    a = 1"
    assert rebound(f"def f():\n  {inner}") == (["a"], ["f"])
    assert rebound(f"def f():\n  a = 0\n  {inner}") == ([], ["f"])
    assert rebound(f"class C:\n  {inner}") == (["a"], ["C"])


def test_what_is_surely_bound():
    def after(text):
        found = Flow(_swallows).after(ast.parse(text).body, frozenset())
        return None if found is None else sorted(found)

    assert after("if c:\n  a = 1\nelse:\n  a = 2; b = 1") == ["a"]
    assert after("if c:\n  a = 1\nelse:\n  raise E") == ["a"]
    assert after("for i in x:\n  a = 1") == []
    assert after("with m as k:\n  a = 1") == ["a", "k"]
    assert after("with quiet as k:\n  a = 1") == ["k"]
    assert after("(a := 1) and (b := 2)") == ["a"]
    assert after("d = (a := 1) < (b := 2) < (c := 3)") == ["a", "b", "d"]
    assert after("(a := 1) if (b := c) else (a := 2, d := 3)[0]") == ["a", "b"]
    assert after("x = [(a := i) for i in (b := y) if (c := i)]") == ["b", "x"]
    assert after("a: int") == []
    assert after("assert (a := 1), (b := 2)") == []
    assert after("while (a := f()) and (b := a):\n  c = 1") == ["a"]
    assert after("try:\n  a = 1\nexcept E:\n  b = 1\nfinally:\n  d = 1") == ["d"]
    assert after("a = 1\ndel a") == []
    assert after("return") is None
    text = "a = 1\nb = a + c\nif d:\n  e = 1\nf = e"
    assert needed_before(ast.parse(text).body, _swallows) == {"c", "d", "e"}
    text = "with quiet:\n  a = 1\nb = a"
    assert needed_before(ast.parse(text).body, _swallows) == {"quiet", "a"}
