"""Numbers that only the run knows: sizes that are read off tensors, and elements."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.domain import INF, NINF, Interval
from anyshape.interop.aten.symbols import refuse
from anyshape.rules.data_dependent import count_elements, count_selected
from anyshape.torch_compat import pytree
from anyshape.torch_compat.pre_dispatch import ITEM
from anyshape.torch_compat.sympy_expression import CallMethodKey, DivideByKey
from anyshape.trace.graph.fresh_size import part_of_size
from anyshape.trace.graph.graph import Name, op_name

if TYPE_CHECKING:
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Node

_ATEN: Final[Any] = torch.ops.aten


def write_read(writer: AtenWriter, step: Node) -> None:
    """Write a call that gives values to numbers."""
    func, args = step.func, step.args
    if type(step.outs) is tuple:
        _write_list(writer, step)
    elif func in (torch.Tensor.size, part_of_size):
        _show(writer, step.outs, *args[:2])
    elif func is torch.Tensor.item:
        _write_item(writer, writer.values[args[0]], step.outs)
    elif func is count_elements:
        _write_item(writer, _counted(writer, writer.values[args[0]]), step.outs)
    elif func is count_selected:
        _write_item(writer, _selected(writer, step), step.outs)
    elif func in (torch.equal, torch.allclose):
        _write_item(writer, _compared(writer, step), step.outs)
    else:
        raise refuse(f"the number that {op_name(func)} gives", step)


def natural_range(step: Node) -> Interval:
    """The range that the numbers of a call have by what they are."""
    if step.func in (torch.Tensor.size, part_of_size, count_elements, count_selected):
        return Interval(0, INF)
    is_truth = step.func is torch.Tensor.item and step.args[0].meta.dtype is torch.bool
    return Interval(0, 1) if is_truth else Interval(NINF, INF)


def _show(writer: AtenWriter, name: Name, value: Any, dim: int) -> None:
    """A size that stands in the shape of a result, or an expression of the number alone."""
    node: Any = writer.node_of(value)
    made = writer.symbols.numbers[name]
    symbol = made.node.expr
    shown = writer.symbols.number(value.meta.shape[dim])
    key: tuple[Any, ...] = (CallMethodKey("size"), pytree.SequenceKey(dim))
    if hasattr(shown, "node") and shown.node.expr != symbol:
        writer.solve(symbol, shown.node.expr, node, dim)
        key = (*key, DivideByKey(int(shown.node.expr.coeff(symbol))))
    else:
        writer.numbers.places[symbol] = (node, dim)
    while node.target is operator.getitem:  # torch looks for them at the op
        node, place = node.args
        key = (pytree.SequenceKey(place), *key)
    node.meta.setdefault("unbacked_bindings", {})[symbol] = key


def _write_item(writer: AtenWriter, fake: Any, name: Name) -> None:
    node = tested = writer.node_arg(fake)
    if fake.dtype is torch.bool:
        cast = writer.fakes.make(list(fake.shape), None, torch.int64, fake.device)
        node = writer.emit(_ATEN.to.dtype, (node, torch.int64), cast)
    made = writer.symbols.numbers[name]
    symbol = made.node.expr
    writer.numbers.made[symbol] = item = writer.emit(ITEM, (node,), made)
    item.meta["unbacked_bindings"] = {symbol: ()}
    if fake.dtype is torch.bool:
        writer.numbers.tests[symbol] = tested


def _write_list(writer: AtenWriter, step: Node) -> None:
    """`tolist` of a row: each element by itself."""
    if step.func is not torch.Tensor.tolist:
        raise refuse(f"the numbers that {op_name(step.func)} gives", step)
    row = step.args[0]
    dtype, device = row.meta.dtype, row.meta.device or torch.device("cpu")
    for i, name in enumerate(step.outs):
        one = writer.fakes.make([], [], dtype, device)
        writer.note(one, writer.emit(_ATEN.select.int, (writer.node_of(row), 0, i), one))
        _write_item(writer, one, name)


def _counted(writer: AtenWriter, mask: Any) -> Any:
    """The number of elements that are not 0, as a tensor."""
    count = writer.fakes.make([], None, torch.int64, mask.device)
    node = writer.node_arg(mask)
    writer.note(count, writer.emit(_ATEN.count_nonzero.default, (node,), count))
    return count


def _selected(writer: AtenWriter, step: Node) -> Any:
    """The number of elements where a mask, broadcast against a tensor, holds, as a tensor."""
    x, mask = [writer.values[a] for a in step.args]

    def count() -> Any:
        held = torch.ones_like(x, dtype=torch.bool) & mask
        return held.count_nonzero()

    return writer.computed(step, count)


def _compared(writer: AtenWriter, step: Node) -> Any:
    """Whether all elements of two tensors are equal, or near, as a tensor."""
    x, y = [writer.values[a] for a in step.args[:2]]
    near = step.func is torch.allclose
    if not near and x.shape != y.shape:
        raise refuse("torch.equal of tensors whose sizes may differ", step)
    rest, kwargs = writer.arg(step.args[2:]), writer.arg(step.kwargs)
    test = torch.isclose if near else torch.eq
    return writer.computed(step, lambda: test(x, y, *rest, **kwargs).all())
