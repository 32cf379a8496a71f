"""`Submodule`: a place in the hierarchy of a program's module.

Where a layer of torch was, the place is one, too: it passes `isinstance`, has the layer's settings
and methods that look at tensors, such as `reset_parameters`. So functions that look for layers and
replace their weights, or sort their parameters by class, find them.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from anyshape.errors import StateError, UnsupportedError
from anyshape.torch_compat.module_attribute import LOAD_OWN

_MODES: Final = {True: "training", False: "evaluation", None: "no single"}
_SETTINGS: Final = (int, float, bool, str, tuple, type(None))
_OF_TORCH: Final = "torch.nn.modules."
_CONTAINERS: Final = "torch.nn.modules.container."  # whose children have an order
_OWN: Final = ("_apply", "__setattr__")  # a layer that has these keeps more than tensors


class Submodule(torch.nn.Module):
    """A place in the hierarchy of a program's module: it holds tensors, and cannot be called.

    Its own attributes begin with `anyshape_`, so that the user's names are free.
    """

    def __init__(self, mode: bool | None, path: str) -> None:
        torch.nn.Module.__init__(self)  # that of a layer would make tensors
        self.anyshape_mode, self.anyshape_path = mode, path
        self.anyshape_class = ""
        self.anyshape_fixed: frozenset[str] = frozenset()
        self.training = bool(mode)

    def anyshape_resemble(self, original: torch.nn.Module | None) -> None:
        """Take the settings of the original: they are constants of the program."""
        if type(self) is Submodule:
            return
        own = {} if original is None else vars(original)
        found = {k: x for k, x in own.items() if type(x) in _SETTINGS and k != "training"}
        vars(self).update(found)
        self.anyshape_fixed = frozenset((*found, *getattr(type(self), "__constants__", ())))

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        if name in own.get("anyshape_fixed", ()) and (name not in own or value != own[name]):
            known = repr(own[name]) if name in own else "a constant"
            raise UnsupportedError(
                f"{name} of {self.anyshape_path} is {known} in the program",
                why="it was a constant while the module was traced",
                fix="change it in the module, and export that",
                code="AS522",
            )
        super().__setattr__(name, value)

    def forward(self, *_: Any, **__: Any) -> Any:
        """Raise: only the whole program can be called."""
        raise UnsupportedError(
            f"{self.anyshape_path} is a place for tensors in the module of a program",
            why="the program is one graph, without a function for each module",
            fix="call the whole module",
            code="AS522",
        )

    def anyshape_no_hook(self, *_: Any, **__: Any) -> Any:
        """Raise: a hook would never be called."""
        raise UnsupportedError(
            f"{self.anyshape_path} is not called in the module of a program, so no hook of it is",
            why="the program is one graph, without a function for each module",
            fix="register hooks on the whole module, or on the original one before it is exported",
            code="AS522",
        )

    # Those of layers look at settings, which a loaded program lacks.
    _load_from_state_dict = LOAD_OWN

    register_forward_hook = register_forward_pre_hook = anyshape_no_hook
    register_full_backward_hook = register_full_backward_pre_hook = anyshape_no_hook
    register_backward_hook = anyshape_no_hook

    def train(self, mode: bool = True) -> Any:
        """Do nothing in the mode that the program was traced in; raise for the other."""
        if mode is not self.anyshape_mode:
            raise UnsupportedError(
                f"the program was traced in {_MODES[self.anyshape_mode]} mode",
                why="dropout and batch norms in the graph are those of that mode",
                fix=f"export the module after module.{'train' if mode else 'eval'}()",
                code="AS522",
            )
        return self

    def extra_repr(self) -> str:
        """The class of the module in whose place it is."""
        return self.anyshape_class


@functools.cache
def class_named(name: str) -> type[Submodule]:
    """The class of a place where a module of that class was; only layers of torch count."""
    kind = getattr(torch.nn, name.rpartition(".")[2], None)
    is_layer = name.startswith(_OF_TORCH) and not name.startswith(_CONTAINERS)
    if not is_layer or not isinstance(kind, type):
        return Submodule
    base = torch.nn.Module
    if f"{kind.__module__}.{kind.__qualname__}" != name or not issubclass(kind, base):
        return Submodule
    if any(getattr(kind, own) is not getattr(base, own) for own in _OWN):
        return Submodule
    return type(kind.__name__, (Submodule, kind), {"__module__": __name__})


def need_alike(found: Any, place: Submodule) -> None:
    """Raise unless a module that took the place of another does the same with its tensors: the
    program computes what it was traced to compute, whatever module has the tensors.
    """
    path = place.anyshape_path
    if found is None:
        raise StateError(f"the module of the program has no module {path}")
    name = f"{type(found).__module__}.{type(found).__qualname__}"
    if isinstance(found, Submodule):
        name = found.anyshape_class
    settings = [k for k in place.anyshape_fixed if k in vars(place)]
    for k in settings if name == place.anyshape_class else ():
        if getattr(found, k, None) != vars(place)[k]:
            raise StateError(
                f"{k} of {path} is now {getattr(found, k, None)!r}, and the program has"
                f" {vars(place)[k]!r}"
            )
    if name != place.anyshape_class:
        raise StateError(
            f"{path} is now a {name}, and the program computes what a"
            f" {place.anyshape_class or 'module'} did there",
            why="the program is one graph, which only takes the tensors of its modules",
            fix="put the module into the original one, and export that; or export with"
            " preserve_module_call_signature and swap it after torch.export.unflatten",
        )
