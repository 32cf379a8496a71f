"""`Pieces`: a function that runs as Python, with compiled pieces between what cannot be traced."""

from __future__ import annotations

import ast
import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.bound_method import BoundMethod
from anyshape.compile.pieces.break_site import BreakSite, break_site, site_in
from anyshape.compile.pieces.callee import Callees
from anyshape.compile.pieces.outline import (
    CALLEE,
    Outline,
    can_cut,
    first_use,
    keeps_graph,
    marker,
    statement_at,
)
from anyshape.compile.pieces.routed import cells_of, with_constants
from anyshape.errors import text_of
from anyshape.torch_compat.module_attribute import CALL_IMPL, calls_forward, has_plain_call
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.twin.private_name import PrivateNames
from anyshape.trace.twin.source import (
    compiled,
    function_node,
    register_source,
    source_of,
)
from anyshape.trace.twin.twin import owner_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

_Function: Final = types.FunctionType


class Pieces:
    """A function in pieces: `run` is called like the function.

    What cannot be traced runs as Python, on real values; `why` and `site` say what and where that
    is. Where the site is not known, the first use of the variable `about` is cut out; else the
    function is cut in two. The `parts` are the compiled pieces, and what is called between them;
    they are plain programs if the function keeps a graph of autograd for another backward pass.
    """

    def __init__(
        self,
        fn: Any,
        why: str,
        make: Callable[..., Any],
        *,
        site: BreakSite | None = None,
        about: str = "",
    ) -> None:
        self.why = why
        self.site = site
        self._fn = fn
        self._about = about
        self._pieces: list[Any] = []
        self._target, self._bound = target_of(fn)
        self._code = self._target.__code__
        node = source_of(self._code)
        part = functools.partial(make, is_plain=node is not None and keeps_graph(node))
        self._callees = Callees(part)
        self._function = self._cut(self._target, part)

    @classmethod
    def at_error(
        cls, fn: Any, error: Exception, make: Callable[..., Any], about: str = ""
    ) -> Pieces:
        """A function in pieces, cut where its trace raised an error."""
        site = break_site(error, target_of(fn)[0].__code__)
        return cls(fn, text_of(error), make, site=site, about=about)

    @classmethod
    def at_question(
        cls, fn: Any, why: str, running: dict[CodeType, int], make: Callable[..., Any]
    ) -> Pieces:
        """A function in pieces, cut where its twins are."""
        return cls(fn, why, make, site=site_in(running, target_of(fn)[0].__code__))

    @property
    def parts(self) -> list[Any]:
        """The compiled pieces and callees."""
        return [*self._pieces, *self._callees.compiled]

    @property
    def is_current(self) -> bool:
        """Whether the function is still the one that was cut."""
        try:
            target = target_of(self._fn)[0]
        except NotCut:
            return False
        made = self._function
        return (
            target is self._target
            and target.__code__ is self._code
            and target.__defaults__ is made.__defaults__
            and target.__kwdefaults__ is made.__kwdefaults__
        )

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in pieces."""
        return self._function(*self._bound(), *args, **kwargs)

    def _cut(self, f: types.FunctionType, make: Callable[[Any], Any]) -> types.FunctionType:
        code = f.__code__
        node = source_of(code)
        if isinstance(node, ast.Lambda):
            node = _as_function(node)
        if node is None or not can_cut(node):
            raise NotCut
        PrivateNames(owner_of(code)).visit(node)
        broken = None
        if self.site is not None:
            broken = statement_at(node, self.site.line, self.site.column)
        elif self._about:
            broken = first_use(node, self._about)
        cut = Outline(node, broken, _Managers(f.__globals__)).cut()
        found: dict[Any, Any] = {CALLEE: self._callees}
        for number, piece in enumerate(cut.pieces):
            made = compiled(piece, code)
            register_source(made, piece)
            inner = _Function(made, f.__globals__, f.__name__, None, cells_of(f, made))
            inner.__qualname__ = f"{f.__qualname__}[{piece.lineno}]"
            inner.__module__ = f.__module__
            found[marker(number)] = compiled_piece = make(inner)
            self._pieces.append(compiled_piece)
        new = with_constants(compiled(node, code, cut.body), found)
        made_function = _Function(new, f.__globals__, f.__name__, f.__defaults__, cells_of(f, new))
        made_function.__kwdefaults__ = f.__kwdefaults__
        made_function.__qualname__ = f.__qualname__
        made_function.__module__ = f.__module__
        return made_function


class NotCut(Exception):
    """A function that cannot be cut into pieces."""


class _Managers:
    """Tells which context managers may swallow errors: all but those of torch."""

    def __init__(self, space: dict[str, Any]) -> None:
        self._space = space

    def __call__(self, n: ast.expr) -> bool:
        names: list[str] = []
        while isinstance(n, ast.Attribute):
            names.insert(0, n.attr)
            n = n.value
        if not isinstance(n, ast.Name) or n.id not in self._space:
            return True
        found = self._space[n.id]
        for name in names:
            found = getattr(found, name, None)
        return str(getattr(found, "__module__", "")).partition(".")[0] != "torch"


def target_of(fn: Any) -> tuple[types.FunctionType, Callable[[], tuple[Any, ...]]]:
    """The Python function that a call of `fn` runs, and what it is bound to."""
    bound: Callable[[], tuple[Any, ...]] = tuple
    target = fn
    if isinstance(fn, torch.nn.Module):
        if not has_plain_call(fn):
            raise NotCut
        target = fn.forward if calls_forward(fn) else types.MethodType(CALL_IMPL, fn)
    if isinstance(target, BoundMethod | types.MethodType):
        method = target
        bound, target = (lambda: (method.__self__,)), method.__func__
    if type(target) is not _Function or not is_twinned(target.__code__):
        raise NotCut
    return target, bound


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda as a function with one statement."""
    returned = ast.copy_location(ast.Return(node.body), node.body)
    return function_node("<lambda>", node.args, [returned], node)
