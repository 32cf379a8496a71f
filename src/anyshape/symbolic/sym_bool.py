"""`SymBool`: a condition whose truth may not be known while tracing.

`bool(b)` asks the environment: proved, or decided by the hint and guarded, or an error. `&`, `|`,
`^`, `~` and `==`, like `sym_and`, `sym_or` and `sym_not`, combine without asking. As a number it is
0 or 1, which asks.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.env.site import is_asked_by_user
from anyshape.errors import NoHashError
from anyshape.expr.boolean import conj, constant, disj, ge0, negate
from anyshape.expr.text.show import show
from anyshape.refusal import refused
from anyshape.symbolic.format import layout_of
from anyshape.symbolic.missing_methods import refuse_inherited
from anyshape.symbolic.operand import register, same_env
from anyshape.symbolic.torch_calls import ConditionNode, TorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Bool, Expr


class SymBool(torch.SymBool):
    """A symbolic truth value; made by comparing symbolic numbers."""

    env: Env
    made: Bool | None
    pending: tuple[Expr, int]

    def __init__(self, condition: Bool, env: Env) -> None:
        self.made = condition
        self.env = env

    @property
    def condition(self) -> Bool:
        """The condition; a comparison with a constant (`pending`) is made on first use."""
        made = self.made
        if made is None:
            e, bound = self.pending
            self.made = made = ge0(e.shift(-bound))
        return made

    def known(self) -> bool | None:
        """The answer of a proof; a comparison that its range decides needs no condition."""
        if self.made is None:
            return self.env.at_least(*self.pending)
        return self.env.decide(self.made)

    __torch_function__ = TorchFunction()

    @property
    def node(self) -> ConditionNode:
        """What torch's own checks ask."""
        return ConditionNode(self.condition, self.env)

    def __bool__(self) -> bool:
        answer = self.known()
        return self.env.guard(self.condition) if answer is None else answer

    def __and__(self, other: Any) -> Any:
        return self._join(other, conj, operator.and_)

    def __or__(self, other: Any) -> Any:
        return self._join(other, disj, operator.or_)

    def __xor__(self, other: Any) -> Any:
        if type(other) is int:
            return int(self) ^ other
        return self.__ne__(other)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def _join(self, other: Any, junction: Any, plain: Callable[[int, int], int]) -> Any:
        condition = condition_of(other, self.env)
        if condition is not None:
            return SymBool(junction(self.env.pool, (self.condition, condition)), self.env)
        return plain(int(self), other) if type(other) is int else NotImplemented

    def __invert__(self) -> SymBool:
        return SymBool(negate(self.condition), self.env)

    def __eq__(self, other: object) -> Any:
        if type(other) in (int, float):
            if other not in (0, 1):
                return SymBool(constant(self.env.pool, False), self.env)
            other = bool(other)
        condition = condition_of(other, self.env)
        if condition is None:
            return NotImplemented
        mine = self.condition
        pool = self.env.pool
        both = conj(pool, (mine, condition))
        neither = conj(pool, (negate(mine), negate(condition)))
        return SymBool(disj(pool, (both, neither)), self.env)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __hash__(self) -> int:
        if self.env.asker.has_hashes:
            return hash(bool(self))
        raise refused(NoHashError, f"a symbolic condition has no hash: {self}", fix="use bool(b)")

    def __int__(self) -> int:
        return int(bool(self))

    __index__ = __int__

    def __float__(self) -> float:
        return float(bool(self))

    def __repr__(self) -> str:
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return repr(bool(self))
        text = repr(self.condition)
        self.env.asker.shown.add(text)
        return text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return format(bool(self), spec)
        text = show(self.condition)
        self.env.asker.shown.add(text)
        return format(text, layout_of(spec))

    def __copy__(self) -> SymBool:
        return self

    def __deepcopy__(self, memo: object) -> SymBool:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a symbolic condition cannot be pickled; it belongs to one environment")


def _with_number(apply: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflection that take the truth value as 0 or 1, which asks for it."""
    return lambda b, *other: apply(int(b), *other), lambda b, other: apply(other, int(b))


_ARITHMETIC: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift")
_OTHERS: Final = ("lt", "le", "gt", "ge", "neg", "pos", "abs")

for _name in (*_ARITHMETIC, *_OTHERS, "divmod"):
    _direct, _reflected = _with_number(getattr(operator, _name, divmod))
    setattr(SymBool, f"__{_name}__", _direct)
    if _name not in _OTHERS:
        setattr(SymBool, f"__r{_name}__", _reflected)
refuse_inherited(SymBool)


def condition_of(value: object, env: Env) -> Bool | None:
    """The condition behind a `SymBool` or a `bool`; None for anything else."""
    kind = type(value)
    if kind is SymBool:
        same_env(env, value.env)  # type: ignore[attr-defined]
        return value.condition  # type: ignore[attr-defined, no-any-return]
    return constant(env.pool, value) if isinstance(value, bool) else None


register(SymBool, lambda b: b.env.pool.const(int(b)))
