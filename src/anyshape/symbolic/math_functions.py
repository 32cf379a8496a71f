"""The functions of Python's `math` on symbolic numbers; on other operands they are Python's own.

Each is one row: the op that it builds, and where Python refuses it. Those about which the engine
knows nothing more come from the table of `expr/table/op_math.py`. `math.floor`, `ceil`, `trunc`
and `prod` are not here: Python calls the methods of our numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.fact import DOMAIN, OVERFLOW
from anyshape.expr import real
from anyshape.expr.atom import make_atom
from anyshape.expr.boolean import conj, disj, negate
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.node import Expr
from anyshape.expr.real import real_const
from anyshape.expr.rebuild import construct
from anyshape.expr.table.op_function import LARGEST_EXPONENT
from anyshape.expr.table.op_integer import ISQRT
from anyshape.expr.table.op_math import DOMAINS, REFUSED
from anyshape.expr.table.op_math import FUNCTIONS as FURTHER
from anyshape.expr.table.row import INTEGER
from anyshape.symbolic import arithmetic
from anyshape.symbolic.definedness import Refusal, applied, ensure, need_natural, need_not
from anyshape.symbolic.operand import env_of, expr_of, is_symbolic, node_of, number, real_of
from anyshape.symbolic.sym_bool import SymBool

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Bool, Real

    Need = Callable[[Env, Real], None]


def _refuses(sign: str, bound: float, refusal: Refusal) -> Need:
    """An operand that must not be `sign bound`."""
    return lambda env, x: need_not(env, sign, x, bound, refusal)


def _needs_finite(refusal: Refusal) -> Need:
    def need(env: Env, x: Real) -> None:
        need_not(env, "==", x, math.inf, refusal)
        need_not(env, "==", x, -math.inf, refusal)

    return need


def _needs_small(env: Env, x: Real) -> None:
    """The exponential of a finite number is a double; that of infinity is infinity."""
    infinite = compare("==", x, real_const(env.pool, math.inf))
    small = negate(compare(">", x, real_const(env.pool, LARGEST_EXPONENT)))
    condition = small if env.decide(infinite) is False else disj(env.pool, (small, infinite))
    ensure(env, condition, Refusal(OVERFLOW, math.exp, (1e4,)))


def _function(plain: Callable[[Any], float], need: Need) -> Callable[[Any], Any]:
    """A function of one float; the op has its name."""

    def function(x: Any) -> Any:
        if not is_symbolic(x):
            return plain(x)
        env = x.env
        r = real_of(x, env)
        assert r is not None
        need(env, r)
        return number(applied(env, plain.__name__, r), env)

    function.__name__ = plain.__name__
    return function


def _domain(plain: Callable[..., Any], *operands: float) -> Refusal:
    return Refusal(DOMAIN, plain, operands)


sqrt: Final = _function(math.sqrt, _refuses("<", 0.0, _domain(math.sqrt, -1.0)))
log2: Final = _function(math.log2, _refuses("<=", 0.0, _domain(math.log2, 0.0)))
log10: Final = _function(math.log10, _refuses("<=", 0.0, _domain(math.log10, 0.0)))
_natural_log: Final = _function(math.log, _refuses("<=", 0.0, _domain(math.log, 0.0)))
exp: Final = _function(math.exp, _needs_small)
sin: Final = _function(math.sin, _needs_finite(_domain(math.sin, math.inf)))
cos: Final = _function(math.cos, _needs_finite(_domain(math.cos, math.inf)))
tan: Final = _function(math.tan, _needs_finite(_domain(math.tan, math.inf)))


def log(x: Any, *base: Any) -> Any:
    """`math.log`, with or without a base."""
    if len(base) != 1 or not (is_symbolic(x) or is_symbolic(base[0])):
        return _natural_log(x) if not base else math.log(x, *base)
    return _natural_log(x) / _natural_log(base[0])


def power(x: Any, y: Any) -> Any:
    """`math.pow`."""
    if not (is_symbolic(x) or is_symbolic(y)):
        return math.pow(x, y)
    env = env_of(x, y)
    base, exponent = real_of(x, env), real_of(y, env)
    if base is None or exponent is None:
        raise TypeError("must be real number")
    refusal = _domain(math.pow, 0.0, -1.0)
    made = arithmetic.power_of_reals(env, base, exponent, math.pow, refusal)
    return made if type(made) is float else number(made, env)


def isqrt(n: Any) -> Any:
    """`math.isqrt`."""
    e = expr_of(n, n.env) if is_symbolic(n) else None
    if e is None:
        return math.isqrt(n)
    need_natural(n.env, e, _domain(math.isqrt, -1))
    return number(make_atom(ISQRT, e), n.env)


# ---------------------------------------------------------------------- further functions


def _operands(takes: str, operands: tuple[Any, ...], env: Env) -> list[Any] | None:
    """The nodes of the operands as a row takes them; None where Python takes others."""
    kinds = takes[0] * len(operands) if takes.endswith("*") else takes
    if len(kinds) != len(operands):
        return None
    pairs = zip(kinds, operands, strict=True)
    nodes = [expr_of(x, env) if kind == "i" else real_of(x, env) for kind, x in pairs]
    return None if None in nodes else nodes


def _apply(name: str, plain: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """The op `name` over operands of which one is symbolic; `plain` raises Python's errors."""
    env = env_of(*operands)
    row = FURTHER[name]
    nodes = _operands(row.takes, operands, env)
    if nodes is None:
        return plain(*operands)
    if name in DOMAINS:
        hints = tuple(node.hint for node in nodes)
        example = REFUSED[name] if None in hints else hints
        ensure(env, construct(DOMAINS[name], *nodes), Refusal(DOMAIN, FURTHER[name].value, example))
    made = construct(row, *nodes) if row.gives == INTEGER else applied(env, row, *nodes)
    return number(made, env)


