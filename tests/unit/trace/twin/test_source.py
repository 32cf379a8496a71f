"""The tree of a function is the one that its file has, with all places; or there is none."""

from __future__ import annotations

import argparse
import ast
import configparser
import copy
import dataclasses
import inspect
import linecache
import random
import statistics
import textwrap
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.trace.twin import source
from anyshape.trace.twin.source import source_of
from anyshape.trace.twin.syntax_node import locate, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = (
    argparse, configparser, dataclasses, inspect, random, statistics, textwrap,
    torch.nn.functional, torch.nn.modules.module, torch.nn.modules.rnn,
)  # fmt: skip

LAYOUTS = '''\
import functools

def plain(x):
    return x + 1
def next_line(x):
    return x
    # the end is a comment

def dead(x):
    return x
    x = (
        2
    )

def texts(x):
    y = """
not indented
    """
    return y

def comment_first(x):
# not indented
    if x:
        return 1
# not indented
    return 2

def one_line(x): return x; y = 2
def many(
    x,
    y=(lambda a: a)(1),
):
    return x, y

def only_text():
    """Nothing."""

def last_text(x):
    x += 1
    """
dedented
"""

@functools.lru_cache(
    maxsize=None,
)
@functools.wraps(plain)
def decorated(x):
    return x

def counts(n):
    return n and counts(n - 1)

class Owner:
    __private = 1

    def method(self, x=(1,
2)):
        """
    Text.
        """
        return self.__private, super().__init__

    def method_of_global(self): return method_of_global(self)

    @property
    def read(self):
        def inner(y):
            return y + free
        free = 2
        return [inner(z) for z in (1, 2)], (lambda: free)

    def ends(self, x):
        try:
            return x
        finally:
            pass

if plain:
\tdef tabbed(x):
\t\tif x:
\t\t\tpass
\t\tfor y in x:
\t\t\tcontinue
\t\telse:
\t\t\tglobal late
\telse_ = 1

def stretched(x): \\
    return x

def last(x):
    return (
x
)'''


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield c
            yield from codes(c)


def trees(text: str) -> dict[tuple[int, str], ast.FunctionDef]:
    """The functions of a file by the line where they begin."""
    found = {}
    for n in ast.walk(ast.parse(text)):
        if isinstance(n, ast.FunctionDef):
            first = min([n.lineno, *[d.lineno for d in n.decorator_list]])
            found[first, n.name] = n
    return found


def dumped(tree: ast.AST | None) -> str:
    return "" if tree is None else ast.dump(tree, include_attributes=True)


def compare(text: str, file: str) -> int:
    """How many functions of a file have the tree of the file; all others have none."""
    known, same = trees(text), 0
    for code in codes(compile(text, file, "exec", dont_inherit=True)):
        node = known.get((code.co_firstlineno, code.co_name))
        if node is not None:
            found = source_of(code)
            assert found is None or dumped(found) == dumped(node), code
            same += found is not None
    return same


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_the_tree_is_that_of_the_file(module: Any) -> None:
    file = inspect.getsourcefile(module)
    assert file is not None
    text = "".join(linecache.getlines(file))
    assert compare(text, file) >= 0.95 * len(trees(text))


def test_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "layouts.py"
    path.write_text(LAYOUTS, encoding="utf-8")
    count = len(trees(LAYOUTS))
    assert compare(LAYOUTS, str(path)) == count
    monkeypatch.setattr(source, "_guessed_end", lambda _, code: code.co_firstlineno)
    assert compare(LAYOUTS, str(path)) == count  # where the guess fails, tokens give the end


def test_a_file_that_changed_gives_no_tree(tmp_path: Path) -> None:
    """The planted bug: the lines are those of another function of this name."""
    path = tmp_path / "changed.py"
    path.write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    other = compile("def f(x):\n    return x - 1\n", str(path), "exec")
    assert source_of(next(codes(other))) is None


def test_places_are_those_of_the_nodes_around() -> None:
    for module in MODULES:
        tree = ast.parse(inspect.getsource(module))
        for i, n in enumerate(nodes(tree)):
            if i % 3 and "lineno" in n._attributes:  # as of a node that was made
                for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                    n.__dict__.pop(name)
        expected = ast.fix_missing_locations(copy.deepcopy(tree))
        locate(tree)
        assert dumped(tree) == dumped(expected)
