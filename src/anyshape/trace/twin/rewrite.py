"""The tree of a twin: every read, write, call and test of the function goes through a hook.

The hooks are attributes of one object, which the twin finds under the name `HOOKS` among its
globals. Names need no hook: the globals of a twin are a mapping of the recorder's own. A hook gets
the operands that Python would evaluate, in Python's order, and gives what Python would give.
"""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.twin import hook as hooks
from anyshape.trace.twin.comprehension import Comprehensions
from anyshape.trace.twin.function_body import function_body
from anyshape.trace.twin.hook import BINARY, COMPARED, HOOKS, UNARY, hashed, hook, hook_itself
from anyshape.trace.twin.pattern import Patterns
from anyshape.trace.twin.private_name import private

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.twin.quiet_operand import Quiet

TEMPORARY: Final = "_anyshape_t"  # how the names of the twin's own variables begin
# these look at the frame of their caller, or at the class of the method
_FRAME: Final = frozenset(("super", "locals"))
_LOAD: Final = ast.Load()


class NoTwinError(Exception):
    """The function uses something that a twin cannot do."""


class Rewrite(ast.NodeTransformer):
    """The tree of one function and of the functions within it.

    `free` are the free variables of the outermost function, and `quiet` its operands that do
    nothing; `owner` is the name of the class that it is a method of, for private names.
    """

    def __init__(self, free: tuple[str, ...], owner: str, quiet: Quiet) -> None:
        self._free = set(free)
        self._owner = owner
        self._quiet = quiet
        self._outer: list[set[str]] = [set()]  # names that are declared global, by function
        self._cells: list[set[str]] = [set()]  # nonlocal names of the outermost function
        self._depth = 0
        self._count = 0
        self._comprehensions = Comprehensions(self, self._temporary)
        self._patterns = Patterns(self.visit, self._told, self._temporary)

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a body."""
        made: list[ast.stmt] = []
        for statement in body:
            with self._comprehensions.before() as defined:
                new = self.visit(statement)
            made += [*defined, *(new if isinstance(new, list) else [new])]
        return made

    def visit(self, node: ast.AST) -> Any:
        """The new node, where the old one was."""
        new = super().visit(node)
        if isinstance(new, ast.AST) and hasattr(node, "lineno") and new is not node:
            ast.copy_location(new, node)
        return new

    # ------------------------------------------------------------------ expressions

    def visit_Name(self, n: ast.Name) -> Any:
        n.id = self._private(n.id)
        return n

    def visit_Attribute(self, n: ast.Attribute) -> Any:
        n.value = self.visit(n.value)
        if isinstance(n.ctx, ast.Load):
            return hook("attribute", n.value, self._word(n.attr))
        return n

    def visit_Subscript(self, n: ast.Subscript) -> Any:
        self.generic_visit(n)
        if isinstance(n.ctx, ast.Load):
            return hook("item", n.value, n.slice)
        return n

    def visit_Call(self, n: ast.Call) -> Any:
        f = n.func
        if isinstance(f, ast.Name) and f.id in _FRAME and not n.keywords:
            n.args = [self.visit(a) for a in n.args]
            return n
        if isinstance(f, ast.Attribute):
            n.func = ast.copy_location(hook("method", self.visit(f.value), self._word(f.attr)), f)
        else:
            n.func = ast.copy_location(hook("ready", self.visit(f)), f)
        n.args = [self.visit(a) for a in n.args]
        for keyword in n.keywords:
            value = self.visit(keyword.value)
            keyword.value = value if keyword.arg else hook("mapping", value)
        return n

    def visit_Starred(self, n: ast.Starred) -> Any:
        n.value = self.visit(n.value)
        if isinstance(n.ctx, ast.Load):
            n.value = hook("gathered", n.value)
        return n

    def visit_BinOp(self, n: ast.BinOp) -> Any:
        self.generic_visit(n)
        return hook(BINARY[type(n.op)], n.left, n.right)

    def visit_UnaryOp(self, n: ast.UnaryOp) -> Any:
        if isinstance(n.op, ast.Not):
            n.operand = self._test(n.operand)
            return n
        self.generic_visit(n)
        return n if isinstance(n.operand, ast.Constant) else hook(UNARY[type(n.op)], n.operand)

    def visit_Compare(self, n: ast.Compare) -> Any:
        self.generic_visit(n)
        if len(n.ops) > 1:
            n.comparators = [hook("operand", x) for x in n.comparators]
            n.left = hook("operand", n.left)
            return n
        op, other = n.ops[0], n.comparators[0]
        constants = (n.left, other)
        if isinstance(op, ast.Is | ast.IsNot) and any(
            isinstance(c, ast.Constant) and c.value is None for c in constants
        ):
            return n
        return hook(COMPARED[type(op)], n.left, other)

    def visit_BoolOp(self, n: ast.BoolOp) -> Any:
        return hook("chosen", self._chain(n, self.visit))

    def _chain(self, n: ast.BoolOp, last: Callable[[ast.expr], ast.expr]) -> ast.expr:
        """`and` or `or`, of which Python tests the operands as often as before, but the last."""
        quiet = [self._quiet.operand(v) if self._depth == 0 else None for v in n.values]
        values = []
        for i, v in enumerate(n.values[:-1]):
            looked = self._looked(v)
            following = [q for q in takewhile(bool, quiet[i + 1 :]) if q is not None]
            if following and quiet[i] is None:
                looked = hook("before", looked, ast.Constant(isinstance(n.op, ast.Or)), *following)
            values.append(looked)
        n.values = [*values, last(n.values[-1])]
        return n

    def _looked(self, v: ast.expr) -> ast.expr:
        if isinstance(v, ast.BoolOp):
            return self._chain(v, self._looked)
        return hook("looked", self.visit(v))

    def visit_IfExp(self, n: ast.IfExp) -> Any:
        n.test, n.body, n.orelse = self._test(n.test), self.visit(n.body), self.visit(n.orelse)
        return n

    def visit_List(self, n: ast.List) -> Any:
        self.generic_visit(n)
        return hook("born", n) if isinstance(n.ctx, ast.Load) else n

    def visit_Dict(self, n: ast.Dict) -> Any:
        pairs = zip(n.keys, n.values, strict=True)
        values = [
            self.visit(v) if k is not None else hook("mapping", self.visit(v)) for k, v in pairs
        ]
        n.keys = [None if k is None else hashed(self.visit(k)) for k in n.keys]
        n.values = values
        return hook("born", n)

    def visit_Set(self, n: ast.Set) -> Any:
        self.generic_visit(n)
        return hooks.set_display(n)

    def visit_ListComp(self, n: Any) -> Any:
        return self._comprehensions.made(n)

    visit_SetComp: Any = visit_ListComp
    visit_DictComp: Any = visit_ListComp

    def visit_GeneratorExp(self, n: ast.GeneratorExp) -> Any:
        with self._comprehensions.no_place():
            self.generic_visit(n)
        return hook("born", n)

    def visit_comprehension(self, n: ast.comprehension) -> Any:
        if n.is_async:
            raise NoTwinError
        n.iter = hook("looped", self.visit(n.iter))
        n.target = self._no_place(n.target)
        n.ifs = [self._test(test) for test in n.ifs]
        return n

    def visit_FormattedValue(self, n: ast.FormattedValue) -> Any:
        n.value = hook("text", self.visit(n.value), ast.Constant(n.conversion))
        if n.format_spec is not None:
            for part in ast.walk(self.visit(n.format_spec)):
                if isinstance(part, ast.FormattedValue):
                    part.value = hook("plain_text", part.value)
        return n

    def visit_NamedExpr(self, n: ast.NamedExpr) -> Any:
        n.value = self._told(n.target.id, self.visit(n.value))
        return n

    def visit_YieldFrom(self, n: ast.YieldFrom) -> Any:
        n.value = hook("iterated", self.visit(n.value))
        return n

    def _refused(self, n: Any) -> Any:
        raise NoTwinError

    visit_Await: Any = _refused
    visit_AsyncFunctionDef: Any = _refused
    visit_AsyncFor: Any = _refused
    visit_AsyncWith: Any = _refused
    visit_TryStar: Any = _refused

    def _test(self, test: ast.expr) -> ast.expr:
        """A condition: the last operand is tested here, the others by Python itself."""
        if isinstance(test, ast.BoolOp):
            return self._chain(test, self._test)
        if isinstance(test, ast.Compare) and isinstance(
            test.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn
        ):
            return self.visit(test)  # type: ignore[no-any-return]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.visit(test)  # type: ignore[no-any-return]
        return ast.copy_location(hook("truth", self.visit(test)), test)

    # ------------------------------------------------------------------ tests and loops

    def visit_If(self, n: ast.If) -> Any:
        n.test = self._test(n.test)
        n.body, n.orelse = self.statements(n.body), self.statements(n.orelse)
        return n

    def visit_While(self, n: ast.While) -> Any:
        if not isinstance(n.test, ast.Constant):
            n.test = self._test(n.test)
        n.body, n.orelse = self.statements(n.body), self.statements(n.orelse)
        return n

    def visit_Assert(self, n: ast.Assert) -> Any:
        test = self._test(n.test)
        if n.msg is None or isinstance(n.msg, ast.Constant):
            test = hook("asserted", test, *([] if n.msg is None else [n.msg]))
        n.test = test
        n.msg = None if n.msg is None else self.visit(n.msg)
        return n

    def visit_For(self, n: ast.For) -> Any:
        n.iter = hook("looped", self.visit(n.iter))
        n.target, after = self._target(n.target)
        n.body = [*after, *self.statements(n.body)]
        n.orelse = self.statements(n.orelse)
        return n

    def visit_With(self, n: ast.With) -> Any:
        first, *rest = n.items
        if rest:  # the targets of one item are there before the next begins
            inner = ast.copy_location(ast.With(rest, n.body), n)
            return self.visit_With(ast.copy_location(ast.With([first], [inner]), n))
        first.context_expr = hook("manager", self.visit(first.context_expr))
        after: list[ast.stmt] = []
        if first.optional_vars is not None:
            first.optional_vars, after = self._target(first.optional_vars)
        n.body = [*after, *self.statements(n.body)]
        return n

    def visit_Try(self, n: ast.Try) -> Any:
        n.body, n.orelse = self.statements(n.body), self.statements(n.orelse)
        n.finalbody = self.statements(n.finalbody)
        n.body.insert(0, ast.copy_location(ast.Expr(hook("tries")), n))
        for handler in n.handlers:
            kind: ast.expr = ast.Name("BaseException", _LOAD)
            if handler.type is not None:
                kind = self.visit(handler.type)
            self._need_local(handler.name)
            is_named = ast.Constant(handler.name is not None)
            handler.type = ast.copy_location(hook("caught", kind, is_named), handler)
            handler.body = self.statements(handler.body)
        return n

    def visit_Raise(self, n: ast.Raise) -> Any:
        self.generic_visit(n)
        if n.exc is not None:
            n.exc = hook("raised", n.exc)
        return n

    def visit_Match(self, n: ast.Match) -> Any:
        return self._patterns.statements(n, self._test, self.statements)

    # ------------------------------------------------------------------ assignments

    def visit_Assign(self, n: ast.Assign) -> Any:
        value = self.visit(n.value)
        if len(n.targets) == 1 and isinstance(n.targets[0], ast.Attribute | ast.Subscript):
            return self._stored(n.targets[0], value, n)
        targets, after = [], []
        for target in n.targets:
            if isinstance(target, ast.Name):
                value = self._told(target.id, value)
            elif isinstance(target, ast.Tuple | ast.List):
                value = hook("unpacked", value)
            new, stores = self._target(target, plain=True)
            targets.append(new)
            after += stores
        n.targets, n.value = targets, value
        return [n, *after] if after else n

    def visit_AnnAssign(self, n: ast.AnnAssign) -> Any:
        if n.value is None:
            return n
        assign = ast.copy_location(ast.Assign([n.target], n.value), n)
        return self.visit_Assign(assign)

    def visit_AugAssign(self, n: ast.AugAssign) -> Any:
        name = "i" + BINARY[type(n.op)].rstrip("_")
        target = n.target
        if isinstance(target, ast.Name):
            load = ast.copy_location(ast.Name(target.id, _LOAD), target)
            value = hook(name, load, self.visit(n.value))
            return ast.copy_location(ast.Assign([target], self._told(target.id, value)), n)
        owner = self._temporary()
        first = ast.Assign([ast.Name(owner, ast.Store())], self.visit(target.value))
        made: list[ast.stmt] = [ast.copy_location(first, n)]
        held = ast.Name(owner, _LOAD)
        if isinstance(target, ast.Attribute):
            key: ast.expr = self._word(target.attr)
            read, write = "attribute", "set_attribute"
        else:
            place = self._temporary()
            second = ast.Assign([ast.Name(place, ast.Store())], self.visit(target.slice))
            made.append(ast.copy_location(second, n))
            key = ast.Name(place, _LOAD)
            read, write = "item", "set_item"
        value = hook(name, hook(read, held, key), self.visit(n.value))
        made.append(ast.copy_location(ast.Expr(hook(write, held, key, value)), n))
        return made

    def visit_Delete(self, n: ast.Delete) -> Any:
        made: list[ast.stmt] = []
        for target in n.targets:
            if isinstance(target, ast.Name):
                self._need_local(target.id)
                made.append(ast.copy_location(ast.Delete([target]), n))
            elif isinstance(target, ast.Attribute):
                call = hook("del_attribute", self.visit(target.value), self._word(target.attr))
                made.append(ast.copy_location(ast.Expr(call), n))
            elif isinstance(target, ast.Subscript):
                call = hook("del_item", self.visit(target.value), self.visit(target.slice))
                made.append(ast.copy_location(ast.Expr(call), n))
            else:
                raise NoTwinError
        return made

    def _stored(self, target: ast.expr, value: ast.expr, at: ast.AST) -> ast.stmt:
        """A statement that stores a value in an attribute or an item.

        The value is evaluated first, as in an assignment.
        """
        if isinstance(target, ast.Attribute):
            call = hook("store_attribute", value, self.visit(target.value), self._word(target.attr))
        else:
            assert isinstance(target, ast.Subscript)
            call = hook("store_item", value, self.visit(target.value), self.visit(target.slice))
        return ast.copy_location(ast.Expr(call), at)

    def _target(self, t: ast.expr, *, plain: bool = False) -> tuple[ast.expr, list[ast.stmt]]:
        """A target in which temporaries stand for attributes and items, and what stores them."""
        if isinstance(t, ast.Name):
            if plain or not self._is_outer(t.id):
                return t, []
            held = self._temporary()
            value = self._told(t.id, ast.copy_location(ast.Name(held, _LOAD), t))
            assign = ast.copy_location(ast.Assign([t], value), t)
            return ast.copy_location(ast.Name(held, ast.Store()), t), [assign]
        if isinstance(t, ast.Starred):
            t.value, after = self._target(t.value)
            return t, after
        if isinstance(t, ast.Tuple | ast.List):
            parts = [self._target(part) for part in t.elts]
            t.elts = [part for part, _ in parts]
            return t, [s for _, stores in parts for s in stores]
        name = self._temporary()
        store = ast.copy_location(ast.Name(name, ast.Store()), t)
        return store, [self._stored(t, ast.copy_location(ast.Name(name, _LOAD), t), t)]

    def _no_place(self, t: ast.expr) -> ast.expr:
        if any(isinstance(part, ast.Attribute | ast.Subscript) for part in ast.walk(t)):
            raise NoTwinError
        return t

    def _temporary(self) -> str:
        self._count += 1
        return f"{TEMPORARY}{self._count}"

    def _told(self, name: str, value: ast.expr) -> ast.expr:
        """A value that is assigned to a name: of the function, or of something around it."""
        if name in self._outer[-1]:
            return hook("set_global", value, ast.Constant(name))
        if name in self._cells[-1] or (self._depth == 0 and name in self._free):
            nothing = ast.arguments([], [], None, [], [], None, [])
            cell = ast.Lambda(nothing, ast.Name(name, _LOAD))
            return hook("set_cell", value, cell)
        return value

    def _is_outer(self, name: str) -> bool:
        return name in self._outer[-1] or name in self._cells[-1]

    def _need_local(self, name: str | None) -> None:
        if name is not None and self._is_outer(name):
            raise NoTwinError

    def visit_Global(self, n: ast.Global) -> Any:
        self._outer[-1].update(n.names)
        return n

    def visit_Nonlocal(self, n: ast.Nonlocal) -> Any:
        self._cells[-1].update(name for name in n.names if name in self._free)
        return n

    # ------------------------------------------------------------------ nested functions, classes

    def visit_Import(self, n: ast.Import) -> Any:
        for a in n.names:
            self._need_local(a.asname or a.name.partition(".")[0])
        names = [ast.Constant(a.name) for a in n.names]
        return hooks.around(n, hook("importing", *names), hook("imported", *names))

    def visit_ImportFrom(self, n: ast.ImportFrom) -> Any:
        if any(a.name == "*" for a in n.names):
            raise NoTwinError
        where = (ast.Constant(n.module or ""), ast.Constant(n.level))
        names = [ast.Constant(a.name) for a in n.names]
        made = [hook("importing_from", *where, *names)]
        for a, name in zip(n.names, names, strict=True):
            self._need_local(a.asname or a.name)
            value = ast.Name(a.asname or a.name, _LOAD)
            made.append(hook("imported_from", *where, name, value))
        return hooks.around(n, *made)

    def visit_FunctionDef(self, n: ast.FunctionDef) -> Any:
        self._need_local(n.name)
        n.decorator_list = [hook("ready", self.visit(d)) for d in n.decorator_list]
        self._defaults(n.args)
        self.enter()
        with self._comprehensions.within(is_class=False):
            n.body = function_body(n, self.statements)
        self.leave()
        return n

    def visit_Lambda(self, n: ast.Lambda) -> Any:
        self._defaults(n.args)
        self.enter()
        with self._comprehensions.no_place():
            n.body = self.visit(n.body)
        self.leave()
        return n

    def visit_ClassDef(self, n: ast.ClassDef) -> Any:
        self._need_local(n.name)
        n.decorator_list = [hook("ready", self.visit(d)) for d in n.decorator_list]
        n.decorator_list.append(hook_itself("class_made"))  # the first to be called
        n.bases = [hook("base", self.visit(b)) for b in n.bases]
        for keyword in n.keywords:
            given = self.visit(keyword.value)
            about = {None: "class_options", "metaclass": "metaclass"}.get(keyword.arg)
            keyword.value = given if about is None else hook(about, given)
        named = {x.id for s in n.body for x in ast.walk(s) if isinstance(x, ast.Name)}
        self.enter()
        owner, self._owner = self._owner, n.name
        with self._comprehensions.within(is_class=True):
            n.body = [*self.statements(n.body), ast.Expr(hook("class_body"))]
        self._owner = owner
        self.leave()
        names = [ast.Constant(name) for name in sorted({*named, HOOKS})]
        return [ast.copy_location(ast.Expr(hook("prefetch", *names)), n), n]

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else self.visit(d) for d in args.kw_defaults]

    def enter(self) -> None:
        self._outer.append(set())
        self._cells.append(set())
        self._depth += 1

    def leave(self) -> None:
        self._outer.pop()
        self._cells.pop()
        self._depth -= 1

    def _word(self, name: str) -> ast.Constant:
        return ast.Constant(self._private(name))

    def _private(self, name: str) -> str:
        return private(name, self._owner)
