"""`Dim`: how a size is named and bounded in `dynamic_shapes`, and expressions of such names.

`Dim("batch", min=1)` is a named size; `2 * batch + 1`, `batch // 2` and the like are expressions of
it. `Dim.DYNAMIC`, `Dim.AUTO`, `Dim.UNBACKED` and `Dim.STATIC` have no name; all but the last can be
called with bounds. A string is a name or an expression of names. torch's own `Dim` objects and
hints are accepted too.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

import torch

from anyshape.errors import ArgumentError, ConstraintError, ParseError
from anyshape.expr import Expr, Pool, symbol
from anyshape.expr.name import RESERVED
from anyshape.expr.terms import terms
from anyshape.expr.text.parse import parse
from anyshape.expr.traverse import symbols_of
from anyshape.public_call import public

if TYPE_CHECKING:
    from collections.abc import Callable

AUTO: Final = "auto"
DYNAMIC: Final = "dynamic"
STATIC: Final = "static"
UNBACKED: Final = "unbacked"
_WHY: Final = "a Dim is a name for a size, computed with ints and other Dims by + - * // %"
_WRITE: Final = "write 2 * n, n * n, n // 2 or the like for a Dim n"
_UNBOUNDED: Final = 2**62  # torch writes infinity as a number beyond this


def need_bounds(what: str, lo: object, hi: object) -> None:
    """Raise for bounds of a size that are not integers, are negative, or exclude every size."""
    for name, value in (("min", lo), ("max", hi)):
        if value is not None and type(value) is not int:
            raise ArgumentError(
                f"{name} of {what} must be an int, not {value!r}",
                fix=f"write {name}={_nearest_int(value)}",
                code="AS222",
            )
        if type(value) is int and value < 0:
            raise ConstraintError(
                f"{name} of {what} is {value}",
                why="a size is not negative",
                fix=f"give {name}=0 or more",
            )
    if type(lo) is int and type(hi) is int and lo > hi:
        raise ConstraintError(
            f"{what}: min={lo} is more than max={hi}", fix=f"write min={hi}, max={lo}"
        )


def _nearest_int(value: object) -> str:
    """The int that was probably meant, as a text."""
    try:
        return str(max(0, int(value)))  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return "2, or another int"


class Hint:
    """A size without a name: whether it is dynamic, and its bounds."""

    __slots__ = ("kind", "max", "min")

    def __init__(self, kind: str, min: int | None = None, max: int | None = None) -> None:
        need_bounds(f"Dim.{kind.upper()}", min, max)
        self.kind = kind
        self.min = min
        self.max = max

    @public
    def __call__(self, min: int | None = None, max: int | None = None) -> Hint:
        """The same with bounds."""
        if self.kind == STATIC:
            raise ArgumentError(
                "Dim.STATIC takes no bounds", fix="give the size itself, as a number", code="AS222"
            )
        return Hint(self.kind, min, max)

    def __repr__(self) -> str:
        bounds = [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"Dim.{self.kind.upper()}" + (f"({', '.join(bounds)})" if bounds else "")


def _refusing(said: str, fix: str) -> Callable[[_Algebra, object], Derived]:
    """A method for an operator that sizes do not have; `said` tells what `{0}` and `{1}` are in."""

    def refuse(self: _Algebra, other: object) -> Derived:
        raise ArgumentError(said.format(self, other), why=_WHY, fix=fix, code="AS222")

    return refuse


class _Algebra:
    """Arithmetic that builds expressions of named sizes."""

    __slots__ = ()

    def _join(self, sign: str, other: int | _Algebra, *, swap: bool = False) -> Derived:
        if type(other) is int:
            text, dims = str(other), {}
        elif isinstance(other, _Algebra):
            text, dims = f"({other})", other.dims
        else:
            left, right = (repr(other), self) if swap else (self, repr(other))
            raise ArgumentError(
                f"{left} {sign} {right} is not a size", why=_WHY, fix=_WRITE, code="AS222"
            )
        mine = f"({self})"
        left, right = (text, mine) if swap else (mine, text)
        return Derived(f"{left} {sign} {right}", {**self.dims, **dims})

    @property
    def dims(self) -> dict[str, Dim]:
        """The named sizes that the expression is over."""
        raise NotImplementedError

    def __add__(self, other: int | _Algebra) -> Derived:
        return self._join("+", other)

    def __radd__(self, other: int | _Algebra) -> Derived:
        return self._join("+", other, swap=True)

    def __sub__(self, other: int | _Algebra) -> Derived:
        return self._join("-", other)

    def __rsub__(self, other: int | _Algebra) -> Derived:
        return self._join("-", other, swap=True)

    def __mul__(self, other: int | _Algebra) -> Derived:
        return self._join("*", other)

    def __rmul__(self, other: int | _Algebra) -> Derived:
        return self._join("*", other, swap=True)

    def __floordiv__(self, other: int | _Algebra) -> Derived:
        return self._join("//", other)

    def __rfloordiv__(self, other: int | _Algebra) -> Derived:
        return self._join("//", other, swap=True)

    def __mod__(self, other: int | _Algebra) -> Derived:
        return self._join("%", other)

    def __rmod__(self, other: int | _Algebra) -> Derived:
        return self._join("%", other, swap=True)

    def __neg__(self) -> Derived:
        return self._join("-", 0, swap=True)

    __truediv__ = __rtruediv__ = _refusing("a quotient of {0} and {1} is not a size", _WRITE)
    __pow__ = __rpow__ = _refusing("a power of {0} and {1} is not a size", _WRITE)
    __lt__ = __le__ = __gt__ = __ge__ = _refusing(
        "{0} cannot be compared with {1}", 'give it bounds, as Dim("n", min=2, max=64)'
    )


class Dim(_Algebra):
    """A named size. The same name is the same size everywhere in a spec."""

    __slots__ = ("max", "min", "name")

    AUTO: ClassVar[Hint] = Hint(AUTO)
    DYNAMIC: ClassVar[Hint] = Hint(DYNAMIC)
    STATIC: ClassVar[Hint] = Hint(STATIC)
    UNBACKED: ClassVar[Hint] = Hint(UNBACKED)

    @public
    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str):
            raise ArgumentError(
                f"the name of a Dim must be a str, not {name!r}",
                fix='write Dim("batch")',
                code="AS222",
            )
        if not name.isidentifier() or name in RESERVED:
            raise ArgumentError(
                f"{name!r} cannot be the name of a Dim", fix=_as_name(name), code="AS222"
            )
        need_bounds(f"Dim {name!r}", min, max)
        self.name = name
        self.min = min
        self.max = max

    @property
    def dims(self) -> dict[str, Dim]:
        """Itself."""
        return {self.name: self}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        bounds = [f", {k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"Dim({self.name!r}{''.join(bounds)})"


class Derived(_Algebra):
    """An expression of named sizes."""

    __slots__ = ("_dims", "text")

    def __init__(self, text: str, dims: dict[str, Dim]) -> None:
        self._dims = dims
        self.text = str(read(text, dims))

    @property
    def dims(self) -> dict[str, Dim]:
        """The named sizes in it."""
        return self._dims

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.text}>"


def read(text: str, dims: dict[str, Dim]) -> Expr:
    """Parse an expression of these names."""
    pool = Pool()
    for name in dims:
        symbol(pool, name, 0)
    try:
        found = parse(pool, text)
    except ParseError as e:
        raise ArgumentError(
            f"{text!r} is not an expression of sizes", why=e.what, code="AS222"
        ) from e
    if type(found) is not Expr:
        raise ArgumentError(
            f"{text!r} is not a size", fix="write an integer expression of names", code="AS222"
        )
    return found


def renamed(text: str, names: dict[str, str]) -> str:
    """An expression with some names replaced by other texts."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m.group(), m.group()), text)


