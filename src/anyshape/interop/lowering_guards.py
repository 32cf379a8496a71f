"""Guards of a lowering: what compiled code assumes about its inputs beyond the trace.

Torch's compilers specialize what a trace leaves open: strides, `requires_grad`, the metadata of the
parameters, and the answers to questions about sizes, which torch keeps as guards. All of it is
checked before each call; guards that are implied by the checks of the program are left out. Tensors
that share memory are refused if the program mutates one of them, because the compilers treat them
as independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy  # type: ignore[import-untyped]
import torch

from anyshape.interop.fakes import order_of
from anyshape.symbolic.functions import sym_max, sym_min
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import dense_strides, has_strides
from anyshape.torch_compat.dynamo import tensor_guards
from anyshape.torch_compat.fake_tensor import PythonPrinter
from anyshape.torch_compat.tensor_subclass import storage_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.interop.fakes import Fakes
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph import Value


class LoweringGuards:
    """The guards of one lowering for these inputs; `first_failure` is called before each run."""

    def __init__(
        self, captured: Captured, flat: list[Any], fakes: Fakes, whole: Sequence[Value]
    ) -> None:
        graph = captured.graph
        leaves = captured.inputs.leaves
        self._places = [i for i, leaf in enumerate(leaves) if leaf.value is not None]
        self._names = [leaves[i].name for i in self._places]
        self._constants = [tensor for _, tensor in graph.constants]
        self._names += [f"{value}" for value, _ in graph.constants]
        self._grad = torch.is_grad_enabled()
        self._layouts = [
            (i, order, tuple(flat[i].stride()))
            for i, order in [(i, order_of(flat[i])) for i in self._places]
            if order != tuple(range(flat[i].dim()))
        ]
        self._dense = [i for i in self._places if i not in {j for j, *_ in self._layouts}]
        self._tensors = _tensor_guards([*[flat[i] for i in self._places], *self._constants], fakes)
        self._captured = captured
        self._binds = captured.inputs.binds
        self._texts: list[tuple[str, str]] = []
        self._sizes = _function([], [])
        self._whole = [i for i in self._places if leaves[i].value in whole]
        self._mutated = [i for i in self._places if _is_mutated(leaves[i].value)]
        self._mutated_constants = [t for v, t in graph.constants if _is_mutated(v)]

    def take_guards(self, fakes: Fakes) -> None:
        """Add the guards on sizes that torch recorded while it compiled."""
        self._texts = list(_conditions(self._captured, fakes))
        self._sizes = _function([text for text, _ in self._texts], [b.name for b in self._binds])

    @property
    def sizes(self) -> list[str]:
        """The conditions over sizes, as a user reads them."""
        return [shown for _, shown in self._texts]

    def first_failure(self, flat: list[Any]) -> str | None:
        """The first guard that fails for these inputs, as text."""
        if torch.is_grad_enabled() is not self._grad:
            return f"grad mode changed from {'on to off' if self._grad else 'off to on'}"
        tensors = [flat[i] for i in self._places]
        if not self._tensors.check(*tensors, *self._constants):
            return str(
                self._tensors.check_verbose(
                    *tensors, *self._constants, tensor_check_names=self._names
                )
            )
        for i in self._dense:
            if not flat[i].is_contiguous():
                return f"{self._names[self._places.index(i)]} is not contiguous"
        for i, order, strides in self._layouts:
            if not _has_layout(flat[i], order, strides):
                return f"the layout of {self._names[self._places.index(i)]} changed"
        for i in self._whole:
            if flat[i].untyped_storage().nbytes() != flat[i].numel() * flat[i].element_size():
                return f"{self._names[self._places.index(i)]} does not cover its whole storage"
        if self._texts:
            try:
                failed = self._sizes(*[bind.read(flat) for bind in self._binds])
            except ArithmeticError:
                return "a condition over the sizes is undefined"
            if failed >= 0:
                return self._texts[failed][1]
        return self._shared(flat)

    def _shared(self, flat: list[Any]) -> str | None:
        """The first tensor that the program mutates and that shares its memory with another."""
        if not self._mutated and not self._mutated_constants:
            return None
        tensors = [*[flat[i] for i in self._places], *self._constants]
        counts: dict[int, int] = {}
        for t in tensors:
            key = storage_id(t.untyped_storage())
            counts[key] = counts.get(key, 0) + 1
        for t in (*[flat[i] for i in self._mutated], *self._mutated_constants):
            if counts[storage_id(t.untyped_storage())] > 1:
                name = next(n for n, x in zip(self._names, tensors, strict=True) if x is t)
                return f"{name}, which the program mutates, shares its memory with another tensor"
        return None


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


def _has_layout(x: torch.Tensor, order: tuple[int, ...] | None, strides: tuple[int, ...]) -> bool:
    """Whether a tensor is dense in this order, or has these strides; an empty one has any."""
    wanted = strides if order is None else dense_strides(tuple(x.shape), order)
    return not x.numel() or has_strides(x, wanted)


class _Printer(PythonPrinter):
    """Torch's expressions as Python over our names."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._ours = names

    def _print_Symbol(self, symbol: sympy.Symbol) -> str:  # noqa: N802  sympy's name
        return self._ours[symbol.name]


def _conditions(captured: Captured, fakes: Fakes) -> Iterator[tuple[str, str]]:
    """Torch's guards that may fail: as Python over our symbols, and over the user's names."""
    env = captured.tracer.env
    printer = _Printer(fakes.names)
    scope: dict[str, Any] = {"max": sym_max, "min": sym_min, "math": math}
    scope.update({name: SymInt(symbol.expr, env) for name, symbol in env.symbols.items()})
    for part in _parts([guard.expr for guard in fakes.shape_env.guards]):
        text = printer.doprint(part)
        ours = None if part.has(sympy.And, sympy.Or, sympy.Not) else _ours(text, scope)
        if ours is None:
            yield text, text
        elif env.decide(ours.condition) is not True:
            yield text, env.text(ours.condition)


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


def _function(conditions: list[str], names: list[str]) -> Callable[..., int]:
    """A function of the symbols' values: the number of the first condition that fails, or -1."""
    lines = [f"def check({', '.join(names)}):"]
    lines += [f" if not ({text}): return {i}" for i, text in enumerate(conditions)]
    scope: dict[str, Any] = {
        "math": math,
        "torch": torch,
        "Where": lambda test, a, b: a if test else b,
    }
    exec("\n".join([*lines, " return -1"]), scope)  # printed by torch
    made: Callable[..., int] = scope["check"]
    return made
