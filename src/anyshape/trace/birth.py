"""Which real tensors were born while a trace runs: they are made anew on every call.

A tensor was born if the recorder saw it made, and is old if the recorder saw where it was found.
One of neither kind is refused: nobody knows whether the next call gets the same tensor or another.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.tensor_subclass import storage_id, storage_use_count
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.graph.graph import CONSTANT, RESULT, Node, Value, leaves

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer

_MADE: Final = "make it outside the traced function, or use torch.tensor"


class Births:
    """The real tensors that were seen to be made; none of them is kept alive."""

    def __init__(self) -> None:
        self._made: dict[int, weakref.ref[torch.Tensor]] = {}
        self.arrays: list[tuple[Any, int]] = []  # values whose memory arrays show, with versions

    def note(self, tensor: torch.Tensor) -> torch.Tensor:
        """Remember that a tensor was made; gives it."""
        self._made[id(tensor)] = weakref.ref(tensor)
        return tensor

    def include(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor was seen to be made."""
        ref = self._made.get(id(tensor))
        return ref is not None and ref() is tensor

    def count(self, storage: Any) -> int:
        """The number of tensors over a storage that were born and are alive."""
        alive = [t for t in [ref() for ref in self._made.values()] if t is not None]
        return sum(storage_id(t.untyped_storage()) == storage for t in alive if _has_storage(t))


def need_origin(tracer: Tracer, tensor: torch.Tensor) -> None:
    """Refuse a tensor that was neither seen to be made nor found at a place outside."""
    if tracer.births.include(tensor) or tracer.recorder is None:
        return
    if not tracer.recorder.is_old(tensor):
        raise _refusal("a tensor comes from code that is not recorded")


def _has_storage(t: torch.Tensor) -> bool:
    return type(t) is not SymTensor and t.layout is torch.strided and not t.is_nested


# ---------------------------------------------------------------------- in the graph


def note_foreign(tracer: Tracer, value: Value, tensor: torch.Tensor) -> None:
    """Keep a copy of a tensor that was born inside over memory of something else than torch."""
    with DisableTorchFunction():
        if not tracer.births.include(tensor) or not _has_storage(tensor):
            return
        if not tensor.untyped_storage().resizable():
            tracer.memo[value, "foreign"] = tensor.detach().clone()


def settle(tracer: Tracer, start: int, since: int) -> list[tuple[Value, torch.Tensor]]:
    """Make the constants from number `since` on that were born inside results of the graph.

    A constant that was born inside becomes a copy of its value, made at node number `start`. What
    the program does to it is recorded and was not done, so the value is that of its birth. Returns
    the new results and the tensors that they stand for.
    """
    constants = tracer.graph.constants
    if since == len(constants):
        return []
    with DisableTorchFunction():
        births = tracer.births
        born = [(v, t) for v, t in constants[since:] if births.include(t)]
        if not born:
            return []
        kept = constants[:since] + [(v, t) for v, t in constants[since:] if not births.include(t)]
        tracer.graph.constants[:] = kept
        results: list[tuple[Value, torch.Tensor]] = []
        for value, tensor in born:
            if _is_own(tracer, value, tensor):
                tracer.graph.nodes.insert(start + len(results), _fresh(tracer, value, tensor))
                results.append((value, tensor))
            else:
                constants.append((value, tensor))
        for place, (value, _) in enumerate(constants):
            value.index = place
        return results


def _is_own(tracer: Tracer, value: Value, tensor: torch.Tensor) -> bool:
    """Whether a tensor that was born inside has memory of its own.

    Memory that belongs to something else, as after `from_numpy`, is read again on every call. A
    program that writes to it, or returns it, is refused.
    """
    if tensor.grad_fn is not None:
        raise _refusal("a tensor with a gradient function is made where the tracer does not see it")
    storage = tensor.untyped_storage()
    if storage.resizable():
        owners = tracer.births.count(storage_id(storage))
        shows = tracer.epoch or _is_returned(tracer, value)  # that they share it
        if storage_use_count(storage) > owners + 1 or (owners > 1 and shows):
            raise _refusal("a tensor is made over the memory of another, unseen by the tracer")
        return True
    copy = tracer.memo.get((value, "foreign"))
    changed = value.version or copy is None or not _same_bits(copy, tensor)
    if changed or _is_returned(tracer, value):
        raise _refusal("the program changes or returns a tensor over memory that is not torch's")
    return False


def _is_returned(tracer: Tracer, value: Value) -> bool:
    return any(type(x) is Value and x.root is value for x in leaves(tracer.graph.outputs))


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = a.contiguous().view(-1), b.detach().contiguous().view(-1)
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def _refusal(what: str) -> UnsupportedError:
    return refused(UnsupportedError, what, fix=_MADE)


def _fresh(tracer: Tracer, value: Value, tensor: torch.Tensor) -> Node:
    """The call that makes a constant anew; its value becomes the result."""
    copy = tensor.detach().clone()
    if copy.stride() != tensor.stride():
        raise _refusal("a tensor with gaps in its memory is made where the tracer does not see it")
    kind = type(tensor)
    constant = Value(len(tracer.graph.constants), CONSTANT, value.meta)
    tracer.graph.constants.append((constant, copy))
    if kind is torch.Tensor and not tensor.requires_grad:
        node = Node(torch.clone, (constant,), {}, None, 0)
    else:
        node = Node(make_leaf, (constant, tensor.requires_grad, kind), {}, None, 0)
    value.kind, value.node, value.index = RESULT, node, tracer.next_result()
    node.outs = value
    return node


def made(tracer: Tracer, x: Any) -> Any:
    """What a rule gave in place of tensors; lists are new ones on every run, with all in them."""
    if type(x) is list and tracer.recorder is not None:
        tracer.recorder.born_below(x)
    return x


def make_leaf(data: torch.Tensor, requires_grad: bool, kind: type) -> torch.Tensor:
    """A new tensor with its own memory, of class `kind`, without a history."""
    copy = data.detach().clone()
    if kind is torch.Tensor:
        return copy.requires_grad_(requires_grad)
    return make_parameter(copy, requires_grad)


def make_parameter(data: torch.Tensor, requires_grad: bool) -> torch.Tensor:
    """A parameter over the memory of a tensor."""
    made: torch.Tensor = torch.nn.Parameter(data.detach(), requires_grad)
    return made
