"""Tensors that may be items of a list whose length only the run knows.

An item that is taken out of such a list is a new tensor of the trace, though it may be one that the
trace has under another name. So the run tells whether two tensors are one, and metadata do not
change where another name would keep the old ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.tensor.size import known
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.sequence import list_call
from anyshape.trace.sequence.list_meta import ListMeta
from anyshape.trace.sequence.sym_list import SymList, meta_of_item, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.errors import UnsupportedError
    from anyshape.symbolic.sym_bool import SymBool
    from anyshape.trace.graph.graph import Node, Value


def is_same_item(a: Any, b: Any) -> SymBool | None:
    """`a is b` where the run answers it; None where it does not depend on what is in lists."""
    if type(a) is SymList and type(b) is SymList:
        if a is b or not (a._is_shared or b._is_shared):
            return None
    elif SymList in (type(a), type(b)) and list in (type(a), type(b)):
        need_no_copy(a, b)
        return None
    elif not _may_be_one(a, b):
        return None
    tracer = a._tracer if type(a) in (SymTensor, SymList) else b._tracer
    same: SymBool = tracer.mint(list_call.same_object, (a, b), min=0, max=1) == 1
    return same


def _may_be_one(a: Any, b: Any) -> bool:
    """Whether two tensors are made by calls, of a trace with lists."""
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)) or a is b:
        return False
    traced = [t for t in (a, b) if type(t) is SymTensor]
    return any(t._tracer.has_lists and t._value.node is not None for t in traced)


def need_no_copy(a: Any, b: Any) -> None:
    """Raise if a list of Python's may be the item that the trace has as a list of the graph."""
    of_graph, of_python = (a, b) if type(a) is SymList else (b, a)
    if of_graph._is_shared and id(of_python) in of_graph._tracer.frozen:
        raise refusal_of("a comparison of an item with `is`")


def need_no_item(x: Any) -> None:
    """Raise if a tensor whose id is asked for may be an item."""
    if type(x) is SymTensor and x._tracer.has_lists and x._value.node is not None:
        raise refusal_of("the id of a tensor that may be an item")


def need_alone(t: SymTensor, live: Iterable[Value], new: Iterable[Node]) -> None:
    """Raise if a tensor whose metadata change may be an item of a list, or was one.

    `live` are the values that the program holds. What one of the `new` calls has made is in a list
    only if the trace has put it there.
    """
    tracer, value = t._tracer, t._value
    if _is_item(value):
        raise _shared()
    if any(node is value.node for node in new) and value not in tracer.listed:
        return
    mine = meta_of_item(tracer, t)
    for other in live:
        meta = other.meta
        if type(meta) is ListMeta:
            if _may_hold(meta, mine):
                raise _shared()
        elif _is_item(other) and _may_hold(ListMeta.of(meta), mine):
            raise _shared()


def _is_item(value: Value) -> bool:
    return value.node is not None and value.node.func is list_call.list_item


def _may_hold(items: ListMeta, one: ListMeta) -> bool:
    """Whether a list may have an item of this kind."""
    if items.kind[:1] != one.kind[:1] or items.kind[2:] != one.kind[2:]:  # nested or not
        return False
    if len(items.shape) != len(one.shape):
        return False
    pairs = zip(items.shape[1:], one.shape[1:], strict=True)
    return not any(n is not None and known(n != m) is True for n, m in pairs)


def _shared() -> UnsupportedError:
    return refusal_of("other sizes, strides or requires_grad for a tensor that may be an item")
