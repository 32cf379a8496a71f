"""Our numbers inside torch's own `SymInt`: an implementation of the `SymNode` protocol.

torch's meta kernels compute sizes with `torch.SymInt` objects, which delegate to their node. A
`BridgeNode` answers with our arithmetic and our environment, so that a kernel's assumptions become
our guards and asserts. A question that cannot be decided while tracing gets the answer at typical
sizes (neither 0 nor 1), which becomes a runtime assert.

torch measures the memory of each tensor that it makes, and asks which of its sizes are 0. No memory
is behind a tensor on the meta device, so those answers are not the program's: while `measured`
runs, only proofs answer, and nothing is recorded.
"""

from __future__ import annotations

import itertools
import math
import operator
import threading
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.fact import RULE
from anyshape.errors import UnsupportedError
from anyshape.expr.boolean import negate
from anyshape.refusal import refused
from anyshape.rules.dispatch.typical import typical
from anyshape.symbolic import functions
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt, specialize
from anyshape.tensor.layout import CHANNELS_LAST_2D, CHANNELS_LAST_3D, Layout, is_contiguous
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import plain
from anyshape.tensor.sym_tensor import size_of

if TYPE_CHECKING:
    from collections.abc import Callable

_SYMBOLIC: Final = (SymInt, SymBool, SymFloat)


class _Thread(threading.local):
    """Whether a thread makes a tensor without data, whose memory torch measures."""

    measures = False


_thread = _Thread()


def measured(make: Callable[..., torch.Tensor], *args: Any, **named: Any) -> torch.Tensor:
    """`make(*args, **named)`, a new tensor on the meta device; no answer becomes a guard."""
    before, _thread.measures = _thread.measures, True
    try:
        return make(*args, **named)
    finally:
        _thread.measures = before


