"""The expression behind an operand, and the symbolic number around an expression.

`SymInt`, `SymFloat` and `SymBool` make each other, so each announces itself here with `register`;
arithmetic on mixed operands needs no other link between the three.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import ConstraintError
from anyshape.expr.node import Expr
from anyshape.expr.real import FLOAT, Real, real_const
from anyshape.symbolic.definedness import applied

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env

_NODE_OF: Final[dict[type, Callable[[Any], Any]]] = {}
_NUMBER_OF: Final[dict[type, Callable[[Any, Env], Any]]] = {}


def register(
    kind: type, node_of: Callable[[Any], Any], made_of: type | None = None, make: Any = None
) -> None:
    """Announce a class of symbolic values: how to read one, and how to make one of `made_of`."""
    _NODE_OF[kind] = node_of
    if made_of is not None:
        _NUMBER_OF[made_of] = make


def same_env(env: Env, other: Env) -> None:
    """Refuse to mix the symbols of two environments."""
    if env is not other:
        raise ConstraintError(
            "symbolic numbers of two environments in one expression",
            why="a symbol means something only in the environment that made it",
            fix="make both with the same ShapeEnv",
        )


def is_symbolic(value: object) -> bool:
    """Whether a value is one of our symbolic numbers or conditions."""
    return type(value) in _NODE_OF


def is_numpy(value: object) -> bool:
    """Whether a number is one of NumPy's, or a `SymFloat` that stands for one."""
    kind = type(value)
    if kind is int or kind is float:
        return False
    return bool(getattr(value, "scalar", "")) if kind in _NODE_OF else kind.__module__ == "numpy"


def env_of(*values: Any) -> Env:
    """The environment of the first symbolic value; there must be one."""
    for value in values:
        if type(value) in _NODE_OF:
            return value.env  # type: ignore[no-any-return]
    raise AssertionError("no symbolic value")


def node_of(value: Any, env: Env) -> Expr | Real | None:
    """The expression or real behind a number, symbolic or not; None for anything else."""
    kind = type(value)
    if kind is int:
        return env.pool.const(value)
    read = _NODE_OF.get(kind)
    if read is not None:
        if value.env is not env:
            same_env(env, value.env)
        return read(value)  # type: ignore[no-any-return]
    if isinstance(value, int):
        return env.pool.const(int(value))
    return real_const(env.pool, float(value)) if isinstance(value, float) else None


def expr_of(value: Any, env: Env) -> Expr | None:
    """The expression behind a symbolic or Python integer; None for anything else."""
    node = node_of(value, env)
    return node if type(node) is Expr else None


def index_of(value: Any, env: Env) -> Expr:
    """The expression behind what Python takes for an index; its `TypeError` for anything else."""
    found = expr_of(value, env)
    return env.pool.const(operator.index(value)) if found is None else found


def real_of(value: Any, env: Env) -> Real | None:
    """The real behind a number, integers converted as Python does; None for anything else."""
    node = node_of(value, env)
    return None if node is None else to_real(node, env)


def to_real(node: Expr | Real, env: Env) -> Real:
    """The number as a double."""
    return node if type(node) is Real else applied(env, FLOAT, node)


def number(node: Expr | Real, env: Env) -> Any:
    """The `SymInt` or `SymFloat` that stands for the expression."""
    return _NUMBER_OF[type(node)](node, env)
