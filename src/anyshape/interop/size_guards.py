"""Guards on sizes that torch's compilers record while they compile, sorted by what they are for.

The trace has decided what a program means at every size, also at 1 and 0. A guard that

1. follows from the facts of the trace says nothing new and is left out;
2. follows from "all sizes are at least 2" chooses a layout or a path, such as the order of strides.
   The general path is right at 1 too. At 0 it may be wrong, as kernels then run on empty tensors
   which eager execution does not call: such calls run the plain program;
3. follows from neither, such as an equality or an upper bound, is a premise of the compiled code.

A guard of the second kind becomes "it holds, or all sizes that it is about are at least 1". Sizes
are all dimensions of all values of the graph that are not constant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sympy

from anyshape.domain import INF, NINF
from anyshape.env import Env
from anyshape.errors import AnyshapeError
from anyshape.expr.boolean import ge0
from anyshape.expr.text.python import SCOPE, source
from anyshape.expr.traverse import names_of
from anyshape.symbolic.functions import sym_max, sym_min
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat.fake_tensor import PythonPrinter, guard_place
from anyshape.trace.graph.codegen import SAME
from anyshape.trace.graph.graph import Value, leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anyshape.expr import Expr
    from anyshape.interop.fakes import Fakes
    from anyshape.trace.capture import Captured


class TakenGuard(NamedTuple):
    """A guard as torch recorded it; `names` has our name for each of torch's symbols, `place` is
    where torch took it.
    """

    condition: Any
    names: Mapping[str, str]
    place: str


class KeptGuard(NamedTuple):
    """A guard that compiled code needs: as Python over our symbols, and as a user reads it.

    If it is not a `premise`, it is about empty tensors.
    """

    text: str
    shown: str
    names: frozenset[str]
    premise: bool


def taken_guards(fakes: Fakes) -> list[TakenGuard]:
    """What torch recorded, without repetition; a conjunction counts as its parts."""
    found: dict[Any, TakenGuard] = {}
    for guard in fakes.shape_env.guards:
        for part in _parts(guard.expr):
            found.setdefault(part, TakenGuard(part, fakes.names, guard_place(guard)))
    return list(found.values())


def _parts(condition: Any) -> list[Any]:
    if isinstance(condition, sympy.And):
        return [part for arg in condition.args for part in _parts(arg)]
    return [condition]


class _Printer(PythonPrinter):
    """Torch's expressions as Python over our names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._ours = names

    def _print_Symbol(self, symbol: sympy.Symbol) -> str:  # noqa: N802  sympy's name
        return self._ours[symbol.name]


class GuardSorter:
    """Sorts guards over the symbols of one traced program. Those of a compiler that is not
    `known`, whose paths nobody has examined, are premises unless they follow from the trace.
    """

    def __init__(self, captured: Captured, *, known: bool) -> None:
        self._env = captured.tracer.env
        self._known = known
        self._dims: dict[Expr, frozenset[str]] = {}
        for v in _values(captured):
            for n in v.meta.shape:
                if type(n) is SymInt:
                    expr = self._env.simplify(n.expr)
                    if not expr.is_const and expr not in self._dims:
                        self._dims[expr] = frozenset(names_of(expr))

    def kept(self, taken: Iterable[TakenGuard]) -> list[KeptGuard]:
        """Those that are checked before compiled code runs."""
        found: dict[str, KeptGuard] = {}
        seen: set[str] = set()
        for guard in taken:
            text = _Printer(guard.names).doprint(guard.condition)
            if text not in seen:
                seen.add(text)
                kept = self._sorted(guard, text)
                if kept is not None:
                    found.setdefault(kept.text, kept)
        return list(found.values())

    def _sorted(self, guard: TakenGuard, text: str) -> KeptGuard | None:
        names = frozenset([guard.names[s.name] for s in guard.condition.free_symbols])
        compound = guard.condition.has(sympy.And, sympy.Or, sympy.Not)
        ours = None if compound else _ours(text, _numbers(self._env, names))
        if ours is not None:
            if self._env.decide(ours.condition) is True:
                return None
            dims = [e for e, used in self._dims.items() if used & names]
            if self._known and self._follows(text, names, dims):
                parts = [f"{source(e, SAME)} >= 1" for e in dims if not self._is_positive(e)]
                if not parts:
                    return None
                weaker = f"{text} or {' and '.join(parts)}"
                used = names.union(*[self._dims[e] for e in dims])
                return KeptGuard(weaker, weaker, used, premise=False)
        shown = text if ours is None else self._env.text(ours.condition)
        return KeptGuard(text, f"{shown} (asked by {guard.place})", names, premise=True)

    def _is_positive(self, e: Expr) -> bool:
        return bool(self._env.decide(ge0(e.shift(-1))))

    def _follows(self, text: str, names: frozenset[str], dims: Sequence[Expr]) -> bool:
        """Whether a condition follows from "all sizes are at least 2" and the ranges."""
        env = Env()
        scope: dict[str, Any] = {**SCOPE, **_FUNCTIONS}
        for name in sorted(names.union(*[self._dims[e] for e in dims])):
            lo, hi = self._env.range_of(self._env.symbols[name].expr)
            low = None if lo == NINF else int(lo)
            high = None if hi == INF else int(hi)
            scope[name] = SymInt(env.unbacked(source=name, min=low, max=high), env)
        try:
            for e in dims:
                large: Any = eval(source(e, SAME), dict(scope)) >= 2  # our own text
                if type(large) is SymBool:
                    env.assume(large.condition)
        except AnyshapeError:  # the sizes cannot all be 2: nothing is known then
            return False
        ours = _ours(text, scope)
        return ours is not None and env.decide(ours.condition) is True


_FUNCTIONS: Final[dict[str, Any]] = {"max": sym_max, "min": sym_min, "math": math}


def _numbers(env: Env, names: Iterable[str]) -> dict[str, Any]:
    """What the names in a text of torch's mean."""
    return {**_FUNCTIONS, **{name: SymInt(env.symbols[name].expr, env) for name in names}}


def _ours(text: str, scope: dict[str, Any]) -> SymBool | None:
    """A condition of torch's as one of ours; None if our numbers cannot express it."""
    try:
        found = eval(text, dict(scope))  # printed by torch
    except Exception:  # our numbers raise various errors for what they lack
        return None
    return found if type(found) is SymBool else None


def _values(captured: Captured) -> Iterator[Value]:
    """All tensors of a program."""
    graph = captured.graph
    yield from graph.inputs
    for node in graph.nodes:
        for leaf in leaves(node.outs):
            if type(leaf) is Value:
                yield leaf
