"""The Python source of a torch function: its path from `torch`, a method, or an operator."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from anyshape.torch_compat.aten_op import NAMESPACES, is_op, op_path, schemas_named

OPERATORS: Final = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__floordiv__": "//",
    "__mod__": "%",
    "__pow__": "**",
    "__matmul__": "@",
    "__and__": "&",
    "__or__": "|",
    "__xor__": "^",
    "__lshift__": "<<",
    "__rshift__": ">>",
    "__eq__": "==",
    "__ne__": "!=",
    "__lt__": "<",
    "__le__": "<=",
    "__gt__": ">",
    "__ge__": ">=",
}


@functools.cache
def paths() -> dict[Any, str]:
    """Every public function of torch with its path in the first namespace that has it."""
    namespaces = {
        "torch": torch,
        "torch.nn.functional": torch.nn.functional,
        "torch.special": torch.special,
        "torch.linalg": torch.linalg,
        "torch.fft": torch.fft,
        **NAMESPACES,
        "torch.functional": torch.functional,
    }
    found: dict[Any, str] = {}
    for path, namespace in namespaces.items():
        for name in dir(namespace):
            func = getattr(namespace, name)
            if callable(func) and not isinstance(func, type):
                try:
                    known = found.get(func)
                except TypeError:  # not hashable, so never called as an op
                    continue
                if known is not None and _is_alias(known, f"{path}.{name}"):
                    del found[func]  # the key is the alias, which equals the function
                    known = None
                if known is None:
                    found[func] = f"{path}.{name}"
    return found


def _is_alias(path: str, other: str) -> bool:
    """Whether of two names in one namespace only the other one is that of an op: `dsmm` is `mm`."""
    (namespace, _, name), (same, _, op) = path.rpartition("."), other.rpartition(".")
    return (
        namespace == same
        and not schemas_named(f"aten::{name}")
        and bool(schemas_named(f"aten::{op}"))
    )


@functools.cache
def methods() -> dict[Any, str]:
    """Every method of `torch.Tensor` with its name."""
    found: dict[Any, str] = {}
    for name in dir(torch.Tensor):
        func = getattr(torch.Tensor, name)
        if callable(func) and not isinstance(func, type):
            found.setdefault(func, name)
    return found


def method_name(func: Any) -> str | None:
    """The name of a method of `torch.Tensor`; None for anything else."""
    return methods().get(func)


def written_method(func: Any) -> str | None:
    """The name under which a value has a method; None where the user has replaced it."""
    name = methods().get(func)
    return name if name is not None and getattr(torch.Tensor, name, None) is func else None


def path_of(func: Any) -> str | None:
    """The path of a torch function; None for one from elsewhere."""
    if is_op(func):
        return op_path(func)
    try:
        path = paths().get(func)
    except TypeError:
        return None
    if path is None and (name := method_name(func)) is not None:
        return f"torch.Tensor.{name}"
    return path


class Names:
    """What generated code knows as `torch`, or as a namespace in it: each path gives the function
    that it stood for when this system was imported, whoever has replaced it since.
    """

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        """Dtypes, classes and ops, which have no path of their own."""
        return getattr(self._real, name)


def _torch() -> Names:
    root = Names(torch)
    named = {f"torch.Tensor.{name}": func for func, name in methods().items()}
    for path, func in (*named.items(), *((path, func) for func, path in paths().items())):
        *spaces, name = path.split(".")[1:]
        space = root
        for part in spaces:
            inner = vars(space).get(part)
            if inner is None:
                inner = vars(space)[part] = Names(getattr(space._real, part))
            space = inner
        vars(space)[name] = func
    return root


TORCH: Final = _torch()  # before anybody replaces functions of torch
