"""The protocol of a symbolic number's `node`: what torch asks it.

torch's `SymInt`, `SymFloat` and `SymBool` hand every question and every operation to their `node`,
by these names. A name that torch adds and we do not answer is an `AttributeError` inside torch; a
name that torch renames is one that nobody asks any more.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import torch

sym_sqrt: Final[Any] = getattr(torch, "_sym_sqrt")  # noqa: B009  not in torch's stubs
"""torch's `math.sqrt` for symbolic numbers, which reaches `__torch_function__` as this object."""


class ConditionNode(Protocol):
    """The node of a truth value outside a meta kernel: `torch._check`, `guard_or_false` and `bool`
    ask it.
    """

    def expect_true(self, file: str = "", line: int = 0) -> bool:
        """The condition of a `torch._check`."""

    def guard_bool(self, file: str = "", line: int = 0) -> bool:
        """`bool` of the condition."""

    def bool_(self) -> bool:
        """The same."""

    def guard_or_false(self, file: str = "", line: int = 0) -> bool:
        """`guard_or_false`, where torch asks the node itself."""

    def guard_or_true(self, file: str = "", line: int = 0) -> bool:
        """`guard_or_true`, where torch asks the node itself."""

    def guard_size_oblivious(self, file: str = "", line: int = 0) -> bool:
        """The older name of `guard_or_false`."""

    @property
    def shape_env(self) -> Any:
        """The object that `evaluate_sym_node` is called on."""

    def evaluate_sym_node(
        self, node: Any, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> bool:
        """`guard_or_false` and `guard_or_true`, where torch asks the environment."""

    def is_bool(self) -> bool:
        """True."""

    def is_int(self) -> bool:
        """False."""

    def is_float(self) -> bool:
        """False."""


class NumberNode(Protocol):
    """The node of an integer or a float: torch's argument parser asks it."""

    def int_(self) -> int:
        """The value of an integer."""

    def guard_int(self, file: str = "", line: int = 0) -> int:
        """The value of an integer where nothing else will do."""

    def guard_float(self, file: str = "", line: int = 0) -> float:
        """The value of a float where nothing else will do."""

    def is_symbolic(self) -> bool:
        """Whether it has no value yet."""

    def is_int(self) -> bool:
        """Whether it is an integer."""

    def is_float(self) -> bool:
        """Whether it is a float."""

    def is_bool(self) -> bool:
        """Whether it is a truth value."""


_BINARY: Final = """
    add sub mul truediv int_truediv float_truediv floordiv int_floordiv mod pow pow_by_natural
    float_pow sym_max sym_min eq ne lt le gt ge and_ or_ sym_and sym_or lshift rshift bitwise_and
    bitwise_or bitwise_xor
"""
BINARY: Final = frozenset(_BINARY.split())
"""The operations on two nodes that meta kernels use."""

_UNARY: Final = "neg pos abs sym_not ceil floor trunc sym_int sym_float sym_sqrt is_integer"
UNARY: Final = frozenset(_UNARY.split())
"""The operations on one node that meta kernels use."""

_QUESTIONS: Final = """
    bool_ int_ guard_bool guard_int guard_float guard_or_false guard_or_true guard_size_oblivious
    expect_true statically_known_true has_hint maybe_as_int maybe_as_bool maybe_as_float
    is_int is_bool is_float is_symbolic is_constant is_nested_int nested_int
"""
QUESTIONS: Final = frozenset(_QUESTIONS.split())
"""The questions about one node that meta kernels ask."""

_LAYOUTS: Final = """
    is_contiguous is_channels_last_contiguous_2d is_channels_last_contiguous_3d
    is_channels_last_strides_2d is_channels_last_strides_3d is_non_overlapping_and_dense
"""
LAYOUTS: Final = frozenset(_LAYOUTS.split())
"""The questions about sizes and strides that a tensor with symbolic sizes asks one of its nodes."""
