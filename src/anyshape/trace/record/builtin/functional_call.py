"""`torch.func.functional_call`: a module that is called with other tensors in its registries.

Eager execution puts the tensors into the module and takes them out again. Here the registries have
shadows while the call lasts, so that the module itself is as before: its code runs as twins, finds
the given tensors, and all else that it reads is noted. Which tensors are tied depends on what all
registries hold, which is noted too. What torch would refuse, or look for outside of the registries,
is left to torch, as is a module that assigns to its registries meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.module_attribute import BUFFERS, MODULES, PARAMETERS, STATELESS_CALL
from anyshape.trace.record.read import read_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder

FUNCTIONAL_CALLS: Final = (torch.func.functional_call, STATELESS_CALL)


def functional_call(
    recorder: Recorder,
    module: Any,
    given: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors for its parameters and buffers, by name."""
    if not isinstance(module, torch.nn.Module) or recorder.is_born(module):
        raise recorder.refusal("torch.func.functional_call of something that is no module")
    slots = dict(_slots(recorder, module, ""))
    tensors = _tensors(recorder, given)
    if not tensors.keys() <= slots.keys() or (strict and tensors.keys() != slots.keys()):
        raise recorder.refusal("torch.func.functional_call has other names than the module")
    if tie_weights:
        tensors = _tied(recorder, slots, tensors)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _Placed(recorder, {slots[name][:3]: t for name, t in tensors.items()}, slots):
        return recorder.hooks.ready(module)(*args, **({} if kwargs is None else kwargs))


def _slots(recorder: Recorder, m: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The places of all tensors of a module by name: module, registry, key, and the tensor."""
    own = recorder.own_dict(m.__dict__, m)
    for registry in (PARAMETERS, BUFFERS):
        table = recorder.own_item(m, own, registry)
        if id(table) in recorder.shadows:
            raise recorder.refusal("torch.func.functional_call of a module that was changed")
        for name, t in recorder.content(table).items():
            if t is not None:
                yield prefix + name, (m, registry, name, t)
    parts = recorder.content(recorder.own_item(m, own, MODULES))
    for name, part in parts.items():
        if part is not None:
            yield from _slots(recorder, part, f"{prefix}{name}.")


def _tensors(recorder: Recorder, given: Any) -> dict[str, Any]:
    """The tensors of one dict, or of several with other keys."""
    dicts = [given] if isinstance(given, dict) else list(recorder.hooks.iterated(given))
    found: dict[str, Any] = {}
    for d in dicts:
        own = recorder.hooks.mapping(d) if isinstance(d, dict) else None
        if own is None or not found.keys().isdisjoint(own):
            raise recorder.refusal("torch.func.functional_call has no dicts of tensors")
        found.update(own)
    if not all(isinstance(t, torch.Tensor) for t in found.values()):
        raise recorder.refusal("torch.func.functional_call is given something else than tensors")
    return found


def _tied(recorder: Recorder, slots: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors with those for all other names of what they stand for."""
    given: dict[int, Any] = {}
    for name, t in tensors.items():
        if given.setdefault(id(slots[name][3]), t) is not t:
            raise recorder.refusal("torch.func.functional_call has two values for one tensor")
    return {name: given[id(held)] for name, (*_, held) in slots.items() if id(held) in given}


class _Placed:
    """Tensors in shadows of the registries of modules, while a block lasts."""

    def __init__(
        self, recorder: Recorder, tensors: dict[tuple[Any, str, str], Any], slots: dict[str, Any]
    ) -> None:
        self._recorder = recorder
        self._tensors = tensors
        self._names = {(id(m), name): None for m, _, name, _ in slots.values()}
        self._shadows: dict[int, Any] = {}
        self._tables: dict[int, Any] = {}

    def __enter__(self) -> None:
        recorder = self._recorder
        for (m, registry, name), t in self._tensors.items():
            table = m.__dict__[registry]
            shadow = self._shadows.setdefault(id(table), dict(table))
            shadow[name] = t
            self._tables[id(table)] = table
            recorder.assigned.setdefault(id(table), set()).add(name)
        self._forget()
        recorder.shadows.update({key: dict(shadow) for key, shadow in self._shadows.items()})

    def __exit__(self, *error: object) -> None:
        recorder = self._recorder
        found = {key: recorder.shadows.pop(key, None) for key in self._shadows}
        for key in found:
            recorder.assigned.pop(key, None)
        self._forget()
        if error[0] is None and any(
            shadow is None or not _same(shadow, self._shadows[key]) for key, shadow in found.items()
        ):
            raise recorder.refusal("a module changes its registries in torch.func.functional_call")

    def _forget(self) -> None:
        """Let the recorder look again at what modules have under the names of the slots."""
        for key, name in self._names:
            self._recorder.known.pop((key, name), None)
            self._recorder.reads.pop((read_log.REGISTERED, key, name), None)


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(a[key] is b[key] for key in a)
