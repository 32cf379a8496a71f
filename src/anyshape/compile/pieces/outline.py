"""A function cut into pieces: what can be traced becomes functions, the rest stays Python.

The cut is a statement that cannot be traced. It stays in the function, as do the statements around
it that have it in a body; every run of other statements becomes a function of its own, from the
local variables that it reads to those that it binds. So control flow, `with` and `try` around the
cut are Python's own.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.compile.pieces.name_flow import (
    Flow,
    Names,
    Uses,
    declared,
    needed_before,
    same_scope,
    surely_stored,
)
from anyshape.trace.twin.source import function_node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORK: Final = (ast.Call, ast.BinOp, ast.AugAssign, ast.Subscript, ast.UnaryOp, ast.Compare)
_LOOPS: Final = (ast.For, ast.While)
_BODIES: Final = (ast.If, *_LOOPS, ast.With, ast.Try)
_PLAIN: Final = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass,
    ast.Delete, ast.Raise, ast.Break, ast.Continue, ast.AsyncFunctionDef, ast.AsyncFor,
    ast.AsyncWith,
)  # fmt: skip
_LOAD: Final = ast.Load()
_GRAPHS: Final = ("create_graph", "retain_graph")
_FRAMES: Final = frozenset(("_getframe", "currentframe"))
CALLEE: Final = b"anyshape callee"  # stands for the function that finds what to call


def standing_for(sign: bytes) -> ast.expr:
    """The callee in place of a marker; the compiler warns where a plain constant is called."""
    return ast.BoolOp(ast.Or(), [ast.Constant(sign), ast.Constant(None)])


def marker(number: int) -> bytes:
    """The placeholder of a piece in the code of the function."""
    return b"anyshape piece %d" % number


class Cut(NamedTuple):
    """The new body of a function, and its pieces."""

    body: list[ast.stmt]
    pieces: list[ast.FunctionDef]


class Place(NamedTuple):
    """Where statements stand: whether in a loop, and whether an error may be caught there."""

    in_loop: bool
    is_tried: bool


def can_cut(node: ast.FunctionDef) -> bool:
    """Whether a function may be cut: it is no generator, no coroutine, and nothing looks at all of
    its variables, of which a piece has only some.
    """
    kinds = (ast.Yield, ast.YieldFrom, ast.Await)
    return not any(isinstance(n, kinds) or _names_variables(n) for n in same_scope(node.body))


def _names_variables(n: ast.AST) -> bool:
    """Whether a call may look at the variables of the function around it."""
    if not isinstance(n, ast.Call):
        return False
    name = getattr(n.func, "id", getattr(n.func, "attr", None))
    if name in _FRAMES or ast.unparse(n.func) == "inspect.stack":
        return True
    is_bare = name in ("dir", "vars") and not n.args
    return isinstance(n.func, ast.Name) and (is_bare or name in ("locals", "eval", "exec"))


def keeps_graph(node: ast.AST) -> bool:
    """Whether a function asks for gradients whose graph is used again. The backward of a compiled
    program has no derivative, and works in the memory that it was given.
    """
    named = [k.value for n in ast.walk(node) if isinstance(n, ast.Call)
             for k in n.keywords if k.arg in _GRAPHS]  # fmt: skip
    return not all(isinstance(x, ast.Constant) and not x.value for x in named)


def statement_at(node: ast.FunctionDef, line: int, column: int) -> ast.stmt | None:
    """The innermost statement of a function at a place of its source."""
    found = None
    for n in same_scope(node.body):
        if isinstance(n, ast.stmt) and n.end_lineno is not None and n.end_col_offset is not None:
            start, end = (n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)
            inside = start <= (line, column) < end
            if inside and (found is None or (found.lineno, found.col_offset) <= start):
                found = n
    return found


def first_use(node: ast.FunctionDef, name: str) -> ast.stmt | None:
    """The first statement that reads a variable, and is no more than that and its parts."""
    found = [
        s
        for s in same_scope(node.body)
        if isinstance(s, ast.stmt) and not isinstance(s, _BODIES) and name in Uses(s).loads
    ]
    return min(found, key=lambda s: s.lineno, default=None)


class Outline:
    """Cuts one function.

    `broken` is the statement that cannot be traced; if it is not known, the function is cut in two.
    `swallows` tells whether a context manager may swallow errors.
    """

    def __init__(
        self,
        node: ast.FunctionDef,
        broken: ast.stmt | None,
        swallows: Callable[[ast.expr], bool],
    ) -> None:
        self._node = node
        self._broken = broken
        self._swallows = swallows
        self._half: ast.stmt | None = None
        a = node.args
        self._parameters = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        self._parameters += [p.arg for p in (a.vararg, a.kwarg) if p is not None]
        uses = Uses(*node.body)
        self._shared = declared(node.body)
        self._locals = {*self._parameters, *uses.stores} - self._shared
        self._captured = uses.captured & self._locals
        self._rebound = uses.rebound & self._locals
        self._reads = _reads(node.body)
        self._pieces: list[ast.FunctionDef] = []

    def cut(self) -> Cut:
        """The function in pieces."""
        body, bound = self._node.body, frozenset(self._parameters)
        if self._broken is None:
            working = [s for s in body if _works(s)] or body
            if len(working) == 1:
                self._broken = working[0]
            else:
                self._half = working[len(working) // 2]
        return Cut(self._block(body, bound, Place(in_loop=False, is_tried=False)), self._pieces)

    # ------------------------------------------------------------------ blocks

    def _block(self, body: Sequence[ast.stmt], bound: Names | None, place: Place) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        group: list[ast.stmt] = []
        before = bound
        for s in body:
            stays = self._stays(s)
            if group and (stays or s is self._half or place.is_tried):
                made += self._piece(group, before, place)
                group = []
            if not group:
                before = bound
            if stays:
                made += self._kept(s, bound, place)
            else:
                group.append(s)
            bound = None if bound is None else Flow(self._may_swallow).after([s], bound)
        if group:
            made += self._piece(group, before, place)
        return made or [ast.Pass()]

    def _stays(self, s: ast.stmt) -> bool:
        """Whether a statement is part of no piece."""
        if isinstance(s, _PLAIN) or any(n is self._broken for n in ast.walk(s)):
            return True
        uses = Uses(s)
        if uses.stores & (self._captured | self._shared) or uses.captured & self._locals:
            return True
        if (uses.loads | uses.stores) & self._rebound:  # a call may bind it
            return True
        return not isinstance(s, ast.Return) and _escapes(s)

    def _piece(self, group: list[ast.stmt], bound: Names | None, place: Place) -> list[ast.stmt]:
        """A call of a piece made of statements; the statements, if they make none."""
        if not any(map(_works, group)):
            return [copy.deepcopy(s) for s in group]
        reads = needed_before(group, self._may_swallow) & self._locals
        returns = isinstance(group[-1], ast.Return)
        uses = Uses(*group)
        own = _reads(group)
        wanted = {n for n in uses.stores & self._locals if self._reads[n] > own[n]}
        if place.in_loop:
            wanted |= uses.stores & reads
        after = Flow(self._may_swallow).after(group, frozenset(reads))
        is_bound = bound is None or reads <= bound
        gives = sorted(() if returns else wanted)
        whole = returns or (after is not None and wanted <= after)
        if place.is_tried and isinstance(group[0], _BODIES) and gives:
            whole = False  # an error in the middle would lose what was bound before
        if not is_bound or not whole:
            if len(group) > 1:
                return [x for s in group for x in self._piece([s], bound, place)]
            return self._kept(group[0], bound, place)
        takes = [p for p in self._parameters if p in reads]
        if "__class__" in uses.loads and self._parameters[0] not in takes:
            takes.insert(0, self._parameters[0])
        takes += sorted(reads - set(takes))
        return [self._call(group, takes, gives, returns=returns)]

    def _call(
        self, group: list[ast.stmt], takes: list[str], gives: list[str], *, returns: bool
    ) -> ast.stmt:
        last = group[-1]
        body = copy.deepcopy(group)
        if gives:
            body.append(ast.copy_location(ast.Return(_names(gives, _LOAD)), last))
        arguments = ast.arguments([], [ast.arg(n) for n in takes], None, [], [], None, [])
        piece = function_node(self._node.name, arguments, body, group[0])
        self._pieces.append(ast.fix_missing_locations(piece))
        call = ast.Call(
            standing_for(marker(len(self._pieces) - 1)), [ast.Name(n, _LOAD) for n in takes], []
        )
        made: ast.stmt = ast.Expr(call)
        if returns:
            made = ast.Return(call)
        elif gives:
            made = ast.Assign([_names(gives, ast.Store())], call)
        return ast.fix_missing_locations(ast.copy_location(made, group[0]))

    # ------------------------------------------------------------------ what stays

    def _kept(self, s: ast.stmt, bound: Names | None, place: Place) -> list[ast.stmt]:
        """A statement that stays, with pieces in its bodies."""
        if not isinstance(s, _BODIES):
            return [Routed().visit(copy.deepcopy(s))]
        inside = place._replace(in_loop=place.in_loop or isinstance(s, _LOOPS))
        start = None if bound is None else bound | self._heads(s)
        if isinstance(s, ast.Try):
            return [self._try(s, bound, inside)]
        if isinstance(s, ast.With):
            tried = any(self._may_swallow(item.context_expr) for item in s.items)
            inside = inside._replace(is_tried=place.is_tried or tried)
        new = copy.copy(s)
        new.body = self._block(s.body, start, inside)
        if not isinstance(s, ast.With) and not isinstance(new, ast.With):
            other = None if bound is None else bound | self._heads(s, with_target=False)
            new.orelse = self._block(s.orelse, other, inside) if s.orelse else []
        match new:
            case ast.If() | ast.While():
                new.test = Routed().visit(copy.deepcopy(new.test))
            case ast.For():
                new.iter = Routed().visit(copy.deepcopy(new.iter))
            case ast.With():
                new.items = [Routed().visit(copy.deepcopy(item)) for item in new.items]
        return [new]

    def _may_swallow(self, manager: ast.expr) -> bool:
        """Whether a context manager may swallow an error: one in a variable may be any."""
        head = manager.func if isinstance(manager, ast.Call) else manager
        return bool(Uses(head).loads & self._locals) or self._swallows(head)

    def _heads(self, s: Any, *, with_target: bool = True) -> Names:
        """The names that the head of a statement surely binds; a loop may have no item."""
        match s:
            case ast.If() | ast.While():
                return frozenset(surely_stored(s.test))
            case ast.For():
                target = surely_stored(s.target) if with_target else ()
                return frozenset({*target, *surely_stored(s.iter)})
            case ast.With():
                return frozenset(Uses(*s.items).stores)
        return frozenset()

    def _try(self, s: ast.Try, bound: Names | None, place: Place) -> ast.stmt:
        new = copy.copy(s)
        tried = place._replace(is_tried=True)
        place = tried if s.finalbody else place  # which sees what was bound before an error
        new.body = self._block(s.body, bound, tried)
        inside = None if bound is None else Flow(self._may_swallow).after(s.body, bound)
        new.orelse = self._block(s.orelse, inside, place) if s.orelse else []
        new.handlers = []
        for h in s.handlers:
            handler = copy.copy(h)
            named = frozenset(() if h.name is None else (h.name,))
            handler.body = self._block(h.body, None if bound is None else bound | named, place)
            new.handlers.append(handler)
        new.finalbody = self._block(s.finalbody, bound, place) if s.finalbody else []
        return new


class Routed(ast.NodeTransformer):
    """Calls of a statement that stays: what they call may be compiled in turn."""

    def visit_Call(self, n: ast.Call) -> Any:
        """A call of what `CALLEE` finds; what looks at its caller is called as it is."""
        self.generic_visit(n)
        if not (isinstance(n.func, ast.Name) and n.func.id in ("super", "locals")):
            found = ast.Call(standing_for(CALLEE), [n.func], [])
            n.func = ast.fix_missing_locations(ast.copy_location(found, n.func))
        return n

    def _whole(self, n: Any) -> Any:
        return n

    visit_FunctionDef: Any = _whole
    visit_AsyncFunctionDef: Any = _whole
    visit_ClassDef: Any = _whole
    visit_Lambda: Any = _whole


def _works(s: ast.stmt) -> bool:
    """Whether a statement does more than pass values on."""
    return any(isinstance(n, _WORK) for n in ast.walk(s))


def _names(names: list[str], context: ast.expr_context) -> ast.expr:
    parts: list[ast.expr] = [ast.Name(n, context) for n in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)


def _reads(body: Sequence[ast.stmt]) -> Counter[str]:
    """How often each name is read or deleted, nested functions included."""
    found: Counter[str] = Counter()
    for s in body:
        for n in ast.walk(s):
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
                found[n.id] += 1
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found[n.target.id] += 1
    return found


def _escapes(s: ast.stmt) -> bool:
    """Whether control may leave a statement: a return, or a jump of a loop around it."""
    todo: list[tuple[ast.AST, bool]] = [(s, False)]
    while todo:
        n, in_loop = todo.pop()
        if isinstance(n, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if isinstance(n, ast.Break | ast.Continue) and not in_loop:
            return True
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(n, _LOOPS):
            todo += [(x, in_loop) for x in n.orelse]
            todo += [(x, True) for x in ast.iter_child_nodes(n) if x not in n.orelse]
        else:
            todo += [(x, in_loop) for x in ast.iter_child_nodes(n)]
    return False
