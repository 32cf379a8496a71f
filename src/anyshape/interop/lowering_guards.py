"""Guards of a lowering: what compiled code assumes about its inputs beyond the trace.

Torch's compilers specialize what a trace leaves open: strides, `requires_grad`, the metadata of the
parameters, and the answers to questions about sizes, which torch keeps as guards. All of it is
checked before each call; guards that are implied by the checks of the program are left out. Tensors
that share memory are refused if the program mutates one of them, because the compilers treat them
as independent. The guards are conditions on the inputs like those of the trace, rendered by the
same writer.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from anyshape.interop.fakes import order_of
from anyshape.interop.lowering_condition import (
    Contiguous,
    DenseOrder,
    ProcessState,
    SizeGuard,
    TensorMetadata,
    Undisturbed,
    UnsharedMemory,
    WholeStorage,
)
from anyshape.rules.dispatch.resolve import resolve
from anyshape.rules.dispatch.return_type import row_of
from anyshape.rules.dispatch.table import Rule
from anyshape.torch_compat.dynamo import global_state, tensor_guards
from anyshape.torch_compat.process_flag import read_flags
from anyshape.trace.argument.input_contract import flat_check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from anyshape.interop.fakes import Fakes
    from anyshape.interop.size_guards import KeptGuard
    from anyshape.trace.argument.condition import Condition
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Graph, Value


_OF_LIBRARIES: Final = tuple(
    f"anyshape.rules.{family}"
    for family in ("attention", "contraction", "conv", "interpolate", "linalg", "loss", "matmul",
                   "norm", "rnn")
)  # fmt: skip


def _calls_libraries(graph: Graph) -> bool:
    """Whether a program calls ops that torch may compute with several libraries of kernels."""
    for node in graph.nodes:
        found = row_of(resolve(node.func))
        row = found.args[0] if type(found) is functools.partial else None
        if type(row) is not Rule:
            return True
        if row.function.__module__ in _OF_LIBRARIES:
            return True
    return False


class LoweringGuards:
    """The guards of one lowering for these inputs; `first_failure` is called before each run."""

    def __init__(
        self, captured: Captured, flat: list[Any], fakes: Fakes, whole: Sequence[Value]
    ) -> None:
        self._captured = captured
        graph, leaves = captured.graph, captured.inputs.leaves
        places = tuple([i for i, leaf in enumerate(leaves) if leaf.value is not None])
        constants = tuple([tensor for _, tensor in graph.constants])
        names = (*[leaves[i].name for i in places], *[f"{value}" for value, _ in graph.constants])
        tensors = _tensor_guards([*[flat[i] for i in places], *constants], fakes)
        self._conditions: list[Condition] = [
            Undisturbed(),
            ProcessState(global_state(), read_flags() if _calls_libraries(graph) else None),
            TensorMetadata(tensors, places, constants, names),
            *[_layout(i, leaves[i].name, flat[i]) for i in places],
            *[WholeStorage(i, leaves[i].name) for i in places if leaves[i].value in whole],
        ]
        values = [*[leaves[i].value for i in places], *[v for v, _ in graph.constants]]
        mutated = tuple([i for i, v in enumerate(values) if _is_mutated(v)])
        if mutated:
            self._conditions.append(UnsharedMemory(places, constants, names, mutated))
        self._sizes: list[SizeGuard] = []
        self._check, self._numbered = self._written()

    def take_premises(self, kept: Sequence[KeptGuard]) -> None:
        """Add the guards on sizes that compiled code needs."""
        self._sizes = [SizeGuard(guard.text, guard.shown) for guard in kept]
        self._check, self._numbered = self._written()

    @property
    def sizes(self) -> list[str]:
        """The conditions over sizes, as a user reads them."""
        return [guard.shown for guard in self._sizes]

    def first_failure(self, flat: list[Any]) -> str | None:
        """The first guard that fails for these inputs, as text."""
        number = self._check(flat)
        return None if number < 0 else self._numbered[number].violation(flat).change

    def _written(self) -> tuple[Callable[[Sequence[Any]], int], list[Condition]]:
        return flat_check(self._captured.inputs, self._conditions, self._sizes)


def _is_mutated(value: Value | None) -> bool:
    """Whether the program writes to the storage of a value."""
    return value is not None and value.root.version > 0


def _tensor_guards(tensors: list[torch.Tensor], fakes: Fakes) -> Any:
    """Guards on types, dtypes, devices, gradients, static sizes, and the strides of parameters."""
    sizes: list[Any] = []
    strides: list[Any] = []
    for i, t in enumerate(tensors):
        if i < len(fakes.tensors):
            sizes.append([n if type(n) is int else None for n in fakes.tensors[i].shape])
            strides.append([None] * t.dim())
        else:
            sizes.append(list(t.shape))
            strides.append(list(t.stride()))
    return tensor_guards(tensors, sizes, strides)


def _layout(place: int, name: str, x: torch.Tensor) -> Condition:
    """The layout that compiled code expects of an input like this one."""
    order = order_of(x)
    if order == tuple(range(x.dim())):
        return Contiguous(place, name)
    return DenseOrder(place, name, order, tuple(x.stride()))
