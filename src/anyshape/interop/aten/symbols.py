"""`TorchSymbols`: our symbols and expressions as torch's.

Every symbol of the inputs is a backed symbol there, named by the user's name for it, with a hint;
every number that only the run knows is an unbacked one.

What torch knows of a size while it processes a program is not what the program accepts:

- Of a program that serves sizes of 0 or 1, torch takes the sizes to be at least 2, as it does in
  its own exports. Otherwise its questions about them would become guards that refuse these sizes.
- Of a program that does not serve 1, torch knows the declared range alone. Otherwise the asserts in
  the graph that refuse it would be dropped as known.

`ranges` has what the program accepts, but for lower ends of 2, which torch never checks.
"""

from __future__ import annotations

import copy
import math
import re
from typing import TYPE_CHECKING, Any, Final

import sympy
import torch

from anyshape.domain import INF, NINF, Interval
from anyshape.env.fact import DECLARED
from anyshape.errors import UnsupportedError
from anyshape.expr.boolean import EQ, GE
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.interop.arithmetic import compute, interpreter
from anyshape.interop.example import example_hints
from anyshape.interop.hints import derived_symbols
from anyshape.symbolic.numpy_scalar import NumpyInt
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat.exported_program import (
    ConstantSource,
    forget_pending,
    input_source,
    name_source,
    specialize_constants,
)
from anyshape.torch_compat.fake_tensor import DimDynamic, FakeTensorMode, ShapeEnv, int_oo
from anyshape.torch_compat.sympy_expression import (
    as_number,
    bound_new_symbol,
    named_symbol,
    statically_known_true,
)
from anyshape.trace.graph.graph import SYMBOLIC, operand_of

if TYPE_CHECKING:
    from anyshape.env import Obligation
    from anyshape.trace.argument.inputs import Bind
    from anyshape.trace.capture import Captured

_SMALL: Final = 2  # torch takes sizes to be at least this
_WORD: Final = 1 << 63
_SYMBOLIC_MODULES: Final = ("_operator", "torch")  # their functions give symbolic numbers
_SYMBOLIC_FUNCTIONS: Final = (math.ceil, math.floor, math.trunc, round, abs)


class TorchSymbols:
    """The symbols of one program. `numbers` has torch's number for each of our symbols by name."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.env = captured.tracer.env
        self.shape_env = ShapeEnv(specialize_zero_one=False, duck_shape=False)
        self.mode = FakeTensorMode(
            shape_env=self.shape_env, allow_non_fake_inputs=True, export=True
        )
        self.numbers: dict[str, Any] = {}
        self._computed = interpreter(self.numbers.__getitem__, _compute, self._sum)
        self._known: dict[Any, Any] = {}
        self._is_part = False
        self._declared = _declared(captured)
        self.hints = example_hints(captured)
        self._take_inputs()
        specialize_constants(self.shape_env)

    def _take_inputs(self) -> None:
        derived = derived_symbols(self.captured)
        for bind in self.captured.inputs.binds:
            name = bind.name
            if name in derived:
                self.numbers[name] = self._computed(derived[name])
            elif name in self.env.symbols:
                self.numbers[name] = self._integer(bind)
            else:
                self.numbers[name] = self._float(bind)

    def _integer(self, bind: Bind) -> Any:
        symbol = self.env.symbols[bind.name]
        hint = self.hints[bind.name]
        lo, hi = self._range(bind, hint)
        made = self._named(bind, symbol.label, hint, positive=lo >= 1 or None)
        bound_new_symbol(self.shape_env, made, _end(lo), _end(hi))
        source = self._source(bind)
        name_source(self.shape_env, source, symbol.label)
        return self.shape_env.create_symintnode(made, hint=hint, source=source)

    def _range(self, bind: Bind, hint: int) -> Interval:
        """What torch knows of a symbol; see the head of this file."""
        natural = Interval(NINF if bind.dim is None else 0, INF)
        declared = self._declared.get(bind.name, natural)
        lo, hi = declared.intersect(natural) or declared
        if bind.dim is None:
            return Interval(lo, hi)
        served = self.captured.ranges[bind.name].lo
        if served < _SMALL <= hint and hi >= _SMALL:
            return Interval(_SMALL, hi)
        return Interval(0, hi) if lo <= _SMALL else Interval(lo, hi)

    def _float(self, bind: Bind) -> Any:
        hint = self.hints[bind.name]
        made = self._named(bind, self.captured.inputs.leaves[bind.leaf].name, hint, positive=None)
        return self.shape_env.create_symfloatnode(made, hint=hint, source=self._source(bind))

    def _named(self, bind: Bind, label: str, hint: Any, positive: bool | None) -> Any:
        name = re.sub(r"\W+", "_", label).strip("_")
        return named_symbol(
            self.shape_env,
            name,
            lambda: self.shape_env.create_symbol(
                hint,
                self._source(bind),
                DimDynamic.DYNAMIC,
                positive=positive,
                do_not_specialize_zero_one=True,
            ),
        )

    def _source(self, bind: Bind) -> Any:
        if bind.factor != 1 or bind.constant:
            return ConstantSource(bind.name)
        return input_source(bind.leaf, bind.dim)

    def mint(self, name: str, natural: Interval) -> Any:
        """A number that only the run knows. In a part of the program it has its `natural` range:
        the part was traced with an answer to the branch after it, and serves the others, too.
        """
        made: Any
        if name in self.env.symbols:
            made = self.shape_env.create_unbacked_symint()
            known = self.env.range_of(self.env.symbols[name].expr)
            lo, hi = natural if self._is_part else known
            bound_new_symbol(self.shape_env, made.node.expr, _end(lo), _end(hi))
        else:
            made = self.shape_env.create_unbacked_symfloat()
        self.numbers[name] = made
        forget_pending(self.shape_env)
        return made

    def of_segment(self, captured: Captured, given: dict[str, Any]) -> TorchSymbols:
        """The symbols of a part of the program, of which some are `given`."""
        made = copy.copy(self)
        made.captured, made.env, made._known = captured, captured.tracer.env, {}
        made._is_part = True
        inputs = {bind.name for bind in self.captured.inputs.binds}
        made.numbers = {**{n: x for n, x in self.numbers.items() if n in inputs}, **given}
        made._computed = interpreter(made.numbers.__getitem__, _compute, made._sum)
        return made

    def unnamed(self, least: Any, most: Any) -> Any:
        """An integer that only the run knows, for torch."""
        made = self.shape_env.create_unbacked_symint()
        bound_new_symbol(self.shape_env, made.node.expr, _end(least), _end(most))
        forget_pending(self.shape_env)
        return made

    def unnamed_float(self) -> Any:
        """A float that only the run knows, for torch."""
        made = self.shape_env.create_unbacked_symfloat()
        forget_pending(self.shape_env)
        return made

    # ------------------------------------------------------------------ expressions

    def number(self, n: Any) -> Any:
        """A number of ours as torch's, after everything that was learnt."""
        kind = type(n)
        if kind not in SYMBOLIC:
            return n
        e = operand_of(n)
        found = self._known.get(e)
        if found is None:
            final = self.env.simplify(e) if kind is SymInt or kind is NumpyInt else e
            found = self._known[e] = self._computed(final)
        return found

    def condition(self, operand: Any) -> Any:
        """A condition as torch's, as it stands."""
        return self._computed(operand)

    def _sum(self, addends: list[tuple[int, Any]], c: int) -> Any:
        parts = [k * (x.node.expr if hasattr(x, "node") else x) for k, x in addends]
        return as_number(self.shape_env, sympy.Add(*parts, c))

    def ranges(self) -> dict[Any, Any]:
        """The range of every symbol of torch's."""
        found = dict(self.shape_env.var_to_range)
        for bind in self.captured.inputs.sizes:
            n = self.numbers[bind.name]
            e = n.node.expr if hasattr(n, "node") else None
            if e is not None and e.is_Symbol and e in found:
                lo, hi = self.captured.ranges[bind.name]
                low = 0 if bind.dim is not None and lo == _SMALL else _end(lo)
                found[e] = type(found[e])(low, _end(hi))
        return found


