"""`NumberNodes`: expressions of torch's symbols as nodes of an fx graph, each made once.

The functions are those that a program of torch can save: sums are chains of `operator.add`, and a
floor and a rounded number are truncations that are corrected.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import sympy
import torch

from anyshape.errors import UnsupportedError
from anyshape.torch_compat.pre_dispatch import SIZE
from anyshape.torch_compat.sympy_expression import (
    BINARY,
    CEIL,
    CHAINS,
    FLOOR,
    ROUND,
    TO_FLOAT,
    TRUNC,
    UNARY,
    WHERE,
    as_number,
    partial_sum,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import fx

    from anyshape.interop.aten.symbols import TorchSymbols

    Emit = Callable[[Any, tuple[Any, ...], Any], fx.Node]

_NOT: Final[Any] = torch.ops.aten.logical_not.default


class NumberNodes:
    """The nodes of one graph. `places` has the node and the dimension that show a symbol; `missing`
    gives the node of a symbol that nothing shows.
    """

    def __init__(self, symbols: TorchSymbols, emit: Emit, missing: Callable[[Any], Any]) -> None:
        self._shape_env = symbols.shape_env
        self._emit = emit
        self._missing = missing
        self.places: dict[Any, tuple[fx.Node, int]] = {}
        self.made: dict[Any, Any] = {}
        self.tests: dict[Any, fx.Node] = {}  # tensors of a truth value, by the symbols that read it

    def of(self, number: Any) -> Any:
        """The node that computes a number of torch's; the number itself if it is plain."""
        return self.of_expression(number.node.expr) if hasattr(number, "node") else number

    def of_expression(self, e: Any) -> Any:
        """The node that computes an expression."""
        found = self.made.get(e)
        if found is None:
            found = self._make(e)
            self.made[e] = found
        return found

    def test(self, answer: Any) -> Any:
        """The node of a condition that a call branches on: a tensor, where the condition is that a
        truth value was read off one.
        """
        e = answer.node.expr
        if type(e) in (sympy.Eq, sympy.Ne):
            symbol, value = e.args if e.args[0].is_Symbol else reversed(e.args)
            if value == 1 and symbol in self.tests:
                tensor = self.tests[symbol]
                is_equal = type(e) is sympy.Eq
                return tensor if is_equal else self._emit(_NOT, (tensor,), tensor.meta["val"])
        return self.of_expression(e)

    def forget(self, count: int) -> None:
        """Forget all nodes but the first `count`."""
        while len(self.made) > count:
            self.made.popitem()

    def relation(self, func: Any, left: Any, right: Any, val: Any) -> Any:
        """A comparison of two expressions, which is not simplified."""
        return self.call(func, (self.of_expression(left), self.of_expression(right)), val)

    def call(self, func: Any, args: tuple[Any, ...], e: Any) -> Any:
        """A call whose value is an expression."""
        return self._emit(func, args, as_number(self._shape_env, e))

    def _make(self, e: Any) -> Any:
        if e in (sympy.true, sympy.false):
            return bool(e)
        if e.is_number:
            return int(e) if e.is_integer else float(e)
        if e.is_Symbol:
            place = self.places.get(e)
            return self._missing(e) if place is None else self.call(SIZE, place, e)
        kind, args = type(e), e.args
        if kind is sympy.Add:
            return self._sum(e)
        if kind in CHAINS:
            return self._chain(e)
        if kind is sympy.Pow and args[1] == sympy.Rational(1, 2):
            return self.call(torch.sym_sqrt, (self.of_expression(args[0]),), e)
        if kind in BINARY:
            return self.call(BINARY[kind], tuple(map(self.of_expression, args)), e)
        if kind in UNARY:
            return self.call(UNARY[kind], (self.of_expression(args[0]),), e)
        return self._special(e)

    def _sum(self, e: Any) -> Any:
        """Positive terms first, so that the rest is subtracted."""
        args = sorted(e.args, key=lambda a: a.could_extract_minus_sign())
        node, done = self.of_expression(args[0]), [args[0]]
        for a in args[1:]:
            done.append(a)
            total = partial_sum(done)
            if a.could_extract_minus_sign():
                node = self.call(operator.sub, (node, self.of_expression(-a)), total)
            else:
                node = self.call(operator.add, (node, self.of_expression(a)), total)
        return node

    def _chain(self, e: Any) -> Any:
        kind, args = type(e), e.args
        node = self.of_expression(args[0])
        for i, a in enumerate(args[1:], 2):
            done = e if i == len(args) else kind(*args[:i])
            node = self.call(CHAINS[kind], (node, self.of_expression(a)), done)
        return node

    def _special(self, e: Any) -> Any:
        kind, args = type(e), e.args
        if kind in (FLOOR, sympy.floor):
            return self._floor(args[0], e)
        if kind in (CEIL, sympy.ceiling):
            return self.call(operator.neg, (self._floor(-args[0], FLOOR(-args[0])),), e)
        if kind is ROUND:
            return self._round(args[0], e)
        if kind is sympy.Abs:
            node = self.of_expression(args[0])
            opposite = self.call(operator.neg, (node,), -args[0])
            return self.call(torch.sym_max, (node, opposite), e)
        if kind in (WHERE, sympy.Piecewise):
            test, then, other = args if kind is WHERE else _piecewise(e)
            parts = tuple(map(self.of_expression, (test, then, other)))
            return self.call(torch.sym_ite, parts, e)
        raise _no_function(e)

    def _floor(self, x: Any, e: Any) -> Any:
        """The truncated number, less 1 where it is above."""
        node = self.of_expression(x)
        cut = self.call(torch.sym_int, (node,), TRUNC(x))
        is_above = self.call(operator.lt, (node, cut), sympy.Lt(x, TRUNC(x)))
        less = self.call(operator.sub, (cut, 1), TRUNC(x) - 1)
        return self.call(torch.sym_ite, (is_above, less, cut), e)

    def _round(self, x: Any, e: Any) -> Any:
        """The truncated number, or the next one away from zero: where what is cut off is more than
        half, or half and the truncated number is odd.
        """
        cut = TRUNC(x)
        rest = x - TO_FLOAT(cut)
        whole = self.call(torch.sym_int, (self.of_expression(x),), cut)
        as_float = self.call(torch.sym_float, (whole,), TO_FLOAT(cut))
        left = self.call(operator.sub, (self.of_expression(x), as_float), rest)
        parity = self.call(operator.mod, (whole, 2), sympy.Mod(cut, 2))
        is_odd = self.call(operator.eq, (parity, 1), sympy.Eq(sympy.Mod(cut, 2), 1))
        found, val = whole, cut
        for step, half in ((1, 0.5), (-1, -0.5)):
            beyond, at = (sympy.Gt, sympy.Eq) if step > 0 else (sympy.Lt, sympy.Eq)
            compare = operator.gt if step > 0 else operator.lt
            is_beyond = self.call(compare, (left, half), beyond(rest, half))
            is_half = self.call(operator.eq, (left, half), at(rest, half))
            ties = sympy.And(sympy.Eq(rest, half), sympy.Eq(sympy.Mod(cut, 2), 1))
            tie = self.call(operator.and_, (is_half, is_odd), ties)
            either = sympy.Or(beyond(rest, half), ties)
            moves = self.call(operator.or_, (is_beyond, tie), either)
            moved = self.call(operator.add, (whole, step), cut + step)
            val = e if step < 0 else WHERE(either, cut + step, cut)
            found = self.call(torch.sym_ite, (moves, moved, found), val)
        return found


def _no_function(e: Any) -> UnsupportedError:
    return UnsupportedError(
        f"the program computes {e}, for which torch has no function",
        fix="run it as it is, or keep this number out of the exported function",
        code="AS404",
    )


def _piecewise(e: Any) -> tuple[Any, Any, Any]:
    (then, test), (other, last) = e.args
    if last != sympy.true:
        raise _no_function(e)
    return test, then, other
