"""`ShapeEnv`: the environment as users meet it, in terms of `SymInt`, `SymBool` and `SymFloat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.env import Env
from anyshape.errors import ArgumentError
from anyshape.public_call import need_bool, public
from anyshape.symbolic.number_asker import NumberAsker
from anyshape.symbolic.operand import expr_of
from anyshape.symbolic.sym_bool import SymBool, condition_of
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from anyshape.domain import Interval
    from anyshape.env import Obligation, Symbol, Verdict


class ShapeEnv:
    """Makes symbols, answers questions about them, and lists what the answers rest on.

    >>> env = ShapeEnv()
    >>> n = env.backed(8, source="x.size(0)")
    >>> bool(n % 4 == 0)
    True
    >>> [guard.text for guard in env.guards]
    ['2 <= x.size(0)', 'x.size(0) % 4 == 0']
    """

    __slots__ = ("env",)

    @public
    def __init__(self) -> None:
        self.env = Env(NumberAsker())

    @public
    def backed(
        self,
        hint: int,
        *,
        source: str | None = None,
        min: int | None = None,
        max: int | None = None,
        size: bool = True,
    ) -> SymInt:
        """A new backed integer with the value `hint` while tracing; a size unless `size=False`."""
        _need_int("hint", hint)
        _need_bounds(min, max)
        need_bool("size", size)
        e = self.env.backed(hint, source=_text(source), min=min, max=max, size=size)
        return SymInt(e, self.env)

    @public
    def unbacked(
        self,
        *,
        source: str | None = None,
        size: bool = False,
        min: int | None = None,
        max: int | None = None,
        hint: int | None = None,
    ) -> SymInt:
        """A new unbacked integer; `hint` is for optimization only and decides nothing."""
        if hint is not None:
            _need_int("hint", hint)
        _need_bounds(min, max)
        need_bool("size", size)
        e = self.env.unbacked(source=_text(source), size=size, min=min, max=max, hint=hint)
        return SymInt(e, self.env)

    @public
    def backed_float(self, hint: float, *, source: str | None = None) -> SymFloat:
        """A new float with the value `hint` while tracing."""
        if not isinstance(hint, float):
            raise ArgumentError(f"hint is a float, not {type(hint).__name__}")
        return SymFloat(self.env.real(hint, source=_text(source)), self.env)

    @public
    def unbacked_float(self, *, source: str | None = None) -> SymFloat:
        """A new float that only the run knows."""
        return SymFloat(self.env.real(source=_text(source)), self.env)

    def prove(self, condition: SymBool | bool) -> Verdict:
        """Whether a condition always holds, never, or neither is known; records nothing."""
        b = condition_of(condition, self.env)
        if b is None:
            raise ArgumentError(
                f"prove takes a SymBool, not {type(condition).__name__}",
                fix="give a comparison of sizes, as in env.prove(n > 0)",
            )
        return self.env.prove(b)

    @public
    def simplify(self, value: Any) -> Any:
        """The same value in fewer words: an `int` or `bool` where it is constant."""
        condition = condition_of(value, self.env)
        if condition is not None:
            answer = self.env.decide(condition)
            return value if answer is None else answer
        e = expr_of(value, self.env)
        if e is None:
            raise ArgumentError(
                f"simplify takes a symbolic integer or condition, not {type(value).__name__}"
            )
        e = self.env.simplify(e)
        return e.c if e.is_const else SymInt(e, self.env)

    @public
    def range_of(self, value: Any) -> Interval:
        """The smallest known interval that holds all values."""
        e = None if condition_of(value, self.env) else expr_of(value, self.env)
        if e is None:
            raise ArgumentError(f"range_of takes a symbolic integer, not {type(value).__name__}")
        return self.env.range_of(e)

    @property
    def guards(self) -> list[Obligation]:
        """What must hold of the inputs for the answers so far to be right; minimal."""
        return self.env.guards

    @property
    def runtime_asserts(self) -> list[Obligation]:
        """What the program must check when it runs; minimal."""
        return self.env.runtime_asserts

    @property
    def replacements(self) -> dict[str, SymInt]:
        """Symbols known to equal an expression of others."""
        return {name: SymInt(e, self.env) for name, e in self.env.replacements.items()}

    @property
    def symbols(self) -> dict[str, Symbol]:
        """All integer symbols by name."""
        return dict(self.env.symbols)

    def __repr__(self) -> str:
        return (
            f"<ShapeEnv: {len(self.env.symbols)} symbols, {len(self.guards)} guards,"
            f" {len(self.runtime_asserts)} runtime asserts>"
        )


def _need_int(name: str, value: object) -> None:
    if type(value) is not int:
        raise ArgumentError(f"{name} is an int, not {type(value).__name__}")


def _need_bounds(lo: object, hi: object) -> None:
    for name, value in (("min", lo), ("max", hi)):
        if value is not None:
            _need_int(name, value)


def _text(source: object) -> str:
    if source is None:
        return ""
    if not isinstance(source, str):
        raise ArgumentError(f"source is text such as 'x.size(0)', not {type(source).__name__}")
    return source
