"""Guards and runtime asserts as torch writes them: a comparison and `aten._assert_scalar`."""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import sympy

from anyshape.env.fact import DECLARED
from anyshape.env.obligation import in_program_order
from anyshape.expr.boolean import EQ, GE, NE
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import names_of
from anyshape.torch_compat.aten_op import ASSERT_SCALAR
from anyshape.torch_compat.sympy_expression import add_guard, statically_known_true

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.env import Obligation
    from anyshape.expr.boolean import Bool
    from anyshape.interop.aten.writer import AtenWriter

_RELATIONS: Final[dict[Any, Any]] = {
    EQ: (sympy.Eq, operator.eq),
    GE: (sympy.Ge, operator.ge),
    NE: (sympy.Ne, operator.ne),
}


class Asserts:
    """The asserts of one program, each written as soon as its symbols are known and the asserts
    before it are written, so that the first check of the program that fails is the one reported.
    """

    def __init__(
        self, writer: AtenWriter, asserts: Sequence[Obligation], bound: Iterable[str]
    ) -> None:
        self._writer = writer
        self._numbers = writer.symbols.numbers
        self._bound = set(bound)
        listed = in_program_order(asserts)
        self._ordered = deque([o for o in listed if o.recorded])
        self._alone = [o for o in listed if not o.recorded]

    def inner(
        self, writer: AtenWriter, asserts: Sequence[Obligation], names: Iterable[str]
    ) -> Asserts:
        """The asserts of a function that a call gets, whose parameters have these names."""
        return Asserts(writer, asserts, {*self._bound, *names})

    def write_guards(self, guards: list[Obligation]) -> None:
        """Write what the inputs must be beyond what torch knows and checks."""
        symbols = self._writer.symbols
        for o in guards:
            condition = symbols.condition(o.condition)
            if condition is True or (o.origin == DECLARED and self._is_checked(condition)):
                continue
            self._write(o.condition, o.message or f"a guard fails: {o}", guard=True)

    def _is_checked(self, condition: Any) -> bool:
        """Whether torch checks a condition: it is about a range, and not that sizes are not 0."""
        symbols = self._writer.symbols
        names = condition.node.expr.free_symbols
        lows = [symbols.ranges()[s].lower for s in names]
        return all(lo not in (1, 2) for lo in lows) and statically_known_true(condition)

    def bound(self, *names: str) -> None:
        """Write the asserts that are due, now that these symbols have values."""
        self._bound.update(names)
        due = [o for o in self._alone if self._is_due(o)]
        self._alone = [o for o in self._alone if o not in due] if due else self._alone
        while self._ordered and self._is_due(self._ordered[0]):
            due.append(self._ordered.popleft())
        for o in due:
            self._write(o.condition, o.message or f"{o.text} does not hold")

    def _is_due(self, o: Obligation) -> bool:
        return all(name in self._bound for name in names_of(o.condition))

    def write(self, condition: Any, message: str) -> None:
        """Write an assert of a number of torch's."""
        writer = self._writer
        node = condition if isinstance(condition, bool) else writer.numbers.of(condition)
        if node is not True:
            writer.emit(ASSERT_SCALAR, (node, message), None)

    def _write(self, condition: Bool, message: str, *, guard: bool = False) -> None:
        found, numbers = self._comparison(condition), self._writer.numbers
        if found is None:
            number = self._writer.symbols.condition(condition)
            self.write(number, message)
            e = number.node.expr if hasattr(number, "node") else None
        else:
            func, left, right, e = found
            node = numbers.relation(func, left, right, e)
            self._writer.emit(ASSERT_SCALAR, (node, message), None)
        if guard and e is not None:
            add_guard(self._writer.symbols.shape_env, e)

    def _comparison(self, b: Bool) -> tuple[Any, Any, Any, Any] | None:
        """A relation of two sums of symbols, without arithmetic of torch's numbers: the function,
        both sides, and all of it, which is not simplified. None if it is another condition.
        """
        if b.op not in _RELATIONS:
            return None
        left: list[Any] = []
        right: list[Any] = []
        for atom, k in terms(b.expr).items():
            n: Any = self._numbers.get(atom.name) if atom.op is SYMBOL else None
            e = n.node.expr if hasattr(n, "node") else None
            if e is None or not e.is_Symbol:
                return None
            (left if k > 0 else right).append(abs(k) * e)
        c = b.expr.c
        left += [sympy.Integer(c)] if c > 0 else []
        right += [sympy.Integer(-c)] if c < 0 else []
        kind, func = _RELATIONS[b.op]
        sides = sympy.Add(*left), sympy.Add(*right)
        if sides[0].is_number:  # 3 >= x is x <= 3
            sides = sides[::-1]
            kind, func = (sympy.Le, operator.le) if b.op == GE else (kind, func)
        return func, *sides, kind(*sides, evaluate=False)