def _compute(function: Any, *args: Any) -> Any:
    """A function of numbers. One that torch computes on concrete values only would specialize."""
    if not any(hasattr(x, "node") for x in args):
        return compute(function, *args)
    if function is torch.sym_ite:  # a number or 0: torch's decompositions take no such choice
        return args[1] * torch.sym_ite(args[0], 1, 0)
    if function is math.pow and statically_known_true(args[0] >= 0):
        return args[0] ** args[1]
    if function.__module__ in _SYMBOLIC_MODULES or function in _SYMBOLIC_FUNCTIONS:
        return compute(function, *args)
    raise refuse(
        f"{function.__name__} of a number that varies",
        why="torch has no function for it",
        fix="run it as it is, or keep this number out of the exported function",
    )


def _declared(captured: Captured) -> dict[str, Interval]:
    """The ranges that the spec declares, by the names of the symbols."""
    found: dict[str, Interval] = {}
    for o in captured.guards:
        name_and_range = _bound(o) if o.origin == DECLARED else None
        if name_and_range is not None:
            name, new = name_and_range
            found[name] = found.get(name, new).intersect(new) or new
    return found


def _bound(o: Obligation) -> tuple[str, Interval] | None:
    """The symbol that a condition bounds, if it is about nothing else, and its range."""
    condition = o.condition
    if condition.op not in (GE, EQ) or condition.expr.width != 1:
        return None
    ((atom, m),) = terms(condition.expr).items()
    if atom.op is not SYMBOL or condition.op == EQ:
        return None
    c = condition.expr.c
    return atom.name, Interval(-(c // m), INF) if m > 0 else Interval(NINF, c // -m)


def _end(bound: Any) -> Any:
    """An end of a range as torch's; those of all integers of 64 bits are none."""
    if bound <= -_WORD or bound == NINF:
        return -int_oo
    return int_oo if bound >= _WORD - 1 or bound == INF else int(bound)


def refuse(what: str, node: Any = None, why: str = "", fix: str = "") -> UnsupportedError:
    """The error for what a program of torch cannot say."""
    place = f" at {node.site}" if node is not None and node.site is not None else ""
    return UnsupportedError(
        f"no program of torch for {what}{place}", why=why, fix=fix, code="AS404"
    )
