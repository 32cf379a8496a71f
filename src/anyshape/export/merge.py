"""Variants that compute the same, as one: the variant for `n == 1` is often that for `n >= 2`.

A variant serves the sizes of another if its graph at these sizes is the other's graph: the same
calls in the same order on equal arguments, the same asserts, deviations and result. Expressions are
equal if they are after the equalities in the guards of the other are substituted. A call that gives
a tensor the shape that it has, at these sizes, may be missing in the other: `x.expand(n, -1)` is
`x` where `n` is the size of `x`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env import Env
from anyshape.errors import AnyshapeError
from anyshape.export.spec.dim import renamed
from anyshape.export.union import widen
from anyshape.expr import Pool, parse, symbol
from anyshape.expr.atom import can_raise
from anyshape.expr.real import Real
from anyshape.expr.text.show import show
from anyshape.expr.traverse import names_of, nodes_below
from anyshape.symbolic.numpy_scalar import scalar_of
from anyshape.symbolic.sym_float import SymFloat
from anyshape.trace.graph.graph import SYMBOLIC, Name, Value, leaves, operand_of
from anyshape.trace.record.effect.held import Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.export.coverage import Size
    from anyshape.export.explore import Exploration
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.call_signature import CallSignature
    from anyshape.trace.graph.graph import Node

_PLAIN: Final = (int, bool, str, bytes, type(None), type(...), Name, torch.dtype, torch.device)
_RESHAPE: Final = (
    torch.Tensor.view, torch.Tensor.reshape, torch.reshape, torch.ops.aten.view.default,
    torch.ops.aten.reshape.default,
)  # fmt: skip
_EXPAND: Final = (
    torch.Tensor.expand,
    torch.ops.aten.expand.default,
)  # where -1 is the size that it has
_FLAGS: Final = (
    "asked_class", "asked_device", "asked_grad", "asked_identity", "asked_layout", "handles_errors",
    "read_places",
)  # fmt: skip


def merge(found: Exploration, sizes: Sequence[Size]) -> None:
    """Merge the variants of an exploration that compute the same."""
    groups: list[list[Captured]] = []
    pairs = _Pairs()
    serves = pairs.serves
    for variant in found.variants:
        for group in groups:
            if all(serves(variant, m) for m in group) and pairs.is_wider(variant, group[0]):
                group.insert(0, variant)
                break
            if serves(group[0], variant):
                group.append(variant)
                break
        else:
            groups.append([variant])
    for group in groups:
        if len(group) > 1:
            widen(group, sizes)
    found.variants = [group[0] for group in groups]


class _Pairs:
    """What was found out about variants and pairs of them, which live as long as it does."""

    def __init__(self) -> None:
        self._serves: dict[tuple[int, int], bool] = {}
        self._equalities: dict[int, dict[str, str]] = {}
        self._texts: dict[int, tuple[str, Any]] = {}  # of operands, which are kept, by id

    def equalities(self, variant: Captured) -> dict[str, str]:
        """See `_equalities`."""
        found = self._equalities.get(id(variant))
        if found is None:
            found = self._equalities[id(variant)] = _equalities(variant)
        return found

    def text(self, operand: Any) -> str:
        """The text of an expression, a condition or a real of a variant."""
        found = self._texts.get(id(operand))
        if found is None:
            found = self._texts[id(operand)] = (show(operand), operand)
        return found[0]

    def is_wider(self, variant: Captured, other: Captured) -> bool:
        """Whether fewer symbols of the inputs are constants, or it alone serves the other."""
        fewer = len(self.equalities(variant)) < len(self.equalities(other))
        return fewer or not self.serves(other, variant)

    def serves(self, general: Captured, special: Captured) -> bool:
        """Whether one variant computes what another does, at the sizes of the other."""
        key = (id(general), id(special))
        found = self._serves.get(key)
        if found is None:
            found = self._serves[key] = self._compared(general, special)
        return found

    def _compared(self, general: Captured, special: Captured) -> bool:
        a, b = general.tracer, special.tracer
        if general.out_spec != special.out_spec or len(general.parts) + len(special.parts) > 2:
            return False
        if any(getattr(a, name) != getattr(b, name) for name in _FLAGS):
            return False
        if not (a.observations.are_usual and b.observations.are_usual):
            return False
        conditions = [o.condition for v in (general, special) for o in v.guards]
        if any(type(node) is Real or can_raise(node) for node in nodes_below(conditions)):
            return False  # a union of such conditions could lack a value where one of them has one
        try:
            return _Comparison(general, special, self).holds()
        except (AnyshapeError, ArithmeticError, ValueError):  # such as one without a value
            return False


def _equalities(variant: Captured) -> dict[str, str]:
    """The symbols of the inputs that the guards make equal to something, with that as text."""
    env = Env()
    names = [bind.name for bind in variant.inputs.sizes]
    for name in names:
        symbol(env.pool, name)
    for guard in variant.guards:
        if set(names_of(guard.condition)) <= set(names):
            found = parse(env.pool, show(guard.condition))
            env.learn(found)  # type: ignore[arg-type]  # the text of a condition
    return {name: f"({show(e)})" for name, e in env.replacements.items() if name in names}


class _Comparison:
    """One comparison of two graphs."""

    def __init__(self, general: Captured, special: Captured, pairs: _Pairs) -> None:
        self.general = general
        self.special = special
        self.pairs = pairs
        self.equal = pairs.equalities(special)
        self.normals: dict[int, str] = {}  # by the ids of operands
        self.pool = Pool()
        self.values: dict[Value, Value] = {}
        for bind in special.inputs.binds:
            self._declare(bind.name)

    def holds(self) -> bool:
        a, b = self.general.graph, self.special.graph
        counts = [(len(g.inputs), len(g.constants)) for g in (a, b)]
        if counts[0] != counts[1] or len(a.nodes) < len(b.nodes):
            return False
        self.values.update(zip(a.inputs, b.inputs, strict=True))
        for (mine, tensor), (other, same) in zip(a.constants, b.constants, strict=True):
            if tensor is not same:
                return False
            self.values[mine] = other
        others = iter(b.nodes)
        y = next(others, None)
        for x in a.nodes:
            if y is not None and self._same_node(x, y):
                y = next(others, None)
            elif not self._skip(x):
                return False
        if y is not None:
            return False
        if not self._equal(a.outputs, b.outputs) or len(a.signatures) != len(b.signatures):
            return False
        pairs = zip(a.signatures, b.signatures, strict=True)
        return all(self._same_call(x, y) for x, y in pairs) and self._assumptions()

    def _same_node(self, x: Node, y: Node) -> bool:
        """Whether two calls are the same; their results are one from here on."""
        is_same = x.func == y.func and self._equal(x.args, y.args)
        return is_same and self._equal(x.kwargs, y.kwargs) and self._bind(x.outs, y.outs)

    def _skip(self, x: Node) -> bool:
        """Whether a call gives a tensor as it is; the result is the tensor from here on.

        Not one that the program returns: it is another object.
        """
        is_expanded = x.func in _EXPAND
        if not (is_expanded or x.func in _RESHAPE) or x.kwargs or type(x.outs) is not Value:
            return False
        tensor, *sizes = x.args
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = [*sizes[0]]
        if type(tensor) is not Value or any(
            leaf is x.outs for leaf in leaves(self.general.graph.outputs)
        ):
            return False
        shape = tensor.meta.shape
        is_same = len(sizes) == len(shape) and all(
            (is_expanded and n == -1) if type(n) is int and n < 0 else self._equal(n, m)
            for n, m in zip(sizes, shape, strict=True)
        )
        if is_same:
            self.values[x.outs] = self.values[tensor]
        return is_same

    def _same_call(self, mine: CallSignature, other: CallSignature) -> bool:
        """Whether two calls of modules whose signatures are kept are the same."""
        if mine.call.module is not other.call.module or mine.call.number != other.call.number:
            return False
        if (mine.in_spec, mine.out_spec) != (other.in_spec, other.out_spec):
            return False
        return self._equal(mine.inputs, other.inputs) and self._equal(mine.outputs, other.outputs)

    def _assumptions(self) -> bool:
        """Whether the asserts and the deviations are the same."""
        lists = []
        for v in (self.general, self.special):
            asserts = v.tracer.env.runtime_asserts  # without those that deviations may become
            facts = [(str(o.site), o.condition) for o in asserts]
            lists.append(facts + [(f"{d.op} {d.about}", d.condition) for d in v.deviations])
        if len(lists[0]) != len(lists[1]):
            return False
        pairs = zip(*lists, strict=True)
        return all(x[0] == y[0] and self._same_value(x[1], y[1]) for x, y in pairs)

    def _bind(self, mine: Any, other: Any) -> bool:
        """Whether two patterns of results are the same; the values in them are one from here on."""
        if type(mine) is not type(other):
            return False
        if type(mine) is Value:
            self.values[mine] = other
            return mine.meta.dtype is other.meta.dtype
        if type(mine) is tuple:
            pairs = zip(mine, other, strict=False)
            return len(mine) == len(other) and all(self._bind(x, y) for x, y in pairs)
        return bool(mine == other)

    def _equal(self, mine: Any, other: Any) -> bool:
        kind = type(mine)
        if kind in SYMBOLIC or type(other) in SYMBOLIC:
            return self._same_number(mine, other)
        if kind is not type(other):
            return False
        if kind is Value:
            return self.values.get(mine) is other
        if isinstance(mine, tuple | list):
            pairs = zip(mine, other, strict=False)
            return len(mine) == len(other) and all(self._equal(x, y) for x, y in pairs)
        if kind is dict:
            return [*mine] == [*other] and self._equal([*mine.values()], [*other.values()])
        if kind is slice:
            parts = (mine.start, mine.stop, mine.step)
            return self._equal(parts, (other.start, other.stop, other.step))
        if kind is Held:
            return mine.object is other.object
        if kind is float:
            return bool(mine.hex() == other.hex())
        return bool(mine == other) if kind in _PLAIN else mine is other

    def _same_number(self, mine: Any, other: Any) -> bool:
        """Whether two numbers, at least one of which is symbolic, have the same value."""
        kinds = {type(x) for x in (mine, other)}
        if SymFloat in kinds and len(kinds) > 1:
            return False
        if scalar_of(mine) != scalar_of(other):
            return False
        if not kinds <= {*SYMBOLIC, int, bool}:
            return False
        a, b = [operand_of(x) if type(x) in SYMBOLIC else x for x in (mine, other)]
        return self._same_value(a, b)

    def _same_value(self, mine: Any, other: Any) -> bool:
        kind, text = type(mine), self.pairs.text
        if kind is type(other) and kind not in (int, bool) and text(mine) == text(other):
            return True
        return self._normal(mine) == self._normal(other)

    def _normal(self, operand: Any) -> str:
        """An operand with the equalities of the other variant, as text."""
        if type(operand) in (int, bool):
            return str(operand)
        found = self.normals.get(id(operand))
        if found is None:
            found = self.normals[id(operand)] = self._parsed(operand)
        return found

    def _parsed(self, operand: Any) -> str:
        text = renamed(self.pairs.text(operand), self.equal)
        if type(operand) is Real:
            return text
        for name in names_of(operand):
            self._declare(name)
        return str(parse(self.pool, text))

    def _declare(self, name: str) -> None:
        if name not in self.pool.by_name:
            symbol(self.pool, name)