def _further(name: str) -> Callable[..., Any]:
    plain = getattr(math, name)

    def function(*operands: Any, **options: Any) -> Any:
        if options or not any(map(is_symbolic, operands)):
            return plain(*operands, **options)
        return _apply(name, plain, operands)

    function.__name__ = name
    return function


def _over_items(name: str) -> Callable[[Any], Any]:
    """A function of the items of an iterable."""
    plain = getattr(math, name)

    def function(items: Any) -> Any:
        operands = tuple(items)
        if not any(map(is_symbolic, operands)):
            return plain(operands)
        return _apply(name, lambda *xs: plain(xs), operands)

    function.__name__ = name
    return function


def _pair(name: str, first: str, second: str) -> Callable[[Any], Any]:
    """A function whose result is a pair."""
    plain = getattr(math, name)

    def function(x: Any) -> Any:
        if not is_symbolic(x):
            return plain(x)
        return _apply(first, plain, (x,)), _apply(second, plain, (x,))

    function.__name__ = name
    return function


def perm(n: Any, k: Any = None) -> Any:
    """`math.perm`, with or without a number of places."""
    return FUNCTIONS["factorial"](n) if k is None else _permutations(n, k)


def dist(p: Any, q: Any) -> Any:
    """`math.dist`: the norm of the difference, of doubles."""
    left, right = tuple(p), tuple(q)
    if len(left) != len(right) or not any(map(is_symbolic, (*left, *right))):
        return math.dist(left, right)
    pairs = zip(left, right, strict=True)
    return FUNCTIONS["hypot"](*[x - y for x, y in [(x * 1.0, y * 1.0) for x, y in pairs]])


def sumprod(p: Any, q: Any) -> Any:
    """`math.sumprod`: exact for integers, of extended precision for doubles."""
    left, right = tuple(p), tuple(q)
    plain = getattr(math, "sumprod")  # noqa: B009  of Python 3.12
    if len(left) != len(right) or not any(map(is_symbolic, (*left, *right))):
        return plain(left, right)
    if all(type(node_of(x, env_of(*left, *right))) is Expr for x in (*left, *right)):
        return sum(x * y for x, y in zip(left, right, strict=True))
    return _apply("sumprod", lambda *_: plain(left, right), (*left, *right))


# ---------------------------------------------------------------------- conditions


def _is(test: Callable[[Env, Real], Bool], plain: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if not is_symbolic(x):
            return plain(x)
        r = real_of(x, x.env)
        assert r is not None
        return SymBool(test(x.env, r), x.env)

    function.__name__ = plain.__name__
    return function


def _magnitude(sign: str) -> Callable[[Env, Real], Bool]:
    """Whether the magnitude is `sign` infinity."""
    return lambda env, x: compare(sign, real.apply("abs", x), real_const(env.pool, math.inf))


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """`math.isclose`: equal, or finite and within one of the tolerances."""
    numbers = (a, b, rel_tol, abs_tol)
    if not any(map(is_symbolic, (a, b))) or any(map(is_symbolic, numbers[2:])):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    math.isclose(0.0, 0.0, rel_tol=rel_tol, abs_tol=abs_tol)  # refuses negative tolerances
    env = env_of(a, b)
    x, y, relative, absolute = (real_of(n, env) for n in numbers)
    if x is None or y is None or relative is None or absolute is None:
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    finite = _magnitude("<")
    difference = real.apply("abs", real.apply("sub", y, x))
    limits = [real.apply("abs", real.apply("mul", relative, z)) for z in (y, x)]
    near = disj(env.pool, [compare("<=", difference, z) for z in (*limits, absolute)])
    close = conj(env.pool, [finite(env, x), finite(env, y), near])
    return SymBool(disj(env.pool, [compare("==", x, y), close]), env)


def is_whole(x: Any) -> SymBool:
    """`float.is_integer`: infinity minus infinity and NaN are no numbers, so they are not whole."""
    floor = real.apply("real_floordiv", x.value, real_const(x.env.pool, 1.0))
    return SymBool(compare("==", x.value, floor), x.env)


_permutations: Final = _further("perm")
OF_ITEMS: Final = ("dist", "fsum", "sumprod")  # functions of iterables
_SPELLED: Final = ("perm", "fsum", "sumprod", *(n for n in FURTHER if "_" in n))

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _further(name) for name in FURTHER if name not in _SPELLED},
    "sqrt": sqrt,
    "log": log,
    "log2": log2,
    "log10": log10,
    "exp": exp,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "pow": power,
    "isqrt": isqrt,
    "perm": perm,
    "dist": dist,
    "fsum": _over_items("fsum"),
    "frexp": _pair("frexp", "frexp_mantissa", "frexp_exponent"),
    "modf": _pair("modf", "modf_fraction", "modf_whole"),
    "isnan": _is(lambda _env, x: compare("!=", x, x), math.isnan),
    "isinf": _is(_magnitude("=="), math.isinf),
    "isfinite": _is(_magnitude("<"), math.isfinite),
    "isclose": isclose,
    **({"sumprod": sumprod} if hasattr(math, "sumprod") else {}),
}
