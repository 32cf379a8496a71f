"""torch's exported programs: the classes that one is made of."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch._dynamo.source import (
    ConstantSource,
    GetItemSource,
    LocalSource,
    TensorProperty,
    TensorPropertySource,
)
from torch._export.verifier import TrainingIRVerifier
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.utils._sympy.value_ranges import ValueRanges

__all__ = [
    "SET_GRAD",
    "WITH_AUTOCAST",
    "WITH_GRAD_MODE",
    "ConstantSource",
    "ExportedProgram",
    "FakeTensor",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "TrainingIRVerifier",
    "ValueRanges",
    "forget_pending",
    "input_source",
    "name_source",
    "specialize_constants",
]

# - `TrainingIRVerifier` checks a program whose ops may change tensors; other verifiers refuse it.
# - `SET_GRAD` is how torch's own exports write a change of the grad mode at first; `WITH_GRAD_MODE`
#   and `WITH_AUTOCAST` call a graph in a mode, which can be saved.

SET_GRAD = torch._C._set_grad_enabled
WITH_AUTOCAST = torch.ops.higher_order.wrap_with_autocast
WITH_GRAD_MODE = torch.ops.higher_order.wrap_with_set_grad_enabled


def input_source(leaf: int, dim: int | None) -> Any:
    """Where the value of a symbol comes from: an input, or a size of it. Guards that torch adds
    while it decomposes a program are checked on the inputs only if their symbols have such sources.
    """
    of_leaf = GetItemSource(LocalSource("flat_args"), leaf)
    return of_leaf if dim is None else TensorPropertySource(of_leaf, TensorProperty.SIZE, dim)


def name_source(shape_env: Any, source: Any, name: str) -> None:
    """Note how the user calls a symbol with that source, as torch's own exports do."""
    text = source.name if isinstance(source.name, str) else source.name()
    shape_env.source_name_to_debug_name[text] = name


def specialize_constants(shape_env: Any) -> None:
    """From here on, torch makes no symbol of an input that is 0 or 1, as in its own exports.

    Otherwise it fails to decompose a program with an input that is a truth value.
    """
    shape_env.settings = dataclasses.replace(shape_env.settings, specialize_zero_one=True)


def forget_pending(shape_env: Any) -> None:
    """Tell torch that all new symbols were bound, by a graph that it did not trace."""
    shape_env.pending_fresh_unbacked_symbols.clear()
