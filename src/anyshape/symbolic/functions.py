"""The questions a program may ask about symbolic numbers, and the functions that ask nothing.

| call                       | proved    | backed, open      | unbacked, open         |
|----------------------------|-----------|-------------------|------------------------|
| `bool(c)`                  | the value | hint, and a guard | DataDependentError     |
| `int(n)`                   | the value | hint, and a guard | DataDependentError     |
| `guard_or_false(c)`        | the value | hint, and a guard | False, nothing kept    |
| `guard_or_true(c)`         | the value | hint, and a guard | True, nothing kept     |
| `statically_known_true(c)` | the value | False             | False                  |
| `check(c)`                 | or raises | guard, or raises  | a fact and an assert   |
| `hint(n, fallback)`        | the value | hint, no guard    | its hint, or fallback  |

Plain Python values pass through all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import ArgumentError, RuntimeAssertError, UnsupportedError
from anyshape.expr.boolean import conj, disj
from anyshape.expr.constructor import choice, extremum
from anyshape.expr.node import Expr
from anyshape.expr.table.op_real import REAL_MAX, REAL_MIN
from anyshape.public_call import public
from anyshape.refusal import refused
from anyshape.symbolic.definedness import applied
from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt
from anyshape.symbolic.operand import expr_of, is_numpy, node_of, number, to_real
from anyshape.symbolic.sym_bool import SymBool, condition_of
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.env import Env
    from anyshape.expr.table.row import Op

    Truth = bool | SymBool
    Number = int | SymInt


def _condition(value: object, function: str) -> Any:
    """`value` itself when it is a bool or a SymBool; an error otherwise."""
    if type(value) is SymBool or isinstance(value, bool):
        return value
    raise ArgumentError(
        f"{function} takes a bool or a SymBool, not {type(value).__name__}",
        fix="compare first, for example n != 0",
    )


def guard_or_false(condition: Truth) -> bool:
    """The truth of the condition; False where only the run could tell."""
    return _guard_or(_condition(condition, "guard_or_false"), False)


def guard_or_true(condition: Truth) -> bool:
    """The truth of the condition; True where only the run could tell."""
    return _guard_or(_condition(condition, "guard_or_true"), True)


def _guard_or(condition: Any, fallback: bool) -> bool:
    if type(condition) is not SymBool:
        return bool(condition)
    return condition.env.guard_or(condition.condition, fallback)


def statically_known_true(condition: Truth) -> bool:
    """Whether the condition is proved; records nothing."""
    condition = _condition(condition, "statically_known_true")
    if type(condition) is SymBool:
        return condition.known() is True
    return bool(condition)


def statically_known_false(condition: Truth) -> bool:
    """Whether the opposite of the condition is proved; records nothing."""
    condition = _condition(condition, "statically_known_false")
    if type(condition) is SymBool:
        return condition.known() is False
    return not condition


@public
def check(condition: Truth, message: str | Callable[[], str] | None = None) -> None:
    """State that the condition holds: a fact from here on, an error at run time when it fails."""
    if message is None and type(condition) is SymBool:  # most checks
        condition.env.assume(condition.condition)
        return
    condition = _condition(condition, "check")
    text = message() if callable(message) else message
    if text is not None and not isinstance(text, str):
        raise ArgumentError(f"the message of check is text, not {type(text).__name__}")
    if type(condition) is SymBool:
        condition.env.assume(condition.condition, text)
    elif not condition:
        raise RuntimeAssertError(text or "a checked condition does not hold")


@public
def hint(value: Any, fallback: Any = None) -> Any:
    """A likely value of a symbolic number, for heuristics: never guarded, never a proof."""
    kind = type(value)
    if kind is NumpyInt or kind is NumpyBool:
        return hint(value.item(), fallback)
    if kind is SymInt:
        found = value.env.hint_of(value.expr)
    elif kind is SymFloat:
        found = value.value.hint
    elif kind is SymBool:
        found = value.env.hint_for_guard(value.condition)
    else:
        return value
    return fallback if found is None else found


# ---------------------------------------------------------------------- combining


def _env_of(values: Iterable[object]) -> Env | None:
    for value in values:
        if type(value) in (SymInt, SymBool, SymFloat):
            env: Env = value.env  # type: ignore[attr-defined]
            return env
    return None


def _need_numbers(name: str, operands: list[Any]) -> None:
    for operand in operands:
        if not isinstance(operand, int | float | SymBool) and not is_numpy(operand):
            raise ArgumentError(
                f"{name} takes numbers, not {type(operand).__name__}",
                fix="give it ints, floats, sizes such as x.shape[0], or one list of them",
            )


def _flat(args: tuple[Any, ...]) -> list[Any]:
    """The operands of a call that takes them one by one or as one list."""
    if len(args) == 1 and isinstance(args[0], list | tuple):
        return list(args[0])
    return list(args)


def _extremum(args: tuple[Any, ...], name: str, plain: Any, pick: Any, op: Op) -> Any:
    operands = _flat(args)
    if not operands:
        raise ArgumentError(f"{name} needs at least one operand")
    env = _env_of(operands)
    if env is None:
        _need_numbers(name, operands)
        return plain(operands)
    nodes = [node_of(o, env) for o in operands]
    if None in nodes:
        odd = next(o for o, e in zip(operands, nodes, strict=True) if e is None)
        raise refused(
            UnsupportedError,
            f"{name} of a symbolic number and {type(odd).__name__}",
            fix="convert the operands to numbers first",
        )
    if all(type(x) is Expr for x in nodes):
        return SymInt(pick(nodes), env)
    reals = [to_real(x, env) for x in nodes if x is not None]
    return number(reals[0] if len(reals) == 1 else applied(env, op, *reals), env)


@public
def sym_max(*args: Any) -> Any:
    """The largest operand, without asking which one it is; a float if one of them is."""
    return _extremum(args, "sym_max", max, extremum.maximum, REAL_MAX)


@public
def sym_min(*args: Any) -> Any:
    """The smallest operand, without asking which one it is; a float if one of them is."""
    return _extremum(args, "sym_min", min, extremum.minimum, REAL_MIN)


def largest(operands: list[Any]) -> Any:
    """Python's `max` of numbers: one of the operands, which keeps its class."""
    return _one_of(operands, max, sym_max)


