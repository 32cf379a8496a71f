"""List comprehensions as functions with a `for` statement.

A loop whose number of rounds only the run knows can be followed in a statement: there the list that
it makes is held by a variable, and not by the interpreter alone. The function has the name, the
scope and the lines that Python gives a comprehension, and is defined before the statement that the
comprehension is part of. Within a lambda, another expression with a scope of its own or the body of
a class there is no place for it, and one that sees or changes the variables around it stays as it
is. So do comprehensions of sets and dicts: the trace has none whose length it does not know.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from anyshape.trace.twin.hook import hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.trace.twin.rewrite import Rewrite

_GIVEN: Final = ".0"  # the parameter of Python's own function
_MADE: Final = "the list"  # a name that no variable of the user's has
_NAME: Final = "<listcomp>"
_FUNCTION: Final = "def made(given): pass"
_LOAD: Final = ast.Load()
_LOOK_AROUND: Final = frozenset(("super", "locals", "vars", "dir", "eval", "exec"))


class Comprehensions:
    """The comprehensions of one function and of the functions within it."""

    def __init__(self, rewrite: Rewrite, temporary: Callable[[], str]) -> None:
        self._rewrite = rewrite
        self._temporary = temporary
        self._defined: list[ast.stmt] | None = None  # before the statement that is rewritten now
        self._is_class = False

    @contextmanager
    def before(self) -> Iterator[list[ast.stmt]]:
        """While a statement is rewritten: what is to be defined before it."""
        defined: list[ast.stmt] = []
        around = self._defined
        self._defined = None if self._is_class else defined
        yield defined
        self._defined = around

    @contextmanager
    def no_place(self) -> Iterator[None]:
        """While something is rewritten that has variables, but no statements of its own."""
        around, self._defined = self._defined, None
        yield
        self._defined = around

    @contextmanager
    def within(self, *, is_class: bool) -> Iterator[None]:
        """While the body of a class or a function is rewritten."""
        around, self._is_class = self._is_class, is_class
        yield
        self._is_class = around

    def made(self, n: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.expr:
        """What gives the list, set or dict."""
        around = self._defined
        if isinstance(n, ast.ListComp) and around is not None and _is_apart(n):
            return ast.copy_location(self._call(n, around), n)
        with self.no_place():
            self._rewrite.generic_visit(n)
        match n:
            case ast.ListComp():
                return hook("born", n)
            case ast.SetComp():
                return hook("new_set", ast.ListComp(n.elt, n.generators))
        pairs = ast.ListComp(ast.Tuple([n.key, n.value], _LOAD), n.generators)
        return hook("new_dict", pairs)

    def _call(self, n: ast.ListComp, around: list[ast.stmt]) -> ast.expr:
        """The call of a function that makes the list, which is defined `around`."""
        rewrite, first = self._rewrite, n.generators[0]
        given = hook("looped", rewrite.visit(first.iter))
        first.iter = ast.Name(_GIVEN, _LOAD)
        inner: list[ast.stmt] = []
        self._defined = inner
        rewrite.enter()
        for i, loop in enumerate(n.generators):
            iterated = loop.iter
            rewrite.visit(loop)
            loop.iter = loop.iter if i else iterated
        n.elt = rewrite.visit(n.elt)
        rewrite.leave()
        self._defined = around
        name = self._temporary()
        around += [ast.copy_location(s, n) for s in self._function(n, inner, name)]
        return ast.Call(ast.Name(name, _LOAD), [given], [])

    def _function(self, n: ast.ListComp, inner: list[ast.stmt], name: str) -> list[ast.stmt]:
        """The statements that define it under a name."""
        made = ast.Name(_MADE, _LOAD)
        add = ast.Attribute(made, "append", _LOAD)
        body: list[ast.stmt] = [ast.copy_location(ast.Expr(ast.Call(add, [n.elt], [])), n.elt)]
        for loop in reversed(n.generators):
            for test in reversed(loop.ifs):
                body = [ast.copy_location(ast.If(test, body, []), test)]
            body = [ast.copy_location(ast.For(loop.target, loop.iter, body, []), loop.target)]
        new = ast.Assign([ast.Name(_MADE, ast.Store())], hook("born", ast.List([], _LOAD)))
        function = ast.parse(_FUNCTION).body[0]  # with all fields that this Python has
        assert isinstance(function, ast.FunctionDef)
        function.name, function.args.args[0].arg = _NAME, _GIVEN
        function.body = [*inner, new, *body, ast.Return(made)]
        named = ast.Assign([ast.Name(name, ast.Store())], ast.Name(_NAME, _LOAD))
        return [function, named, ast.Delete([ast.Name(_NAME, ast.Del())])]


def _is_apart(n: ast.ListComp) -> bool:
    """Whether nothing in it sees, or changes, the variables of the function around it."""
    return not any(
        isinstance(part, ast.NamedExpr)
        or (isinstance(part, ast.Name) and part.id in _LOOK_AROUND)
        or (isinstance(part, ast.comprehension) and part.is_async)
        for part in ast.walk(n)
    )
