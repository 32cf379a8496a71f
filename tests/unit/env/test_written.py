"""What the user wrote at an instruction: conditions, conversions, variables that get numbers."""

from __future__ import annotations

import dis
import linecache
from typing import TYPE_CHECKING

import pytest

from anyshape.env import Env
from anyshape.env.site import Origin, Site, origins
from anyshape.env.written import assigned_name, written_condition, written_conversion
from anyshape.expr.traverse import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType


def compiled(source: str) -> CodeType:
    """The code of a source that `linecache` knows."""
    file = f"<written {source}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return compile(source, file, "exec")


def sites(source: str) -> Iterator[Site]:
    """The places that ask for a truth or call something."""
    code = compiled(source)
    for i in dis.get_instructions(code):
        if i.opname.startswith(("POP_JUMP", "JUMP_IF", "TO_BOOL", "CALL", "UNARY_NOT")):
            yield Site(code, i.offset)


@pytest.mark.parametrize(
    ("source", "condition"),
    [
        ("if n > 3:\n    pass\n", "n > 3"),
        ("if not (n > 3):\n    pass\n", "n > 3"),
        ("x = not n\n", "n"),
        ("x = 1 if n else 2\n", "n"),
        ("x = bool(n > 3)\n", "n > 3"),
        ("é = 1; x = 1 if n > 3 else 2\n", "n > 3"),
    ],
)
def test_a_condition(source: str, condition: str) -> None:
    assert {written_condition(s, is_tensor=False) for s in sites(source)} == {condition}


@pytest.mark.parametrize(
    ("source", "tested"),
    [
        ("y = x[:n] if k else x\n", False),
        ("y = 1 if x[0] else 2\n", True),
        ("if x[0]: pass\n", True),
        ("while x[0]: pass\n", True),
        ("assert x[0]\n", True),
        ("y = [k for k in z if x[0]]\n", True),
        ("y = k and x[0]\n", True),
        ("y = not x[0]\n", True),
        ("y = bool(x[0])\n", True),
        ("y = bytes(x[0])\n", False),
        ("if (k and\n x[0]): pass\n", False),  # the first line alone says nothing
    ],
)
def test_an_item_is_a_condition_where_a_branch_is_on_it(source: str, tested: bool) -> None:
    found = list(_items(compiled(source)))
    assert found
    assert {written_condition(s, is_tensor=True) for s in found} == {"x[0]" if tested else ""}


def _items(code: CodeType) -> Iterator[Site]:
    """The places in a code, and in those inside it, that take an item."""
    for i in dis.get_instructions(code):
        if i.opname in ("BINARY_SUBSCR", "BINARY_SLICE"):
            yield Site(code, i.offset)
    for c in code.co_consts:
        if isinstance(c, type(code)):
            yield from _items(c)


@pytest.mark.parametrize(
    ("source", "conversion"),
    [
        ("x = int(n + 1)\n", "int(n + 1)"),
        ("f(int(n), float(n))\n", ""),
        ("f(n)\n", ""),
        (f"x = int({'n + ' * 40}n)\n", ""),
    ],
)
def test_a_conversion(source: str, conversion: str) -> None:
    assert written_conversion([*sites(source)][-1]) == conversion


def test_a_call_is_a_condition_if_it_makes_a_tensor() -> None:
    (*_, site) = sites("if x.any():\n    pass\n")
    assert written_condition(site, is_tensor=True) == "x.any()"
    assert written_condition(site, is_tensor=False) == ""


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        ("if n > 3:", "n > 3"),
        ("elif (n):", "n"),
        ("not n > 3", "n > 3"),
        ("x = 1 if n else 2 if k else 3", ""),
        ("if (n >", ""),
        ("n >", ""),
        ("n\n > 3", "n > 3"),
    ],
)
def test_a_line_of_generated_code(
    line: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = compiled("x = 1\n")
    monkeypatch.setitem(origins, code.co_filename, {1: Origin("user.py", 7, "f", line)})
    assert written_condition(Site(code, 2), is_tensor=False) == condition


def test_nothing_is_said_without_a_source() -> None:
    code = compiled("x = 1 if n else 2\n")
    for site in (None, Site(code.replace(co_linetable=b""), 2), Site(code, 10**6)):
        assert written_conversion(site) == ""
    assert written_condition(None, is_tensor=True) == ""
    assert assigned_name(None) == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("n = x.sum().item()", "n"),
        ("n = int(x.sum())", "n"),
        ("n = x.sum().item() + 1", ""),
        ("n = f(x)", ""),
        ("a = b = x.item()", ""),
        ("self.n = x.item()", ""),
        ("return x.item()", ""),
        ("if x.item():", ""),
    ],
)
def test_the_variable_of_a_number(line: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = compiled("x = 1\n")
    monkeypatch.setitem(origins, code.co_filename, {1: Origin("user.py", 7, "f", line)})
    assert assigned_name(Site(code, 2)) == name


def test_code_without_a_file_asks_nothing_that_is_known() -> None:
    code = compile("if n > 3:\n    pass\n", "<no file>", "exec")
    asks = [i.offset for i in dis.get_instructions(code) if i.opname.startswith("POP_JUMP")]
    assert [written_condition(Site(code, offset), is_tensor=True) for offset in asks] == [""]


def test_what_a_symbol_is_known_as() -> None:
    env = Env()
    n = env.unbacked(size=True)
    for e, known in ((env.unbacked(source="mask.sum()"), "mask.sum()"), (n, "u0")):
        (name,) = names_of(e)
        assert env.symbols[name].known_as == known
    (name,) = names_of(n)
    site = Site(compiled("count = x.item()\n"), 2)
    assert env.symbols[name]._replace(site=site).known_as == "count"