def smallest(operands: list[Any]) -> Any:
    """Python's `min` of numbers: one of the operands, which keeps its class."""
    return _one_of(operands, min, sym_min)


_ALIKE: Final = ({int, SymInt}, {float, SymFloat})


def _one_of(operands: list[Any], plain: Any, symbolic: Any) -> Any:
    """The extremum without asking which one it is, if all are of one class; else that is asked,
    because the class of the result, and the dtypes that follow from it, depend on it.
    """
    kinds = {type(x) for x in operands}
    is_alike = any(kinds <= alike for alike in _ALIKE) and not any(map(is_numpy, operands))
    return symbolic(operands) if is_alike and len(operands) > 1 else plain(operands)


@public
def sym_sum(*args: Any) -> Any:
    """The sum of the operands, one by one or as one list; 0 for none."""
    total: Any = 0
    operands = _flat(args)
    _need_numbers("sym_sum", operands)
    for operand in operands:
        total = total + operand
    return total


@public
def sym_not(condition: Truth) -> Any:
    """The opposite, without asking."""
    condition = _condition(condition, "sym_not")
    return ~condition if type(condition) is SymBool else not condition


@public
def sym_and(*args: Any) -> Any:
    """Whether all operands hold, without asking."""
    return _junction(args, "sym_and", all, conj)


@public
def sym_or(*args: Any) -> Any:
    """Whether some operand holds, without asking."""
    return _junction(args, "sym_or", any, disj)


def _junction(args: tuple[Any, ...], name: str, plain: Any, junction: Any) -> Any:
    operands = [_condition(o, name) for o in _flat(args)]
    env = _env_of(operands)
    if env is None:
        return plain(operands)
    return SymBool(junction(env.pool, [condition_of(o, env) for o in operands]), env)


@public
def sym_ite(condition: Truth, then: Any, otherwise: Any) -> Any:
    """`then` where the condition holds, else `otherwise`, without asking."""
    condition = _condition(condition, "sym_ite")
    if type(condition) is not SymBool:
        return then if condition else otherwise
    env = condition.env
    if _is_truth(then) and _is_truth(otherwise):
        return (condition & then) | (~condition & otherwise)
    a, b = expr_of(then, env), expr_of(otherwise, env)
    if a is None or b is None:
        raise refused(
            UnsupportedError,
            f"sym_ite of {type(then).__name__} and {type(otherwise).__name__}",
            fix="give two integers or two conditions",
        )
    return SymInt(choice.choose(condition.condition, a, b), env)


def _is_truth(value: object) -> bool:
    return type(value) is SymBool or isinstance(value, bool)
