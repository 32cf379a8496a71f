"""Which real tensors were born while a trace runs: they are made anew on every call.

CPython's collector keeps objects by generation. At the start of a trace all objects count as old,
so that a tensor in the youngest generation was born since. What a collection, or another trace,
is about to move out of it is noted first.

To list the objects of the collector while another thread builds a tuple breaks that thread. So
where other threads run, the recorder tells which tensors are old.
"""

from __future__ import annotations

import gc
import threading
import weakref
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.tensor_subclass import storage_id, storage_use_count
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.graph import CONSTANT, RESULT, Node, Value, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.trace.tracer import Tracer

_IMMORTAL: Final = 1000
_MADE: Final = "make it outside the traced function, or use torch.tensor"


def is_frozen() -> bool:
    """Whether the user has called `gc.freeze`, which freezes all objects: thousands at least.

    The collector of Python 3.12 freezes the immortal ones by itself: a few hundred.
    """
    return gc.get_freeze_count() > _IMMORTAL


def grow_old() -> None:
    """Count all objects as old, unless the user has frozen some."""
    if not is_frozen():
        note_births()
        gc.freeze()
        gc.unfreeze()


def note_births() -> None:
    """Tell all traces that run which tensors are young."""
    if _watching and not _has_threads():
        young = _young((0,))
        for births in list(_watching):
            births.note(young)


def _has_threads() -> bool:
    return threading.active_count() > 1


def _young(generations: Iterable[int]) -> list[torch.Tensor]:
    """The real tensors of some generations. Nothing else is kept: it could be the list itself."""
    found: list[torch.Tensor] = []
    for generation in generations:
        objects = gc.get_objects(generation=generation)
        kinds = set(map(type, objects))
        kinds = {k for k in kinds if issubclass(k, torch.Tensor) and k is not SymTensor}
        if kinds:
            found += compress(objects, map(kinds.__contains__, map(type, objects)))
    return found


def _before_collection(phase: str, _: Any) -> None:
    if phase == "start":
        note_births()


_watching: Final[list[Births]] = []
_lock: Final = threading.Lock()


class Births:
    """The tensors that were born since it was entered."""

    def __init__(self) -> None:
        self._noted: dict[int, weakref.ref[torch.Tensor]] = {}
        self._before: dict[int, weakref.ref[torch.Tensor]] = {}
        self.is_outside: Callable[[Any], bool] = lambda _: True

    def __enter__(self) -> None:
        grow_old()
        if is_frozen() and not _has_threads():
            self._before = {id(t): weakref.ref(t) for t in _young((0, 1))}
        with _lock:
            if not _watching:
                gc.callbacks.append(_before_collection)
            _watching.append(self)

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:  # otherwise the trace has asked at its end
            note_births()
        with _lock:
            _watching.remove(self)
            if not _watching:
                gc.callbacks.remove(_before_collection)

    def note(self, young: list[torch.Tensor]) -> None:
        """Remember tensors that are young."""
        for t in young:
            if not _is_in(self._before, t):
                self._noted[id(t)] = weakref.ref(t)

    def exclude(self, tensor: torch.Tensor) -> None:
        """Count a tensor as old: it was there, and has a Python object only now."""
        self._before[id(tensor)] = weakref.ref(tensor)
        self._noted.pop(id(tensor), None)

    def include(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor was born, as of the last `note_births`."""
        guesses = _has_threads() and not _is_in(self._before, tensor)
        if guesses and not self.is_outside(tensor):
            self._noted[id(tensor)] = weakref.ref(tensor)
        return _is_in(self._noted, tensor)

    def count(self, storage: Any) -> int:
        """The number of tensors over a storage that were born and are alive."""
        alive = [t for t in [ref() for ref in self._noted.values()] if t is not None]
        return sum(storage_id(t.untyped_storage()) == storage for t in alive if _has_storage(t))


def _is_in(refs: dict[int, weakref.ref[torch.Tensor]], tensor: torch.Tensor) -> bool:
    ref = refs.get(id(tensor))
    return ref is not None and ref() is tensor


def _has_storage(t: torch.Tensor) -> bool:
    return t.layout is torch.strided and not t.is_nested


# ---------------------------------------------------------------------- in the graph


def note_foreign(tracer: Tracer, value: Value, tensor: torch.Tensor) -> None:
    """Keep a copy of a tensor that was born inside over memory of something else than torch."""
    with DisableTorchFunction():
        if _has_storage(tensor) and not tensor.untyped_storage().resizable():
            note_births()
            if tracer.births.include(tensor):
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
        note_births()
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
