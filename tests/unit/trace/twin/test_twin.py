"""Twins do what their functions do: with hooks that only do what Python does."""

from __future__ import annotations

import ast
import contextlib
import fractions
import json.decoder
import linecache
import operator
import statistics
import textwrap
import types
from collections import UserDict, UserList
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it
from torch.nn.modules import module

from anyshape.trace.twin.hook import HOOKS
from anyshape.trace.twin.source import source_of
from anyshape.trace.twin.twin import is_twin, twin_code

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAME = [
    "born",
    "ready",
    "looked",
    "truth",
    "iterated",
    "gathered",
    "looped",
    "mapping",
    "operand",
    "unpacked",
    "whole",
    "raised",
    "manager",
    "hashed",
    "base",
    "metaclass",
    "class_options",
    "class_made",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "or_",
    "and_",
    "xor",
    "lshift",
    "rshift",
]
OTHERS = ["eq", "ne", "lt", "le", "gt", "ge", "is_", "is_not", "neg", "pos", "invert"]


class Plain:
    """Hooks that do what Python does, and count."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        for name in SAME:
            self._set(name, lambda x: x)
        for name in (*BINARY, *OTHERS):
            self._set(name, getattr(operator, name))
        for name in BINARY:
            self._set("i" + name.rstrip("_"), getattr(operator, "i" + name.rstrip("_")))
        self._set("attribute", getattr)
        self._set("method", getattr)
        self._set("item", operator.getitem)
        self._set("new_set", set)
        self._set("new_dict", dict)
        self._set("text", lambda x, conversion: x)
        self._set("caught", lambda kinds, is_named: kinds)
        self._set("set_attribute", setattr)
        self._set("store_attribute", lambda value, o, name: setattr(o, name, value))
        self._set("set_item", operator.setitem)
        self._set("store_item", lambda value, o, key: operator.setitem(o, key, value))
        self._set("del_attribute", delattr)
        self._set("del_item", operator.delitem)
        self._set("contains", lambda key, o: key in o)
        self._set("lacks", lambda key, o: key not in o)
        for name in ("tries", "prefetch", "imported", "imported_from", "class_body"):
            self._set(name, lambda *_: None)
        self._set("set_global", lambda value, name: value)
        self._set("set_cell", lambda value, cell: value)

    def _set(self, name: str, function: Callable[..., Any]) -> None:
        def hook(*args: Any) -> Any:
            self.calls.append(name)
            return function(*args)

        setattr(self, name, hook)


def twin(f: Any, hooks: Plain | None = None) -> Any:
    code = twin_code(f.__code__)
    assert code is not None, f"{f.__qualname__} has no twin"
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    space = {**f.__globals__, HOOKS: hooks or Plain()}
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, space, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def functions_of(owner: Any) -> list[Any]:
    found = [f for f in vars(owner).values() if isinstance(f, types.FunctionType)]
    if isinstance(owner, types.ModuleType):
        return [f for f in found if f.__module__ == owner.__name__]
    return found


@pytest.mark.parametrize(
    "owner",
    [textwrap, statistics, fractions, contextlib, UserDict, UserList, F, module, module.Module],
    ids=lambda owner: owner.__name__,
)
def test_functions_of_libraries_have_twins(owner: Any) -> None:
    without = [f for f in functions_of(owner) if twin_code(f.__code__) is None]
    assert [f.__name__ for f in without if not f.__code__.co_flags & 0x80] == []


def test_twins_give_what_their_functions_give() -> None:
    wrapper = textwrap.TextWrapper(width=11)
    text = "the quick brown fox jumps over the lazy dog"
    assert twin(textwrap.TextWrapper.wrap)(wrapper, text) == wrapper.wrap(text)
    assert twin(statistics.median)([3, 1, 2]) == 2
    assert twin(statistics.quantiles)(list(range(9)), n=4) == statistics.quantiles(range(9), n=4)
    half = fractions.Fraction(1, 2)
    assert twin(fractions.Fraction.limit_denominator)(half, 3) == half
    decoder = json.decoder.JSONDecoder()
    assert twin(json.decoder.JSONDecoder.decode)(decoder, '{"a": [1, 2]}') == {"a": [1, 2]}


class Owner:
    """Syntax of all kinds in one method."""

    __private = 3

    def everything(self, *args: Any, **named: Any) -> Any:
        self.__kept = self.__private + len(args)
        self.__kept += 1
        table: Any = {"a": [0, 1]}
        table["a"][1] += 5
        del table["a"][0]

        class Inner:
            size = len("abc")

            def shown(self) -> str:
                return super().__repr__()[:1]

        first, self.second = 1, 2
        with contextlib.suppress(KeyError), contextlib.nullcontext(5) as self.third:
            table["missing"]
        for self.last in range(3):
            pass
        try:
            raise ValueError("no")
        except (ValueError, TypeError) as e:
            caught = str(e)
        finally:
            done = True
        match first:
            case 1 if self.second > 1:
                found = "one"
            case _:
                found = "other"
        (walrus := first + 1)
        return (
            self.__kept, table, self.second, self.third, self.last, Inner.size, Inner().shown(),
            f"{first!r:>3}{caught:<4}|", first if (first and 0) or 1 < 2 < 3 else 7,
            [q for q in (1, 2) if q > 1], {q: q for q in "ab"}, {*args}, list(q for q in args),
            named, done, found, walrus, not first, -first, (lambda a, b=2: a + b)(1),
            max([*args, 9], key=lambda q: -q), {**named, "z": 1}, args is not None, 1 in args,
        )  # fmt: skip


def test_a_twin_of_every_kind_of_syntax() -> None:
    hooks = Plain()
    assert twin(Owner.everything, hooks)(Owner(), 1, 2, k=3) == Owner().everything(1, 2, k=3)
    assert {"attribute", "item", "store_attribute", "caught", "truth", "looped"} <= {*hooks.calls}


def test_generators_closures_and_lambdas() -> None:
    step = 2

    def counted(n: int) -> Any:
        i = 0
        while i < n:
            got = yield i
            i += step if got is None else got

    pair = (lambda a: a * step, lambda b: b - step)
    assert list(twin(counted)(7)) == list(counted(7))
    assert [twin(f)(5) for f in pair] == [f(5) for f in pair]


def test_a_function_that_names_itself_calls_the_global() -> None:
    assert twin(recursive)(5) == 120


def recursive(n: int) -> int:
    return 1 if n == 0 else n * recursive(n - 1)


def test_lines_and_names_are_those_of_the_function() -> None:
    code = twin_code(recursive.__code__)
    assert code is not None
    assert is_twin(code)
    assert (code.co_name, code.co_filename) == ("recursive", recursive.__code__.co_filename)
    lines = {line for _, _, line in recursive.__code__.co_lines() if line}
    assert {line for _, _, line in code.co_lines() if line} <= lines


class Indented:
    def written(self) -> str:
        text = """first
            second"""
        return text + str(len(text) > 3)


def test_texts_and_columns_of_an_indented_function_are_its_own() -> None:
    code = Indented.written.__code__
    twin = twin_code(code)
    assert twin is not None
    assert types.FunctionType(twin, globals() | {HOOKS: Plain()})(None) == Indented().written()
    columns = {place for place in twin.co_positions() if place[2]}
    assert len(columns) > 5
    assert columns <= set(code.co_positions())


def test_no_twin_from_another_source() -> None:
    scope: dict[str, Any] = {}
    name = "<made up>"
    exec(compile("def f(x):\n    return x + 1\n", name, "exec"), scope)
    assert twin_code(scope["f"].__code__) is None
    exec(compile("def f(x):\n    return x + 1\n\n", name, "exec"), scope)
    wrong = "def f(x):\n    return x - 1\n"
    linecache.cache[name] = (len(wrong), None, wrong.splitlines(keepends=True), name)
    try:
        assert twin_code(scope["f"].__code__) is None
    finally:
        del linecache.cache[name]


def test_no_twin_of_a_coroutine() -> None:
    async def wait() -> None: ...

    assert twin_code(wait.__code__) is None


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    for body in ("return x + 1", "y = x * 3\n    return y - 2"):
        file.write_text(f"def f(x):\n    {body}\n")
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        tree = source_of(names["f"].__code__)
        assert tree is not None
        assert ast.unparse(tree) == f"def f(x):\n    {body}"
    file.write_text("def f(x):\n    return 0\n")
    linecache.checkcache(str(file))
    assert source_of(names["f"].__code__) is None  # it is as it was when it was imported


def test_calls_with_many_arguments_of_functions_in_modules(tmp_path: Path) -> None:
    """Their instructions differ with what the file imports."""
    many = ", ".join(f"a{i}={i}" for i in range(18))
    file = tmp_path / "importing.py"
    file.write_text(
        "if True:\n    import functools as tools, os.path\n\n"
        f"def f(x):\n    return tools.partial(x, {many}), x.call({many}), os.call({many})\n"
    )
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert source_of(names["f"].__code__) is not None
    assert twin_code(names["f"].__code__) is not None
    assert twin_code(torch.nn.MultiheadAttention.forward.__code__) is not None
