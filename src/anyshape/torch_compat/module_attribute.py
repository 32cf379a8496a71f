"""The attributes in which a `torch.nn.Module` keeps what was assigned to it.

The public methods (`named_parameters`, `children`) give copies without what occurs twice; to watch,
share or restore the registries themselves takes their names.
"""

from __future__ import annotations

from typing import Final

PARAMETERS: Final = "_parameters"
"""Name to parameter, or None."""

BUFFERS: Final = "_buffers"
"""Name to buffer, or None."""

MODULES: Final = "_modules"
"""Name to submodule, or None."""

NON_PERSISTENT: Final = "_non_persistent_buffers_set"
"""The names of the buffers that `state_dict` leaves out, a set."""

REGISTRIES: Final = (PARAMETERS, BUFFERS, MODULES)

HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks")
"""The hooks that run around the forward pass: number to function."""
