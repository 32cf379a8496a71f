"""`CompiledModule`: a module whose forward pass runs traced programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.compiled import Compiled
from anyshape.compile.data_parallel import is_data_parallel, with_module
from anyshape.errors import UnsupportedError
from anyshape.torch_compat.module_attribute import NON_PERSISTENT, REGISTRIES

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
_SHARED: Final = (*REGISTRIES, NON_PERSISTENT)


class CompiledModule(torch.nn.Module):
    """Shares parameters, buffers and submodules with the original, under the same names, so that
    `state_dict`, `parameters` and `to` are those of the original; other attributes are read from
    and set on the original. Of a data-parallel wrapper the module inside is compiled.
    """

    def __init__(self, original: torch.nn.Module, options: Options) -> None:
        super().__init__()
        own = self.__dict__
        for name in _SHARED:
            own[name] = original.__dict__[name]
        own["original"] = original
        if is_data_parallel(original):
            inner = CompiledModule(original.module, options)  # type: ignore[arg-type]
            own["compiled"] = inner.compiled
            own["served"] = with_module(original, inner)
        else:
            own["compiled"] = own["served"] = Compiled(original, options)
        own["training"] = original.training

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the program for these inputs."""
        return self.__dict__["served"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The same as a call."""
        return self(*args, **kwargs)

    def train(self, mode: bool = True) -> CompiledModule:
        """Set the mode of the original."""
        self.original.train(mode)
        self.__dict__["training"] = mode
        return self

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in _OF_COMPILED:
            return getattr(own["compiled"], name)
        return getattr(own["original"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__":
            raise UnsupportedError(
                "the class of a compiled module cannot be changed",
                why="fully_shard does so, to gather parameters in every call",
                fix="shard the module, and compile parts that hold no sharded parameters",
            )
        if name == "training":
            self.__dict__[name] = value
        setattr(self.original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.original, name)

    def __reduce__(self) -> Any:
        """Copies and pickles share nothing with this one, and have no programs yet."""
        return CompiledModule, (self.original, self.__dict__["compiled"].options)

    def __repr__(self) -> str:
        return f"Compiled{self.original!r}"