def from_text(text: str, known: dict[str, Dim]) -> Dim | Derived:
    """The size that a string names: a new or known name, or an expression of names."""
    text = text.strip()
    if text.isidentifier() and text not in RESERVED:
        return known.get(text) or Dim(text)
    names = _names_in(text)
    if not names:
        raise ArgumentError(
            f"{text!r} names no size", fix='write a name such as "batch"', code="AS222"
        )
    return Derived(text, {n: known.get(n) or Dim(n) for n in names})


def _names_in(text: str) -> list[str]:
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise ArgumentError(
            f"{text!r} is neither a name of a size nor an expression of names",
            fix=_as_name(text),
            code="AS222",
        ) from None
    calls = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in calls]
    return list(dict.fromkeys(names))


def _as_name(text: str) -> str:
    """How to write a text that is no name."""
    near = re.sub(r"\W+", "_", text).strip("_")
    usual = near if near.isidentifier() and near not in RESERVED else "batch"
    return f'a name is an identifier, such as "{usual}"; an expression is such as "2*{usual} + 1"'


def from_torch(spec: Any) -> Any:
    """Our form of torch's own `Dim`, derived dim or hint; None for anything else."""
    kind = getattr(spec, "type", None)
    if type(spec).__name__ == "_DimHint" and kind is not None:
        name = {"AUTO": AUTO, "STATIC": STATIC, "DYNAMIC": DYNAMIC}[kind.name]
        return Hint(name, getattr(spec, "min", None), _finite(getattr(spec, "max", None)))
    if isinstance(spec, torch.export.Dim):
        root = getattr(spec, "root", None)
        if root is not None:  # a derived dim
            base = from_torch(root)
            return _derived(spec, base)
        lo = getattr(spec, "min", None)
        return Dim(spec.__name__, min=lo or None, max=_finite(getattr(spec, "max", None)))
    return None


def _derived(spec: Any, base: Dim) -> Derived:
    """A derived dim of torch's, which is linear: two values determine it."""
    at_zero, at_one = spec.fn(0), spec.fn(1)
    return Derived(f"{at_one - at_zero} * {base.name} + {at_zero}", {base.name: base})


def _finite(bound: Any) -> int | None:
    return bound if type(bound) is int and bound < _UNBOUNDED else None


def linear_in(text: str, dims: dict[str, Dim]) -> tuple[str, int, int] | None:
    """The name, factor and constant of a linear expression of one name with a positive factor."""
    e = read(text, dims)
    found = list(terms(e).items())
    if len(found) != 1 or len(list(symbols_of(e))) != 1 or not found[0][0].name:
        return None
    atom, factor = found[0]
    return (atom.name, factor, e.c) if factor > 0 else None
