"""`match` as tests that report what they look at.

Python matches patterns by itself: it reads items and attributes, compares and asks for classes. A
twin does the same with hooks, case by case, as `if` and `elif`. Names are bound when the whole
pattern has matched, as Python binds them; until then variables of the twin hold the values.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.twin.hook import hook

if TYPE_CHECKING:
    from collections.abc import Callable

_LOAD: Final = ast.Load()
_STORE: Final = ast.Store()


class Patterns:
    """The tests for the patterns of one function.

    `visit` rewrites an expression of the user's, `told` what is assigned to a name; `new_name`
    gives a variable that the function does not have.
    """

    def __init__(
        self,
        visit: Callable[[Any], Any],
        told: Callable[[str, ast.expr], ast.expr],
        new_name: Callable[[], str],
    ) -> None:
        self._visit = visit
        self._told = told
        self.new_name = new_name
        self._bound: dict[str, str] = {}  # the variables that hold what names will be bound to

    def statements(self, n: ast.Match, tested: Any, rewritten: Any) -> list[ast.stmt]:
        """The statement as `if` and `elif`; `tested` rewrites a guard, `rewritten` a body."""
        subject = self.new_name()
        held = ast.Assign([ast.Name(subject, _STORE)], self._visit(n.subject))
        orelse: list[ast.stmt] = []
        tests = []
        for case in n.cases:
            test = self.test(case.pattern, subject)
            if case.guard is not None:
                test = ast.BoolOp(ast.And(), [test, tested(case.guard)])
            tests.append((test, rewritten(case.body), case.pattern))
        for test, body, place in reversed(tests):
            orelse = [ast.copy_location(ast.If(test, body, orelse), place)]
        return [ast.copy_location(held, n), *orelse]

    def test(self, pattern: ast.pattern, subject: str) -> ast.expr:
        """The test of a pattern, which binds its names at the end."""
        self._bound = {}
        tests = self._tests(pattern, subject)
        if self._bound:
            pairs: list[ast.expr] = [
                ast.NamedExpr(ast.Name(name, _STORE), self._told(name, _name(held)))
                for name, held in self._bound.items()
            ]
            tests.append(ast.Tuple(pairs, _LOAD))  # which is true
        return _all(tests)

    def _tests(self, p: ast.pattern, subject: str) -> list[ast.expr]:
        """What must hold for a subject, in order; nothing for a pattern that always matches."""
        match p:
            case ast.MatchValue():
                return [hook("truth", hook("eq", _name(subject), self._visit(p.value)))]
            case ast.MatchSingleton():
                return [hook("is_", _name(subject), ast.Constant(p.value))]
            case ast.MatchOr():
                return [ast.BoolOp(ast.Or(), [_all(self._tests(q, subject)) for q in p.patterns])]
            case ast.MatchAs():
                inner = [] if p.pattern is None else self._tests(p.pattern, subject)
                return inner if p.name is None else [*inner, self._hold(p.name, _name(subject))]
            case ast.MatchSequence():
                return self._sequence(p, subject)
            case ast.MatchMapping():
                return self._mapping(p, subject)
            case ast.MatchClass():
                return self._class(p, subject)
        raise AssertionError(p)

    def _hold(self, name: str, value: ast.expr) -> ast.expr:
        """Hold what a name will be bound to; true."""
        held = self._bound.setdefault(name, self.new_name())
        return ast.Tuple([ast.NamedExpr(ast.Name(held, _STORE), value)], _LOAD)

    def _part(self, p: ast.pattern, value: ast.expr) -> list[ast.expr]:
        """The tests of a part of a subject."""
        if isinstance(p, ast.MatchAs) and p.pattern is None:
            return [] if p.name is None else [self._hold(p.name, value)]
        name = self.new_name()
        held = ast.Tuple([ast.NamedExpr(ast.Name(name, _STORE), value)], _LOAD)
        return [held, *self._tests(p, name)]

    def _sequence(self, p: ast.MatchSequence, subject: str) -> list[ast.expr]:
        stars = [i for i, q in enumerate(p.patterns) if isinstance(q, ast.MatchStar)]
        count = len(p.patterns) - len(stars)
        parts = self.new_name()
        found = hook("items_of", _name(subject), ast.Constant(count), ast.Constant(bool(stars)))
        tests: list[ast.expr] = [_found(parts, found)]
        for i, q in enumerate(p.patterns):
            if isinstance(q, ast.MatchStar):
                end = i - len(p.patterns) + 1 or None
                rest = hook("rest_of_items", _name(parts), ast.Constant(i), ast.Constant(end))
                tests += [] if q.name is None else [self._hold(q.name, rest)]
            else:
                at = i if not stars or i < stars[0] else i - len(p.patterns)
                tests += self._part(q, _item(parts, at))
        return tests

    def _mapping(self, p: ast.MatchMapping, subject: str) -> list[ast.expr]:
        keys = ast.Tuple([self._visit(key) for key in p.keys], _LOAD)
        parts = self.new_name()
        tests: list[ast.expr] = [_found(parts, hook("values_of", _name(subject), keys))]
        for i, q in enumerate(p.patterns):
            tests += self._part(q, _item(parts, i))
        if p.rest is not None:
            tests.append(self._hold(p.rest, hook("rest_of_mapping", _name(parts))))
        return tests

    def _class(self, p: ast.MatchClass, subject: str) -> list[ast.expr]:
        parts = self.new_name()
        count = ast.Constant(len(p.patterns))
        names = ast.Tuple([ast.Constant(name) for name in p.kwd_attrs], _LOAD)
        found = hook("members_of", _name(subject), self._visit(p.cls), count, names)
        tests: list[ast.expr] = [_found(parts, found)]
        for i, q in enumerate((*p.patterns, *p.kwd_patterns)):
            tests += self._part(q, _item(parts, i))
        return tests


def _name(name: str) -> ast.expr:
    return ast.Name(name, _LOAD)


def _item(parts: str, i: int) -> ast.expr:
    """A part of what a hook gave, which is a tuple of the trace's own."""
    return ast.Subscript(_name(parts), ast.Constant(i), _LOAD)


def _found(parts: str, call: ast.expr) -> ast.expr:
    """Whether a hook gave parts."""
    held = ast.NamedExpr(ast.Name(parts, _STORE), call)
    return ast.Compare(held, [ast.IsNot()], [ast.Constant(None)])


def _all(tests: list[ast.expr]) -> ast.expr:
    if len(tests) > 1:
        return ast.BoolOp(ast.And(), tests)
    return tests[0] if tests else ast.Constant(True)
