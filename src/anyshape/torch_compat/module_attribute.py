"""The attributes in which a `torch.nn.Module` keeps what was assigned to it.

The public methods (`named_parameters`, `children`) give copies without what occurs twice; to watch,
share or restore the registries themselves takes their names.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

import torch
from torch.nn.modules import module as _module
from torch.nn.modules.lazy import LazyModuleMixin

PARAMETERS: Final = "_parameters"
"""Name to parameter, or None."""

BUFFERS: Final = "_buffers"
"""Name to buffer, or None."""

MODULES: Final = "_modules"
"""Name to submodule, or None."""

NON_PERSISTENT: Final = "_non_persistent_buffers_set"
"""The names of the buffers that `state_dict` leaves out, a set."""

REGISTRIES: Final = (PARAMETERS, BUFFERS, MODULES)

STATELESS_CALL: Final = torch.nn.utils.stateless._functional_call
"""Calls a module with other tensors for its parameters, as `torch.func.functional_call` does."""

LOAD_OWN: Final = torch.nn.Module._load_from_state_dict
"""The method by which a module takes its own tensors out of a state dict; layers override it."""

HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks")
"""The hooks that run around the forward pass: number to function."""

CALL_HOOKS: Final = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
"""The hooks that calling a module looks at."""


def called_after_errors(module: torch.nn.Module) -> list[Any]:
    """The forward hooks that run after an error, too."""
    hooks = module._forward_hooks
    return [hooks[number] for number in module._forward_hooks_always_called if number in hooks]


FULL_BACKWARD_HOOK: Final = "_is_full_backward_hook"
"""Which kind the backward hooks of a module are; None without any."""

STATE_HOOKS: Final = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
"""The hooks that run around `state_dict` and `load_state_dict`."""

GLOBAL_HOOKS: Final = (
    _module._global_forward_hooks,
    _module._global_forward_pre_hooks,
    _module._global_backward_hooks,
    _module._global_backward_pre_hooks,
)
"""The hooks of all modules."""

REGISTRATION_HOOKS: Final = (
    _module._global_buffer_registration_hooks,
    _module._global_module_registration_hooks,
    _module._global_parameter_registration_hooks,
)
"""The hooks that run when a buffer, a submodule or a parameter is assigned to any module."""

CALL: Final = torch.nn.Module.__call__
"""What a module has for its class to be called, unless the user has replaced it."""

CALL_IMPL: Final = torch.nn.Module._call_impl
"""What calling a module runs: the hooks and the forward pass."""


def has_plain_call(m: torch.nn.Module) -> bool:
    """Whether a module is called as modules are: hooks, and its `forward`."""
    kind: Any = type(m)
    return kind.__call__ is CALL and kind._call_impl is CALL_IMPL


def calls_forward(m: torch.nn.Module) -> bool:
    """Whether calling a module calls its `forward`, and nothing else."""
    own = m.__dict__
    hooks = any(own[name] for name in CALL_HOOKS) or any(GLOBAL_HOOKS)
    return has_plain_call(m) and not hooks


def overridden(kind: type) -> list[str]:
    """The methods of modules, other than special ones, that a class has in place of torch's.

    The passage from a call to the forward pass is not among them.
    """
    found = [
        name
        for name, method in vars(torch.nn.Module).items()
        if isinstance(method, FunctionType) and not name.startswith("__")
    ]
    return [
        name
        for name in found
        if name not in _CALLING and getattr(kind, name) is not getattr(torch.nn.Module, name)
    ]


_CALLING: Final = ("forward", "_call_impl", "_wrapped_call_impl", "_slow_forward")


def own_call(kind: Any, call: Any) -> Any:
    """The method that `call`, the `__call__` of a class of modules, comes down to.

    A `GraphModule` of fx has one that only adds to the text of errors.
    """
    if not issubclass(kind, torch.fx.GraphModule) or call.__name__ != "call_wrapped":
        return call
    wrapper: Any = getattr(kind, "_wrapped_call")  # noqa: B009  not in torch's stubs
    return CALL if wrapper.cls_call is None else wrapper.cls_call


def is_uninitialized(m: torch.nn.Module) -> bool:
    """Whether a module is lazy and was not called yet: its first call gives it its parameters."""
    return isinstance(m, LazyModuleMixin) and hasattr(m, "_initialize_hook")


def may_initialize(kind: type) -> bool:
    """Whether modules of a class may be lazy."""
    return issubclass(kind, LazyModuleMixin)
