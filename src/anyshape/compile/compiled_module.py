"""`CompiledModule`: a module whose forward pass runs traced programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.compiled import Compiled
from anyshape.compile.data_parallel import served
from anyshape.compile.special_method import special_methods, with_methods
from anyshape.torch_compat.module_attribute import (
    CALL_HOOKS,
    FULL_BACKWARD_HOOK,
    NON_PERSISTENT,
    REGISTRIES,
    STATE_HOOKS,
    overridden,
)
from anyshape.trace.record.foreign.territory import twin_always

if TYPE_CHECKING:
    from anyshape.compile.options import Options

_OF_COMPILED: Final = frozenset(
    [
        "entries",
        "stats",
        "explain",
        "report",
        "reset",
        "recompilations",
        "history",
        "eager_because",
        "pieces",
        "_repr_html_",
    ]
)
_SHARED: Final = (*REGISTRIES, NON_PERSISTENT, *STATE_HOOKS)
_FORWARD, _PRE, _BACKWARD, _BACKWARD_PRE = CALL_HOOKS


class CompiledModule(torch.nn.Module):
    """Shares parameters, buffers and submodules with the original, under the same names, so that
    `state_dict`, `parameters` and `to` are those of the original; other attributes are read from
    and set on the original, and methods that its class overrides are its own, special ones such as
    `__len__` included. Of a data-parallel wrapper, and of a sharded module, what is inside is
    compiled.

    Hooks of its own run as Python around the program; those of the original are part of it.
    """

    def __new__(cls, original: torch.nn.Module, options: Options) -> CompiledModule:
        """A module of a class that has the special methods of the original's."""
        own: Any = cls  # mypy takes a class for one without a hash
        made: CompiledModule = object.__new__(with_methods(own, special_methods(type(original))))
        return made

    def __init__(self, original: torch.nn.Module, options: Options) -> None:
        own = self.__dict__
        own["original"] = original
        super().__init__()
        del own["training"]  # it is the original's
        for name in _SHARED:
            own[name] = original.__dict__[name]
        for name in overridden(type(original)):
            own[name] = getattr(original, name)
        own["compiled"], own["forward"] = served(original, lambda fn: Compiled(fn, options))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the program for these inputs."""
        own = self.__dict__
        if own[_FORWARD] or own[_PRE] or own[_BACKWARD] or own[_BACKWARD_PRE]:
            return super().__call__(*args, **kwargs)
        return own["forward"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in _OF_COMPILED:
            return getattr(own["compiled"], name)
        return getattr(own["original"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__":  # which `fully_shard` extends
            object.__setattr__(self, name, value)
        elif name == FULL_BACKWARD_HOOK:
            self.__dict__[name] = value
        else:
            setattr(self.__dict__["original"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["original"], name)

    def __reduce__(self) -> Any:
        """Copies and pickles share nothing with this one, and have no programs yet."""
        return CompiledModule, (self.original, self.__dict__["compiled"].options)

    def __repr__(self) -> str:
        return f"Compiled{self.original!r}"


for _method in ("__call__", "__getattr__", "__setattr__", "__delattr__"):
    twin_always(getattr(CompiledModule, _method).__code__)  # in a trace of a function around it
