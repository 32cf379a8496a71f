"""Conditions as a problem for z3, the only place that knows z3.

Everything is an integer or a truth value of z3, exact with Python's meaning:

    x // d         z3's `div` rounds down for d > 0, the only constant divisors there are
    x // y         a new number q with y*q <= x < y*q + y for y > 0, y*q + y < x <= y*q for y < 0
    max, choice    if-then-else
    product        multiplied out, up to the exponent `EXACT_EXPONENT`

Bit operations, symbolic and large powers, roundings and comparisons of reals become unknowns: what
is proved without their meaning is proved. A division in the problem says that its divisor is not 0,
because what is undefined never reaches a condition that a program asks.

Each `Problem` has a z3 context of its own and a limit on z3's count of steps, not on time, so the
same problem gets the same answer everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.domain import INF, NINF
from anyshape.errors import UnsupportedError
from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import CHOICE, FLOORDIV, GROUP, MAXIMUM, PRODUCT
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

try:
    import z3
except ImportError as error:
    raise UnsupportedError(
        "z3 is not installed", why="config.solver is 'z3'", fix="pip install anyshape[z3]"
    ) from error

if TYPE_CHECKING:
    from anyshape.domain import Bound, Congruence
    from anyshape.expr.node import Operand
    from anyshape.expr.real import Real

EXACT_EXPONENT: Final = 8


class Problem:
    """Conditions that hold together."""

    __slots__ = ("_context", "_given", "_made", "_symbols", "example")

    def __init__(self) -> None:
        self._context = z3.Context()
        self._given: list[Any] = []
        self._made: dict[object, Any] = {}
        self._symbols: dict[str, Any] = {}
        self.example: dict[str, int] = {}

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
        """Whether `b` can have the given truth, next to all that was added; None when z3 gives up.

        After True, `example` has values of the symbols for which that is so.
        """
        question = self._term(b)
        solver = z3.Solver(ctx=self._context)
        solver.set("rlimit", limit)
        solver.add(*self._given, question if truth else z3.Not(question))
        answer = solver.check()
        if answer == z3.sat:
            model = solver.model()
            self.example = {
                name: model.eval(term, model_completion=True).as_long()
                for name, term in self._symbols.items()
            }
        return None if answer == z3.unknown else answer == z3.sat

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
        number = z3.IntVal(operand.c, self._context)
        return z3.Sum([number, *(k * self._made[atom] for atom, k in terms(operand).items())])

    def _node(self, node: Atom | Bool | Real) -> Any:
        if type(node) is Atom:
            return self._atom(node)
        if type(node) is Bool:
            return self._condition(node)
        return None  # a real is seen only through an atom or a condition, both unknowns

    def _atom(self, atom: Atom) -> Any:
        op = atom.op
        if op is MAXIMUM:
            result = z3.IntVal(0, self._context)
            for e in atom.args:
                term = self._operand(e)
                result = z3.If(term > result, term, result)
            return result
        if op is PRODUCT and max(atom.data) <= EXACT_EXPONENT:
            result = z3.IntVal(1, self._context)
            for factor, exponent in zip(atom.args, atom.data, strict=True):
                for _ in range(exponent):
                    result = result * self._operand(factor)
            return result
        if op is CHOICE:
            condition, e = atom.args
            return z3.If(self._operand(condition), self._operand(e), 0)
        if op is GROUP:
            return self._operand(atom.args[0])
        if op is FLOORDIV:
            return self._division(atom)
        unknown = z3.Int(atom.name or f"?{atom.index}", self._context)
        if atom.name:
            self._symbols[atom.name] = unknown
        return unknown

    def _division(self, atom: Atom) -> Any:
        x, y = atom.args
        dividend, divisor = self._operand(x), self._operand(y)
        if y.is_const:  # type: ignore[union-attr]  # the operands of a division are expressions
            return dividend / divisor
        q = z3.Int(f"?{atom.index}", self._context)
        product = divisor * q
        self._given += [
            divisor != 0,
            z3.Implies(divisor > 0, z3.And(product <= dividend, dividend < product + divisor)),
            z3.Implies(divisor < 0, z3.And(product >= dividend, dividend > product + divisor)),
        ]
        return q

    def _condition(self, b: Bool) -> Any:
        op = b.op
        if op in (boolean.TRUE, boolean.FALSE):
            return z3.BoolVal(op == boolean.TRUE, self._context)
        if op == boolean.REAL:
            return z3.Bool(f"?{b.index}", self._context)
        parts = [self._operand(part) for part in b.args]
        if op == boolean.GE:
            return parts[0] >= 0
        if op == boolean.NOT:
            return z3.Not(parts[0])
        if op in (boolean.EQ, boolean.NE):
            return parts[0] == 0 if op == boolean.EQ else parts[0] != 0
        return z3.And(parts) if op == boolean.AND else z3.Or(parts)
