"""What torch itself may ask of our numbers: its checks are answered, its ops are refused.

`torch._check`, `guard_or_false` and the like reach a condition through its `node`; they mean the
same as anyshape's own. An op on a real tensor and a symbolic number would compute with a
placeholder, so `__torch_function__` raises instead.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.symbolic.missing_methods import MissingNodeError
from anyshape.torch_compat.call_frame import message_of_check
from anyshape.torch_compat.sym_node import sym_sqrt
from anyshape.torch_compat.torch_function import disabled_torch_function, function_mode_depth

if TYPE_CHECKING:
    from anyshape.env import Env
    from anyshape.expr import Bool


class ConditionNode:
    """The `node` of a `SymBool`: the questions that torch asks, with the places it passes."""

    __slots__ = ("condition", "env")

    def __init__(self, condition: Bool, env: Env) -> None:
        self.condition = condition
        self.env = env

    def expect_true(self, _file: str = "", _line: int = 0) -> bool:
        """`torch._check`: a fact from here on, an error at run time when it fails."""
        self.env.assume(self.condition, message_of_check(sys._getframe(1)))
        return True

    def guard_bool(self, _file: str = "", _line: int = 0) -> bool:
        """The truth, proved or guarded."""
        return self.env.guard(self.condition)

    bool_ = guard_bool

    def guard_or_false(self, _file: str = "", _line: int = 0) -> bool:
        """The truth, or False where only the run could tell."""
        return self.env.guard_or(self.condition, False)

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, _file: str = "", _line: int = 0) -> bool:
        """The truth, or True where only the run could tell."""
        return self.env.guard_or(self.condition, True)

    @property
    def shape_env(self) -> ConditionNode:
        """Whom torch's `guard_or_false` and `guard_or_true` ask."""
        return self

    def evaluate_sym_node(
        self, _node: object, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> bool:
        """The truth; `fallback_value`, if there is one, where only the run could tell."""
        del size_oblivious  # ours is never a mode of its own
        if fallback_value is None:
            return self.env.guard(self.condition)
        return self.env.guard_or(self.condition, fallback_value)

    def is_bool(self) -> bool:
        """True."""
        return True

    def is_int(self) -> bool:
        """False."""
        return False

    def is_float(self) -> bool:
        """False."""
        return False


class NumberNode:
    """The `node` of a `SymInt` or `SymFloat`: torch's parser wants to see that there is one, and
    asks it for a value where nothing but a value will do.
    """

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def int_(self) -> int:
        """The value, proved or guarded."""
        return int(self.number)

    def guard_int(self, _file: str = "", _line: int = 0) -> int:
        """The value, proved or guarded."""
        return int(self.number)

    def guard_float(self, _file: str = "", _line: int = 0) -> float:
        """The value, proved or guarded."""
        return float(self.number)

    def is_symbolic(self) -> bool:
        """True."""
        return True

    def is_nested_int(self) -> bool:
        """False: no size of a nested tensor."""
        return False

    def is_int(self) -> bool:
        """Whether it is an integer."""
        return isinstance(self.number, int)

    def is_float(self) -> bool:
        """Whether it is a float."""
        return isinstance(self.number, float)

    def is_bool(self) -> bool:
        """False."""
        return False

    def __getattr__(self, name: str) -> Any:
        raise refused(
            MissingNodeError,
            f"torch asks a symbolic number of anyshape for {name}",
            why="outside a trace there is nothing to compute it with",
            fix="use int(n) or float(x) to take its value, or keep the arithmetic symbolic",
        )

    def __str__(self) -> str:
        return str(self.number)


_FUNCTIONS: Final[dict[Any, str]] = {
    torch.sym_max: "sym_max",
    torch.sym_min: "sym_min",
    torch.sym_not: "sym_not",
    torch.sym_ite: "sym_ite",
    torch.sym_sum: "sym_sum",
}
_METHODS: Final[dict[Any, str]] = {
    torch.sym_float: "__sym_float__",
    torch.sym_int: "__sym_int__",
    sym_sqrt: "__sym_sqrt__",
}


class TorchFunction:
    """`__torch_function__` of our numbers, hidden while a torch function mode is active.

    A mode sees every call by itself, and torch's parser takes a number in a list of sizes only if
    it has no such function. The mode of a trace answers for our numbers.
    """

    def __get__(self, number: Any, owner: type) -> Any:
        if number is not None and function_mode_depth():
            return disabled_torch_function
        return partial(_torch_function, owner.__name__)


def _torch_function(kind: str, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return answer(kind, func, args)


HANDLED: Final = frozenset({*_FUNCTIONS, *_METHODS})


def answer(kind: str, func: Any, args: tuple[Any, ...]) -> Any:
    """The `__torch_function__` of our numbers: torch's functions on symbolic numbers are ours; no
    other op computes with one outside a trace.
    """
    if func in _FUNCTIONS:
        from anyshape.symbolic import functions  # noqa: PLC0415  they are made of our numbers

        return getattr(functions, _FUNCTIONS[func])(*args)
    if func in _METHODS:
        return getattr(args[0], _METHODS[func])()
    name = getattr(func, "__name__", str(func))
    raise refused(
        UnsupportedError,
        f"torch.{name} got a {kind}, which has no value here",
        why="outside a trace torch would compute with a placeholder",
        fix="use int(n) or float(x) to take its value, or keep the arithmetic symbolic",
    )
