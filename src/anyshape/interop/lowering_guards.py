"""Guards of a lowering: what compiled code assumes about its inputs beyond the trace.

Torch's compilers specialize what a trace leaves open: strides, `requires_grad`, the metadata of the
parameters, and the answers to questions about sizes, which torch keeps as guards. All of it is
checked before each call; guards that are implied by the checks of the program are left out. Tensors
that share memory are refused if the program mutates one of them, because the compilers treat them
as independent. The guards are conditions on the inputs like those of the trace, rendered by the
same writer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy
import torch

from anyshape.interop.fakes import order_of
from anyshape.interop.lowering_condition import (
    Contiguous,
    DenseOrder,
    SizeGuard,
    TensorMetadata,
    UnsharedMemory,
    WholeStorage,
)
from anyshape.symbolic.functions import sym_max, sym_min
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat.dynamo import tensor_guards
from anyshape.torch_compat.fake_tensor import PythonPrinter
from anyshape.trace.condition import GRAD_MODE, Mode
from anyshape.trace.input_contract import flat_check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.interop.fakes import Fakes
    from anyshape.trace.capture import Captured
    from anyshape.trace.condition import Condition
    from anyshape.trace.graph import Value


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
            Mode(*GRAD_MODE, torch.is_grad_enabled()),
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

    def take_guards(self, fakes: Fakes) -> None:
        """Add the guards on sizes that torch recorded while it compiled."""
        self._sizes = list(_size_guards(self._captured, fakes))
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


class _Printer(PythonPrinter):
    """Torch's expressions as Python over our names."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._ours = names

    def _print_Symbol(self, symbol: sympy.Symbol) -> str:  # noqa: N802  sympy's name
        return self._ours[symbol.name]


def _size_guards(captured: Captured, fakes: Fakes) -> Iterator[SizeGuard]:
    """Torch's guards on sizes that may fail."""
    env = captured.tracer.env
    printer = _Printer(fakes.names)
    scope: dict[str, Any] = {"max": sym_max, "min": sym_min, "math": math}
    scope.update({name: SymInt(symbol.expr, env) for name, symbol in env.symbols.items()})
    for part in _parts([guard.expr for guard in fakes.shape_env.guards]):
        text = printer.doprint(part)
        ours = None if part.has(sympy.And, sympy.Or, sympy.Not) else _ours(text, scope)
        if ours is None:
            yield SizeGuard(text, text)
        elif env.decide(ours.condition) is not True:
            yield SizeGuard(text, env.text(ours.condition))


def _parts(conditions: list[Any]) -> list[Any]:
    """The conditions without repetition; a conjunction counts as its parts."""
    parts: list[Any] = []
    for condition in conditions:
        parts += _parts(list(condition.args)) if isinstance(condition, sympy.And) else [condition]
    return list(dict.fromkeys(parts))


def _ours(text: str, scope: dict[str, Any]) -> SymBool | None:
    """A condition of torch's as one of ours; None if our numbers cannot express it."""
    try:
        found = eval(text, dict(scope))  # printed by torch
    except Exception:  # our numbers raise various errors for what they lack
        return None
    return found if type(found) is SymBool else None
