"""`m.name = value` of a torch module from outside: parameters, submodules, buffers and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.torch_compat.module_attribute import (
    BUFFERS,
    MODULES,
    NON_PERSISTENT,
    PARAMETERS,
    REGISTRATION_HOOKS,
    REGISTRIES,
)
from anyshape.trace.record.attribute.own_dict import DELETED

if TYPE_CHECKING:
    from anyshape.trace.record.attribute.attribute import Attributes


def assign_to_module(attributes: Attributes, m: torch.nn.Module, name: str, value: Any) -> None:
    """Repeat `Module.__setattr__`, for names that are already registered and for others."""
    recorder = attributes.recorder
    own = m.__dict__
    if isinstance(value, torch.nn.Parameter | torch.nn.Module):
        is_parameter = not isinstance(value, torch.nn.Module)
        _register(attributes, m, PARAMETERS if is_parameter else MODULES, name, value)
        return
    for registry in (PARAMETERS, MODULES, BUFFERS):
        table = own[registry]
        if name in recorder.shadows.get(id(table), table):
            if registry != BUFFERS and value is not None:
                raise recorder.refusal(f"the parameter or module {name} is assigned")
            recorder.outside(table)
            attributes.known.pop((id(m), name), None)
            attributes.calls.containers.set_item(table, name, value)
            return
    attributes.assign(m, name, value)


def _register(
    attributes: Attributes, m: torch.nn.Module, registry: str, name: str, value: Any
) -> None:
    """Assign a parameter or a submodule; what else the module has under the name is dropped."""
    recorder, containers, own = attributes.recorder, attributes.calls.containers, m.__dict__
    changed: set[str] = recorder.changed.get(id(m), (m, set()))[1]
    is_plain = name in changed and attributes.known[id(m), name] is not DELETED
    is_plain = is_plain or name in own
    is_simple = recorder.replays and not any(REGISTRATION_HOOKS) and not is_plain
    if not is_simple or name in own[NON_PERSISTENT]:
        raise recorder.refusal(f"the parameter or module {name} is assigned")
    for other in REGISTRIES:
        table = own[other]
        recorder.outside(table)
        if other != registry and name in recorder.shadows.get(id(table), table):
            containers.del_item(table, name)
    attributes.known.pop((id(m), name), None)
    changed.discard(name)
    containers.set_item(own[registry], name, value)