class BridgeNode:
    """The node of a stock `torch.SymInt`, `SymBool` or `SymFloat` over one of our numbers."""

    __slots__ = ("v",)

    fx_node = None

    def __init__(self, v: Any) -> None:
        if type(v) is SymBool:
            known = v.known()
            v = v if known is None else known
        self.v = plain(v)

    # ------------------------------------------------------------------ what it is

    @property
    def shape_env(self) -> BridgeNode:
        """The environment of the node for torch: the node itself."""
        return self

    @property
    def expr(self) -> Any:
        """The wrapped number."""
        return self.v

    @property
    def hint(self) -> Any:
        """The hint, if there is one."""
        return functions.hint(self.v)

    _hint = hint

    @property
    def constant(self) -> Any:
        """The value of a constant."""
        return None if self.is_symbolic() else self.v

    @property
    def pytype(self) -> type:
        """The Python type."""
        if self.is_bool():
            return bool
        return int if self.is_int() else float

    def is_int(self) -> bool:
        """Whether it is an integer."""
        return type(self.v) in (int, SymInt)

    def is_bool(self) -> bool:
        """Whether it is a boolean."""
        return type(self.v) in (bool, SymBool)

    def is_float(self) -> bool:
        """Whether it is a float."""
        return type(self.v) in (float, SymFloat)

    def is_symbolic(self) -> bool:
        """Whether it is not a constant."""
        return type(self.v) in _SYMBOLIC

    def is_constant(self) -> bool:
        """Whether it is a constant."""
        return not self.is_symbolic()

    def is_nested_int(self) -> bool:
        """False: sizes of nested tensors are not supported."""
        return False

    def nested_int(self) -> None:
        """None: sizes of nested tensors are not supported."""
        return

    def has_hint(self) -> bool:
        """Whether there is a hint."""
        return self.hint is not None

    def maybe_as_int(self) -> int | None:
        """The value of a constant integer."""
        return self.v if type(self.v) is int else None

    def maybe_as_bool(self) -> bool | None:
        """The value of a constant boolean."""
        return self.v if type(self.v) is bool else None

    def maybe_as_float(self) -> float | None:
        """The value of a constant float."""
        return self.v if type(self.v) is float else None

    def wrap_int(self, n: Any) -> BridgeNode:
        """A node for a constant."""
        return BridgeNode(n)

    wrap_bool = wrap_float = wrap_int

    def clone(self) -> BridgeNode:
        """The node itself."""
        return self

    def str(self) -> str:
        """The number as text."""
        return str(self.v)

    _graph_repr = __str__ = str

    # ------------------------------------------------------------------ asking

    def guard_bool(self, _file: Any = "", _line: int = 0) -> bool:
        """The truth value, decided as the module docstring says."""
        v = self.v
        if type(v) is not SymBool:
            return bool(v)
        env, condition = v.env, v.condition
        if env.hint_for_guard(condition) is not None:
            return bool(env.guard(condition))
        truth = typical(env, condition)
        held = condition if truth else negate(condition)
        env.assume(held, f"torch's meta kernel takes {env.text(held)} for granted", RULE)
        return truth

    bool_ = guard_bool

    def guard_int(self, _file: Any = "", _line: int = 0) -> int:
        """The value of an integer, which is specialized."""
        v = self.v
        if type(v) is not SymInt:
            return int(v)
        simple = v.env.simplify(v.expr)
        if simple.is_const:
            return simple.c
        if simple.hint is None and v.expr.hint is None:
            raise refused(
                UnsupportedError, f"torch's meta kernel needs the value of {v.env.text(v.expr)}"
            )
        return specialize(v)

    int_ = guard_int

    def guard_float(self, _file: Any = "", _line: int = 0) -> float:
        """The value of a float."""
        v = self.v
        if type(v) is SymFloat and v.value.hint is None:
            raise refused(UnsupportedError, f"torch's meta kernel needs the value of {v}")
        return float(v)

    def guard_or_false(self, _file: Any = "", _line: int = 0) -> bool:
        """The truth value, or False if undecided."""
        if _thread.measures:
            return functions.statically_known_true(self.v)
        return functions.guard_or_false(self.v)

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, _file: Any = "", _line: int = 0) -> bool:
        """The truth value, or True if undecided."""
        if _thread.measures:
            return not functions.statically_known_false(self.v)
        return functions.guard_or_true(self.v)

    def statically_known_true(self, _file: Any = "", _line: int = 0) -> bool:
        """Whether it is proved."""
        return functions.statically_known_true(self.v)

    def expect_true(self, _file: Any = "", _line: int = 0) -> bool:
        """Assume the condition from here on; where the sizes refute it, that is guarded."""
        v = self.v
        if type(v) is not SymBool:
            return bool(v)
        if v.env.hint_for_guard(v.condition) is False:
            return bool(v.env.guard(v.condition))
        v.env.assume(v.condition, None, RULE)
        return True

    def evaluate_sym_node(
        self, node: BridgeNode, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> bool:
        """`guard_bool` of the node; an undecided one is `fallback_value` if that is given."""
        del size_oblivious
        if fallback_value is None:
            return node.guard_bool()
        return node.guard_or_true() if fallback_value else node.guard_or_false()

    def _maybe_evaluate_static(self, expr: Any, **_: Any) -> Any:
        if type(expr) is SymBool:
            return expr.known()
        return None if type(expr) in _SYMBOLIC else expr

    def sym_sum(self, nodes: list[BridgeNode]) -> BridgeNode:
        """The sum of the nodes."""
        total: Any = 0
        for node in nodes:
            total = total + node.v
        return BridgeNode(total)

    def sym_ite(self, then: BridgeNode, otherwise: BridgeNode) -> BridgeNode:
        """`then` if the node holds, else `otherwise`."""
        return BridgeNode(functions.sym_ite(self.v, then.v, otherwise.v))

    # ------------------------------------------------------------------ layouts

    def is_contiguous(self, sizes: Any, strides: Any) -> BridgeNode:
        """Whether sizes and strides are those of a contiguous tensor."""
        return _dense(sizes, strides, None)

    def is_channels_last_contiguous_2d(self, sizes: Any, strides: Any) -> BridgeNode:
        """Whether they are those of a channels_last tensor."""
        return _dense(sizes, strides, CHANNELS_LAST_2D)

    is_channels_last_strides_2d = is_channels_last_contiguous_2d

    def is_channels_last_contiguous_3d(self, sizes: Any, strides: Any) -> BridgeNode:
        """Whether they are those of a channels_last_3d tensor."""
        return _dense(sizes, strides, CHANNELS_LAST_3D)

    is_channels_last_strides_3d = is_channels_last_contiguous_3d

    def is_non_overlapping_and_dense(self, sizes: Any, strides: Any) -> BridgeNode:
        """Whether they are dense in some order of the dimensions."""
        return BridgeNode(bool(_dense_in_some_order(sizes, strides)))

    def is_non_overlapping_and_dense_indicator(self, sizes: Any, strides: Any) -> BridgeNode:
        """`is_non_overlapping_and_dense` as 0 or 1."""
        return BridgeNode(int(_dense_in_some_order(sizes, strides)))


def _dense(sizes: Any, strides: Any, order: Any) -> BridgeNode:
    shape = tuple(map(number_of, sizes))
    layout = Layout(strides=tuple(map(number_of, strides)))
    return BridgeNode(is_contiguous(Meta(shape, torch.float32, layout), order))


def _dense_in_some_order(sizes: Any, strides: Any) -> bool:
    """Whether some order of the dimensions is dense; above rank 5 only one is tried."""
    rank = len(sizes)
    if rank > 5:
        return bool(_dense(sizes, strides, None).v)
    return any(_dense(sizes, strides, order).v for order in itertools.permutations(range(rank)))


def _binary(op: Any) -> Any:
    return lambda a, b: BridgeNode(op(a.v, b.v))


def _unary(op: Any) -> Any:
    return lambda a: BridgeNode(op(a.v))


def _symbolic_float(v: Any) -> Any:
    return v.__sym_float__() if type(v) in (SymInt, SymFloat) else float(v)


def _root(v: Any) -> Any:
    return v.__sym_sqrt__() if type(v) in (SymInt, SymFloat) else math.sqrt(v)


_BINARY: Final[dict[tuple[str, ...], Any]] = {
    ("add",): operator.add,
    ("sub",): operator.sub,
    ("mul",): operator.mul,
    ("floordiv", "int_floordiv"): operator.floordiv,
    ("mod",): operator.mod,
    ("truediv", "int_truediv", "float_truediv"): operator.truediv,
    ("pow", "pow_by_natural", "float_pow"): operator.pow,
    ("sym_max",): functions.sym_max,
    ("sym_min",): functions.sym_min,
    ("eq",): operator.eq,
    ("ne",): operator.ne,
    ("lt",): operator.lt,
    ("le",): operator.le,
    ("gt",): operator.gt,
    ("ge",): operator.ge,
    ("and_", "sym_and"): functions.sym_and,
    ("or_", "sym_or"): functions.sym_or,
    ("lshift",): operator.lshift,
    ("rshift",): operator.rshift,
    ("bitwise_and",): operator.and_,
    ("bitwise_or",): operator.or_,
    ("bitwise_xor",): operator.xor,
}
_UNARY: Final[dict[tuple[str, ...], Any]] = {
    ("neg",): operator.neg,
    ("pos",): operator.pos,
    ("abs",): abs,
    ("sym_not",): functions.sym_not,
    ("ceil",): math.ceil,
    ("floor",): math.floor,
    ("trunc", "sym_int"): math.trunc,
    ("sym_float",): _symbolic_float,
    ("sym_sqrt",): _root,
    ("is_integer",): lambda v: v.is_integer(),
}
for _ops, _lift in ((_BINARY, _binary), (_UNARY, _unary)):
    for _names, _op in _ops.items():
        for _name in _names:
            setattr(BridgeNode, _name, _lift(_op))


def number_of(x: Any) -> Any:
    """Our number for torch's: a node, a stock symbolic number, or a plain one."""
    if isinstance(x, BridgeNode):
        return x.v
    if isinstance(x, torch.SymInt | torch.SymFloat | torch.SymBool) and type(x) not in _SYMBOLIC:
        return x.node.v
    return x


def to_stock(x: Any) -> Any:
    """Our number as an instance of torch's own class."""
    kind = type(x)
    if kind is SymInt:
        x = plain(x)
        return x if type(x) is int else torch.SymInt(BridgeNode(x))  # type: ignore[no-untyped-call]
    if kind is SymFloat:
        return torch.SymFloat(BridgeNode(x))  # type: ignore[no-untyped-call]
    if kind is SymBool:
        return torch.SymBool(BridgeNode(x))  # type: ignore[no-untyped-call]
    return x


def to_ours(x: Any) -> Any:
    """A number or a shape with torch's numbers as one with ours; anything else as it is."""
    if type(x) in (tuple, torch.Size) and not all(type(part) is int for part in x):
        parts = tuple([to_ours(part) for part in x])
        return size_of(parts) if type(x) is torch.Size else parts
    return number_of(x)
