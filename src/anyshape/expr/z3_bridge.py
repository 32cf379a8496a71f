"""Conditions as a problem for z3, the only place that knows z3.

Everything is an integer or a truth value of z3; the rows of the ops say which term an op is, exact
with Python's meaning. What has no such row (bit operations, symbolic and large powers, roundings,
comparisons of reals) becomes an unknown: what is proved without its meaning is proved. A division
requires that its divisor is not 0, because what is undefined never reaches a condition that a
program asks.

Each `Problem` has a z3 context of its own and a limit on z3's count of steps, not on time, so the
same problem gets the same answer everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.domain import INF, NINF
from anyshape.errors import UnsupportedError
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.table.row import INTEGER
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

try:
    import z3
except ImportError as error:
    raise UnsupportedError(
        "z3 is not installed", why="config.solver is 'z3'", fix="pip install anyshape[z3]"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.domain import Bound, Congruence
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Atom, Operand


class Builder:
    """What the rows of ops make terms with, next to the operators of the terms themselves."""

    __slots__ = ("_context", "_count", "required")

    If = staticmethod(z3.If)
    And = staticmethod(z3.And)
    Or = staticmethod(z3.Or)
    Not = staticmethod(z3.Not)
    Implies = staticmethod(z3.Implies)
    is_number = staticmethod(z3.is_int_value)

    def __init__(self, context: Any) -> None:
        self._context = context
        self._count = 0
        self.required: list[Any] = []

    def require(self, term: Any) -> None:
        """Add a condition that holds wherever the term that is being made has a value."""
        self.required.append(term)

    def number(self, value: int) -> Any:
        """The integer `value`."""
        return z3.IntVal(value, self._context)

    def truth(self, value: bool) -> Any:
        """The truth `value`."""
        return z3.BoolVal(value, self._context)

    def unknown_integer(self) -> Any:
        """A new integer of which nothing is known."""
        self._count += 1
        return z3.Int(f"?{self._count}", self._context)

    def unknown_truth(self) -> Any:
        """A new truth of which nothing is known."""
        self._count += 1
        return z3.Bool(f"?{self._count}", self._context)

    def symbol(self, name: str) -> Any:
        """The integer of that name."""
        return z3.Int(name, self._context)


class Problem:
    """Conditions that hold together."""

    __slots__ = ("_build", "_context", "_given", "_made")

    def __init__(self) -> None:
        self._context = z3.Context()
        self._build = Builder(self._context)
        self._given: list[Any] = self._build.required
        self._made: dict[object, Any] = {}

    # ------------------------------------------------------------------ adding

    def add(self, b: Bool) -> None:
        """`b` holds."""
        self._given.append(self._term(b))

    def add_range(self, e: Expr, lo: Bound, hi: Bound) -> None:
        """`lo <= e <= hi`."""
        term = self._term(e)
        if lo > NINF:
            self._given.append(term >= lo)
        if hi < INF:
            self._given.append(term <= hi)

    def add_hole(self, e: Expr, value: int) -> None:
        """`e != value`."""
        self._given.append(self._term(e) != value)

    def add_equality(self, e: Expr, other: Expr) -> None:
        """`e == other`."""
        self._given.append(self._term(e) == self._term(other))

    def add_congruence(self, e: Expr, congruence: Congruence) -> None:
        """`e` is a member of `congruence`."""
        modulus, residue = congruence
        term = self._term(e)
        self._given.append(term % modulus == residue if modulus else term == residue)

    # ------------------------------------------------------------------ asking

    def satisfiable(self, b: Bool, truth: bool, limit: int) -> bool | None:
        """Whether `b` can have the given truth, given all that was added; None if z3 gives up."""
        question = self._term(b)
        solver = z3.Solver(ctx=self._context)
        solver.set("rlimit", limit)
        solver.add(*self._given, question if truth else z3.Not(question))
        answer = solver.check()
        return None if answer == z3.unknown else answer == z3.sat

    def solution(self, names: Sequence[str], limit: int) -> dict[str, int] | bool | None:
        """Values of the symbols for which all that was added holds; False if there are none, None
        if z3 gives up. Where something became an unknown, it may not hold for the values.
        """
        solver = z3.Solver(ctx=self._context)
        solver.set("rlimit", limit)
        solver.add(*self._given)
        answer = solver.check()
        if answer != z3.sat:
            return None if answer == z3.unknown else False
        model = solver.model()
        terms_ = [model.eval(self._build.symbol(name), model_completion=True) for name in names]
        return {name: term.as_long() for name, term in zip(names, terms_, strict=True)}

    # ------------------------------------------------------------------ translating

    def _term(self, operand: Operand | Atom) -> Any:
        """The z3 term of an operand; adds the definitions that it needs."""
        made = self._made
        if operand not in made:
            for node in nodes_below((operand,)):
                if node not in made:
                    made[node] = self._node(node)
        return self._operand(operand)

    def _operand(self, operand: Operand | Atom) -> Any:
        if type(operand) is not Expr:
            return self._made[operand]
        number = self._build.number(operand.c)
        of_it = terms(operand)
        if not of_it:
            return number
        return z3.Sum([number, *(k * self._made[atom] for atom, k in of_it.items())])

    def _node(self, node: Any) -> Any:
        """The term of a node; None for a real, which is seen only through what takes it."""
        if type(node) is Real:
            return None
        op = node.op
        if op is SYMBOL:
            return self._build.symbol(node.name)
        term = None
        if op.z3 is not None:
            term = op.z3(self._build, *[self._operand(a) for a in node.args], *node.data)
        if term is None:
            unknown = op.gives == INTEGER
            term = self._build.unknown_integer() if unknown else self._build.unknown_truth()
        return term
