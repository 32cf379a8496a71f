"""`Naming`: the qualified names of modules and tensors, by identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.export.state.root import attributes_of, root_of, variables_of
from anyshape.torch_compat.module_attribute import BUFFERS, MODULES, NON_PERSISTENT, PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterable

PARAMETER: Final = "parameter"
BUFFER: Final = "buffer"
NON_PERSISTENT_BUFFER: Final = "non_persistent_buffer"
CONSTANT: Final = "constant"
KINDS: Final = (PARAMETER, BUFFER, NON_PERSISTENT_BUFFER, CONSTANT)


class Named(NamedTuple):
    """A tensor under one of its names."""

    name: str
    kind: str
    tensor: torch.Tensor


class Naming:
    """The names that a function or module gives to modules and tensors.

    `modules` has the first path of each module, by id; `shared` the other paths of a module, each
    with the first. `registered` are the parameters and buffers under all their names, in the order
    of `state_dict`. Names of a function's variables are found like those of a module's attributes.
    """

    def __init__(self, fn: Any) -> None:
        self.root = root_of(fn)
        self.modules: dict[int, str] = {}
        self.shared: dict[str, str] = {}
        self.registered: list[Named] = []
        self._variables: list[Named] = []
        self._visited: list[tuple[str, torch.nn.Module]] = []
        self._kept: list[Any] = []  # so that ids stay those of these objects
        self._has_attributes = False
        if self.root is not None:
            self._visit(self.root, "")
        else:
            self._name(variables_of(fn), "")

    def _visit(self, module: torch.nn.Module, path: str, above: tuple[int, ...] = ()) -> None:
        """Name what a module has registered; a module inside itself is not visited again."""
        key, own = id(module), module.__dict__
        if key in self.modules:
            if not any(path.startswith(f"{other}.") for other in self.shared):
                self.shared[path] = self.modules[key]
        else:
            self.modules[key] = path
            self._visited.append((path, module))
        prefix = f"{path}." if path else ""
        self._register(own.get(PARAMETERS), prefix, PARAMETER)
        absent = own.get(NON_PERSISTENT, ())
        self._register(own.get(BUFFERS), prefix, BUFFER, absent)
        for name, child in (own.get(MODULES) or {}).items():
            if child is not None and id(child) not in above and child is not module:
                self._visit(child, f"{prefix}{name}", (*above, key))

    def _register(
        self, table: dict[str, Any] | None, prefix: str, kind: str, absent: Any = ()
    ) -> None:
        for name, tensor in (table or {}).items():
            if issubclass(type(tensor), torch.Tensor):
                found = NON_PERSISTENT_BUFFER if name in absent else kind
                self.registered.append(Named(f"{prefix}{name}", found, tensor))

    def _name(self, variables: Iterable[tuple[str, Any]], prefix: str) -> None:
        """Name modules and tensors that are not registered."""
        for name, x in variables:
            self._kept.append(x)
            if isinstance(x, torch.nn.Module):
                if id(x) not in self.modules:
                    self._visit(x, prefix + name)
            elif isinstance(x, torch.nn.Parameter) and self.root is None:
                self._variables.append(Named(prefix + name, PARAMETER, x))
            else:
                self._variables.append(Named(prefix + name, CONSTANT, x))

    def attributes(self) -> list[Named]:
        """The tensors that are plain attributes and variables, and those of modules among them."""
        if not self._has_attributes:
            self._has_attributes = True
            count, shared = len(self.registered), dict(self.shared)
            for path, module in self._visited:  # grows while it is walked
                self._name(attributes_of(module), f"{path}." if path else "")
            self.shared = shared
            if self.root is not None:  # the root has not registered these
                found, self.registered = self.registered[count:], self.registered[:count]
                self._variables += [Named(name, CONSTANT, t) for name, _, t in found]
        return self._variables
