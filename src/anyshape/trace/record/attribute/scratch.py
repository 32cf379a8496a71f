"""Attributes that an exported program assigns to modules, as calls of its graph.

A module keeps what is assigned to it in a call until the next one. The program does the same, with
the values of its own call, if no call reads what the one before left: its results then depend on
its inputs alone. A buffer that is assigned is copied into, so that the state of the program has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import EffectError
from anyshape.events import Deviation
from anyshape.expr.boolean import true
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.trace.graph.graph import Value, leaves
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.object_kind import ATOMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.trace.graph.graph import Graph, Name
    from anyshape.trace.record.read.read_log import Entry
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer


def is_read(log: Iterable[Entry], o: Any, name: str) -> bool:
    """Whether what an attribute was before the call has been looked at."""
    own = getattr(o, "__dict__", None)
    return any(key == name and (owner is o or owner is own) for _, owner, key, _ in log)


def repeat(recorder: Recorder, o: Any, name: str, value: Any, site: Any) -> bool:
    """Have the program assign an attribute of a module, or copy into the tensor that it was, if the
    call has read that, which is a deviation; False if it cannot.
    """
    if not isinstance(o, torch.nn.Module):
        return False
    if is_read(recorder.reads.values(), o, name):
        old = vars(o).get(name)
        return _fits(recorder, old, value) and _copy(
            recorder, old, value, f"the attribute {name}", site
        )
    operand = _operand(recorder, value)
    if operand is None and value is not None:
        return False
    recorder.tracer.emit(effect.set_attribute, (Held(o), name, operand)).site = site
    return True


def _operand(recorder: Recorder, x: Any) -> Any:
    """A value as an argument of a call of the graph; None if the program cannot make it."""
    kind = type(x)
    if kind is SymSize:
        return recorder.compute(effect.size, tuple(x))
    if kind in ATOMS or isinstance(x, torch.Tensor):
        return x
    if kind in (list, tuple) and (recorder.is_born(x) or not recorder.is_outside(x)):
        parts = tuple([_operand(recorder, part) for part in x])
        if any(part is None and given is not None for part, given in zip(parts, x, strict=True)):
            return None
        return parts if kind is tuple else _built(recorder, kind, parts)
    return Held(x) if recorder.is_outside(x) and not recorder.is_born(x) else None


def _built(recorder: Recorder, kind: type, parts: Any) -> Name:
    return recorder.compute(effect.build, Held(kind), parts)


def repeat_buffers(recorder: Recorder, real: Any, shadow: Any, site: Any) -> bool:
    """Have the program copy the new buffers of a module into the old ones, which is a deviation, or
    assign those that were not read and are of another kind; False if the dict is none of buffers,
    or one that was read is of another kind now.
    """
    owners = [o for _, o, *_ in recorder.reads.values() if isinstance(o, torch.nn.Module)]
    if not any(vars(o).get("_buffers") is real for o in owners) or [*real] != [*shadow]:
        return False
    changed = [key for key in real if real[key] is not shadow[key]]
    kept = [k for k in changed if _fits(recorder, real[k], shadow[k])]
    others = [k for k in changed if k not in kept]
    if any(_is_given(recorder.reads.values(), real[k]) for k in others):
        return False
    operands = {k: _operand(recorder, shadow[k]) for k in others}
    for key, operand in operands.items():
        recorder.tracer.emit(effect.set_item, (Held(real), key, operand))
    return all(_copy(recorder, real[k], shadow[k], f"the buffer {k}", site) for k in kept)


def repeat_items(recorder: Recorder, real: Any, shadow: Any, site: Any) -> bool:
    """Have the program copy the tensors that were put in place of others of a list or a dict into
    these, which is a deviation; False if something else has changed.
    """
    if type(real) is list and len(real) == len(shadow):
        keys: list[Any] = [*range(len(real))]
    elif type(real) is dict and [*real] == [*shadow]:
        keys = [*real]
    else:
        return False
    changed = [key for key in keys if real[key] is not shadow[key]]
    if not all(_fits(recorder, real[k], shadow[k]) for k in changed):
        return False
    return all(_copy(recorder, real[k], shadow[k], f"the item {k}", site) for k in changed)


def _copy(recorder: Recorder, old: Any, new: Any, what: str, site: Any) -> bool:
    """Have the program copy a tensor that is assigned into the one that was there."""
    tracer = recorder.tracer
    recorder.outside(old)
    with torch.no_grad():
        old.copy_(new)
    about = f"of {what} copies into the old tensor"
    found = Deviation(tracer.env, "assignment", true(tracer.env.pool), about, site)
    tracer.deviations.append(found)
    recorder.copied.append(old)
    return True


def _is_given(log: Iterable[Entry], x: Any) -> bool:
    """Whether a read gave an object."""
    found = [value for *_, value in log]
    return any(f is x or (type(f) is tuple and any(part is x for part in f)) for f in found)


def _fits(recorder: Recorder, old: Any, new: Any) -> bool:
    """Whether a tensor can be copied into another without a change of the latter's kind, and is no
    view of a tensor from outside, into which another one may be copied first.
    """
    if not isinstance(old, torch.Tensor) or type(new) is not SymTensor or old.requires_grad:
        return False
    shape = tuple(new.shape)
    outside = [value for value, _ in recorder.tracer.graph.constants]
    if not all(type(n) is int for n in shape) or any(new._value.root is v for v in outside):
        return False
    return (old.dtype, old.device, tuple(old.shape)) == (new.dtype, new.device, shape)


def returned(graph: Graph, tensors: Iterable[torch.Tensor]) -> bool:
    """Whether a program returns one of some tensors from outside, or a view of it."""
    roots = {id(value) for value, t in graph.constants if any(t is other for other in tensors)}
    outputs = [x for x in leaves(graph.outputs) if type(x) is Value]
    return any(id(x) in roots or id(x.root) in roots for x in outputs)


def need_unread(tracers: Sequence[Tracer]) -> None:
    """Refuse what one path or variant of a program assigns, and another one reads: a later call may
    take that.
    """
    logs = [t.recorder.reads.values() for t in tracers if t.recorder is not None]
    for node in [node for tracer in tracers for node in tracer.graph.nodes]:
        if node.func is effect.set_attribute and type(node.args[0]) is Held:
            owner, name = node.args[0].object, node.args[1]
            if any(is_read(log, owner, name) for log in logs):
                raise EffectError(
                    f"the function assigns {name} of a {type(owner).__name__}, at {node.site}",
                    why="on another side of a branch it reads what an earlier call left",
                    fix="return the value, or keep it in a buffer",
                )
