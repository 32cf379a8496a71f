"""Names in statements: which are read, which are bound, and which are surely bound at a point."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Names: TypeAlias = frozenset[str]
_NONE: Final[Names] = frozenset()
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Uses(ast.NodeVisitor):
    """The names that a tree reads and binds in the scope that it stands in.

    `captured` are those that a nested function or class reads from there, `rebound` those that one
    binds there, or further out, by `nonlocal`.
    """

    def __init__(self, *nodes: ast.AST) -> None:
        self.loads: set[str] = set()
        self.stores: set[str] = set()
        self.captured: set[str] = set()
        self.rebound: set[str] = set()
        for node in nodes:
            self.visit(node)

    def visit_Name(self, n: ast.Name) -> None:
        (self.loads if isinstance(n.ctx, ast.Load) else self.stores).add(n.id)
        if n.id == "super":
            self.loads.add("__class__")

    def visit_AugAssign(self, n: ast.AugAssign) -> None:
        if isinstance(n.target, ast.Name):
            self.loads.add(n.target.id)
        self.generic_visit(n)

    def visit_ExceptHandler(self, n: ast.ExceptHandler) -> None:
        if n.name is not None:
            self.stores.add(n.name)
        self.generic_visit(n)

    def visit_alias(self, n: ast.alias) -> None:
        self.stores.add(n.asname or n.name.partition(".")[0])

    def visit_MatchAs(self, n: ast.MatchAs) -> None:
        if n.name is not None:
            self.stores.add(n.name)
        self.generic_visit(n)

    def visit_MatchStar(self, n: ast.MatchStar) -> None:
        if n.name is not None:
            self.stores.add(n.name)

    def visit_MatchMapping(self, n: ast.MatchMapping) -> None:
        if n.rest is not None:
            self.stores.add(n.rest)
        self.generic_visit(n)

    def _function(self, n: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        body = n.body if isinstance(n.body, list) else [n.body]
        inner = Uses(*body)
        a = n.args
        own = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        own |= {p.arg for p in (a.vararg, a.kwarg) if p is not None}
        own |= inner.stores - declared(body)
        free = inner.loads - own
        self.captured |= free
        self.rebound |= (inner.rebound - own) | (inner.stores & declared(body, ast.Nonlocal))
        self.loads |= free
        for part in (*a.defaults, *[d for d in a.kw_defaults if d is not None]):
            self.visit(part)
        if not isinstance(n, ast.Lambda):
            self.stores.add(n.name)
            for part in n.decorator_list:
                self.visit(part)

    def visit_FunctionDef(self, n: ast.FunctionDef) -> None:
        self._function(n)

    def visit_AsyncFunctionDef(self, n: ast.AsyncFunctionDef) -> None:
        self._function(n)

    def visit_Lambda(self, n: ast.Lambda) -> None:
        self._function(n)

    def visit_ClassDef(self, n: ast.ClassDef) -> None:
        inner = Uses(*n.body)
        self.captured |= inner.loads
        self.rebound |= inner.rebound | (inner.stores & declared(n.body, ast.Nonlocal))
        self.loads |= inner.loads
        self.stores.add(n.name)
        for part in (*n.decorator_list, *n.bases, *n.keywords):
            self.visit(part)

    def _comprehension(
        self, n: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        inner = Uses()
        bound: set[str] = set()
        for g in n.generators:
            inner.visit(g.iter)
            bound |= Uses(g.target).stores
            inner.loads |= Uses(g.target).loads
            for test in g.ifs:
                inner.visit(test)
        parts = [n.key, n.value] if isinstance(n, ast.DictComp) else [n.elt]
        for part in parts:
            inner.visit(part)
        self.loads |= inner.loads - bound
        self.captured |= inner.captured - bound
        self.rebound |= inner.rebound - bound
        self.stores |= inner.stores  # of `:=`

    def visit_ListComp(self, n: ast.ListComp) -> None:
        self._comprehension(n)

    def visit_SetComp(self, n: ast.SetComp) -> None:
        self._comprehension(n)

    def visit_DictComp(self, n: ast.DictComp) -> None:
        self._comprehension(n)

    def visit_GeneratorExp(self, n: ast.GeneratorExp) -> None:
        self._comprehension(n)


def declared(body: Iterable[ast.AST], *kinds: Any) -> set[str]:
    """The names that statements declare global or nonlocal, or in one of these ways."""
    return {
        name
        for n in same_scope(body)
        if isinstance(n, kinds or (ast.Global, ast.Nonlocal))
        for name in n.names
    }


def surely_stored(node: ast.AST) -> set[str]:
    """The names that a tree binds whenever it has been evaluated without an error: those of `:=` in
    an operand that may be left out, or in what a comprehension repeats, are not among them.
    """
    match node:
        case ast.BoolOp():
            always: Sequence[ast.AST] = node.values[:1]
        case ast.IfExp():
            both = surely_stored(node.body) & surely_stored(node.orelse)
            return surely_stored(node.test) | both
        case ast.Compare():
            always = [node.left, node.comparators[0]]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            always = [node.generators[0].iter]
        case ast.Assert():
            always = []
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            return {node.name} if not isinstance(node, ast.Lambda) else set()
        case ast.AnnAssign():
            always = [node.target, node.value] if node.value is not None else []
        case _:
            always = [*ast.iter_child_nodes(node)]
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    if isinstance(node, ast.alias):
        found = Uses(node).stores
    return found.union(*map(surely_stored, always))


def same_scope(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """All nodes of statements, but for those of nested functions and classes."""
    todo = list(body)
    while todo:
        n = todo.pop()
        yield n
        if not isinstance(n, (*_FUNCTIONS, ast.ClassDef)):
            todo += ast.iter_child_nodes(n)


class Flow:
    """Which names are surely bound after statements; `early` collects those that may be read
    before. Where the end of statements cannot be reached, all names are: None. `swallows` tells
    whether a context manager may end a block of its own early.
    """

    def __init__(self, swallows: Callable[[ast.expr], bool]) -> None:
        self.early: set[str] = set()
        self._swallows = swallows

    def after(self, body: Sequence[ast.stmt], bound: Names | None) -> Names | None:
        """The names that are bound after statements, given those before."""
        for statement in body:
            if bound is None:
                return None
            bound = self._step(statement, bound)
        return bound

    def _read(self, bound: Names, *nodes: ast.AST | None) -> Names:
        uses = Uses(*[n for n in nodes if n is not None])
        self.early |= uses.loads - bound
        return bound.union(*[surely_stored(n) for n in nodes if n is not None])

    def _step(self, n: ast.stmt, bound: Names) -> Names | None:
        match n:
            case ast.If():
                bound = self._read(bound, n.test)
                return join(self.after(n.body, bound), self.after(n.orelse, bound))
            case ast.For():
                before = self._read(bound, n.iter)
                self.after(n.body, before | Uses(n.target).stores)
                self.after(n.orelse, before)
                return before
            case ast.While():
                before = self._read(bound, n.test)
                self.after(n.body, before)
                self.after(n.orelse, before)
                return before
            case ast.With():
                for item in n.items:
                    bound = self._read(bound, item.context_expr, item.optional_vars)
                end = self.after(n.body, bound)
                swallowed = any(self._swallows(item.context_expr) for item in n.items)
                return join(end, bound) if swallowed else end
            case ast.Try():
                inside = self.after([*n.body, *n.orelse], bound)
                ends = [self._handled(h, bound) for h in n.handlers]
                result = inside
                for end in ends:
                    result = join(result, end)
                last = self.after(n.finalbody, bound)
                return None if last is None or result is None else result | last
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self._read(bound, n)
                return None
            case ast.Delete():
                self._read(bound, *[t for t in n.targets if not isinstance(t, ast.Name)])
                return bound - Uses(n).stores
            case ast.Match():
                before = self._read(bound, n.subject)
                for case in n.cases:
                    self.after(case.body, before | Uses(case.pattern).stores)
                    self._read(before | Uses(case.pattern).stores, case.guard)
                return before
        return self._read(bound, n)

    def _handled(self, h: ast.ExceptHandler, bound: Names) -> Names | None:
        named = frozenset(() if h.name is None else (h.name,))
        end = self.after(h.body, self._read(bound, h.type) | named)
        return None if end is None else end - named


def join(a: Names | None, b: Names | None) -> Names | None:
    """The names that are bound on both of two paths that join."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def needed_before(body: Sequence[ast.stmt], swallows: Callable[[ast.expr], bool]) -> set[str]:
    """The names that statements may read before they bind them."""
    flow = Flow(swallows)
    flow.after(body, _NONE)
    return flow.early
