"""Conditions on the inputs of a traced program, as data with two renderings.

`source` writes a condition as Python for a generated check; `violation` explains, with the user's
names and the values of the call, how inputs violate it. `violation` is only asked after the check
has found the condition false, so the two cannot disagree about which inputs are accepted.
"""

from __future__ import annotations

from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import torch

from anyshape.env.site import in_package
from anyshape.errors import counted
from anyshape.expr.text.python import SCOPE, source
from anyshape.rules.dispatch.autocast import autocast_state
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import dense_strides, has_strides
from anyshape.tensor.size import text
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.tensor_subclass import kind_of
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import function_mode_depth, has_function_mode
from anyshape.trace.graph.codegen import SAME, defined, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.env import Obligation
    from anyshape.torch_compat.process_flag import Place
    from anyshape.trace.argument.inputs import Leaf

LITERAL: Final = (int, bool, str, type(None), bytes)  # the repr of a value is its source
_NAMED: Final = (int, float, bool, str)  # types that generated code may name
_SYMBOLIC: Final[dict[type, type]] = {int: SymInt, float: SymFloat}
_OR_EXPORT: Final = ", or export with such an example"


class Violation(NamedTuple):
    """How a call violates a condition: `place` is `actual`, and the trace saw `expected`.

    `sentence` replaces the three where they do not make one.
    """

    place: str
    expected: str = ""
    actual: str = ""
    sentence: str = ""
    wrong_type: bool = False

    def __str__(self) -> str:
        if self.sentence:
            return self.sentence
        return f"{self.place} is {self.actual}; the program was traced for {self.expected}"

    @property
    def change(self) -> str:
        """The same, as a change from the traced call to this one."""
        return self.sentence or f"{self.place} changed from {self.expected} to {self.actual}"


class Scope:
    """The names in the text of a generated check: of the inputs, their shapes, and objects."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {
            **SCOPE,
            "torch": torch,
            "Tensor": torch.Tensor,
            "defined": defined,
        }
        self.inputs: list[str] = []
        self._shapes: set[int] = set()

    def shape(self, leaf: int) -> str:
        """The name of the shape of an input; a `TensorKind` condition binds it."""
        self._shapes.add(leaf)
        return f"z{leaf}"

    def has_shape(self, leaf: int) -> bool:
        """Whether the shape of an input has been named."""
        return leaf in self._shapes

    def name(self, value: Any) -> str:
        """A name for an object."""
        name = f"k{len(self.objects)}"
        self.objects[name] = value
        return name

    def fixed(self, name: str, value: Any) -> str:
        """A name of its own for an object."""
        self.objects[name] = value
        return name

    def type(self, kind: type) -> str:
        """A name for a type."""
        return kind.__name__ if kind in _NAMED else self.name(kind)

    def place(self, leaf: int, dim: int | None) -> str:
        """A size of an input, or the input itself."""
        return self.inputs[leaf] if dim is None else f"{self.shape(leaf)}[{dim}]"


class Condition(Protocol):
    """One condition on the inputs of a program."""

    def source(self, scope: Scope) -> str:
        """The condition as a Python expression over the names of `scope`."""

    def violation(self, flat: Sequence[Any]) -> Violation:
        """How these inputs violate the condition."""


class TensorKind(NamedTuple):
    """An input is a tensor of this dtype, rank and device; of exactly this class, if `exact`."""

    place: int
    leaf: Leaf
    exact: bool

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        x, example = scope.inputs[self.place], self.leaf.example
        kind = class_of(example)
        if self.exact:
            name = "Tensor" if kind is torch.Tensor else scope.name(kind)
            stands = scope.fixed("stands_for", stands_for)
            of_class = f"(type({x}) is {name} or {stands}({x}) is {name})"
        else:
            of_class = f"isinstance({x}, Tensor)"
        of_class += f" and {x}.layout is {scope.fixed('strided', torch.strided)}"
        dtype = scope.fixed(str(example.dtype).replace(".", "_"), example.dtype)
        on_cpu = example.device.type == "cpu"
        device = f"{x}.is_cpu" if on_cpu else f"{x}.device == {scope.name(example.device)}"
        shape = scope.shape(self.place)
        return (
            f"{of_class} and {x}.dtype is {dtype} and {device}"
            f" and len({shape} := {x}.shape) == {example.dim()}"
        )

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        x, example = flat[self.place], self.leaf.example
        name = self.leaf.name
        if not isinstance(x, torch.Tensor):
            return Violation(name, self._words(example), type(x).__name__, wrong_type=True)
        if self._class(x) == self._class(example):
            places = (f"{name}.dtype", f"{name}.dim()", f"{name}.device")
            pairs = ((example.dtype, x.dtype), (example.dim(), x.dim()), (example.device, x.device))
            differ = [(p, a, b) for p, (a, b) in zip(places, pairs, strict=True) if a != b]
            if len(differ) == 1:
                place, expected, actual = differ[0]
                return Violation(place, str(expected), str(actual))
        return Violation(name, self._words(example), self._words(x))

    def _class(self, x: Any) -> str:
        kind = class_of(x)
        of_class = f"{kind.__name__} of " if self.exact and kind is not torch.Tensor else ""
        if isinstance(x, torch.Tensor) and x.layout is not torch.strided:
            of_class += f"{x.layout} of "
        return of_class

    def _words(self, x: Any) -> str:
        return f"{self._class(x)}{x.dtype} of rank {x.dim()} on {x.device}"

    def fix(self, x: Any) -> str:
        """What to write for an input that is another tensor, or none."""
        name, example = self.leaf.name, self.leaf.example
        if isinstance(x, np.ndarray):
            return f"give torch.from_numpy({name})"
        if isinstance(x, int | float | complex | np.generic):
            return f"give torch.tensor({name})"
        if not isinstance(x, torch.Tensor) or self._class(x) != self._class(example):
            return f"give a tensor for {name}" + _OR_EXPORT
        if x.dim() != example.dim():
            return f"give {name} {counted(example.dim(), 'dimension', 'dimensions')}" + _OR_EXPORT
        what = example.dtype if x.dtype != example.dtype else f'"{example.device}"'
        return f"give {name}.to({what})" + _OR_EXPORT


def stands_for(x: Any) -> Any:
    """The class of the tensor that a traced one stands for; None for any other."""
    return torch.Tensor if type(x) is SymTensor else getattr(type(x), "stands_for", None)


def class_of(example: Any) -> Any:
    """The class of an example, or of the tensor that it stands for."""
    if not isinstance(example, torch.Tensor):
        return example.kind
    return getattr(type(example), "stands_for", kind_of(example))


class StaticSize(NamedTuple):
    """A size that the trace took for a constant."""

    place: int
    leaf: Leaf
    dim: int
    size: int

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.place(self.place, self.dim)} == {self.size}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        actual = flat[self.place].size(self.dim)
        return Violation(f"{self.leaf.name}.size({self.dim})", str(self.size), str(actual))


class RequiresGrad(NamedTuple):
    """Whether an input requires gradients."""

    place: int
    leaf: Leaf

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.inputs[self.place]}.requires_grad is {self.leaf.example.requires_grad}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        expected, actual = self.leaf.example.requires_grad, flat[self.place].requires_grad
        return Violation(f"{self.leaf.name}.requires_grad", str(expected), str(actual))


class SameLayout(NamedTuple):
    """The strides and the offset of an input, as functions of its sizes, are those traced."""

    place: int
    leaf: Leaf

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        same = scope.fixed("same_layout", same_layout)
        return f"{same}({scope.name(self.leaf)}, {scope.inputs[self.place]})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        expected, actual = self.leaf.example, flat[self.place]
        return Violation(f"the layout of {self.leaf.name}", _layout(expected), _layout(actual))


def _layout(x: Any) -> str:
    return f"strides {tuple(x.stride())} and offset {x.storage_offset()}"


class SameTensor(NamedTuple):
    """Two inputs that were one tensor are one tensor."""

    place: int
    leaf: Leaf
    twin: Leaf

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        assert self.leaf.twin is not None
        return f"{scope.inputs[self.place]} is {scope.inputs[self.leaf.twin]}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(self.leaf.name, f"the same tensor as {self.twin.name}", "another tensor")


class DistinctTensors(NamedTuple):
    """Inputs that were different tensors are different tensors."""

    places: tuple[int, ...]
    names: tuple[str, ...]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        tensors = [scope.inputs[i] for i in self.places]
        if len(tensors) == 2:
            return f"{tensors[0]} is not {tensors[1]}"
        ids = ", ".join(f"id({x})" for x in tensors)
        return f"len({{{ids}}}) == {len(tensors)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        first: dict[int, str] = {}
        for i, name in zip(self.places, self.names, strict=True):
            other = first.setdefault(id(flat[i]), name)
            if other != name:
                return Violation(name, "another tensor", f"the same tensor as {other}")
        raise AssertionError("the tensors are distinct")


class SameType(NamedTuple):
    """An input that is not a tensor has this type, or stands for a number of it while another
    program is exported; its value is a symbol.
    """

    place: int
    leaf: Leaf

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        x, kind = scope.inputs[self.place], type(self.leaf.example)
        of_kind = f"type({x}) is {scope.type(kind)}"
        if kind not in _SYMBOLIC:
            return of_kind
        symbolic = _SYMBOLIC[kind]
        return f"({of_kind} or type({x}) is {scope.fixed(symbolic.__name__, symbolic)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _types(self.leaf, flat[self.place])


class SameValue(NamedTuple):
    """An input that is not a tensor has the type and the value that the trace saw; it is the very
    object, if `is_same`.
    """

    place: int
    leaf: Leaf
    is_same: bool = False

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        x, example = scope.inputs[self.place], self.leaf.example
        kind = type(example)
        if self.is_same:
            return f"{x} is {scope.name(example)}"
        if example is None:
            return f"{x} is None"
        if kind in LITERAL:
            return f"{x} == {example!r} and type({x}) is {scope.type(kind)}"
        same = scope.fixed("same_value", same_value)
        return f"type({x}) is {scope.type(kind)} and {same}({x}, {scope.name(example)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        x, example = flat[self.place], self.leaf.example
        if type(x) is not type(example):
            return _types(self.leaf, x)
        return Violation(self.leaf.name, f"{example!r:.80}", f"{x!r:.80}")


def _types(leaf: Leaf, x: Any) -> Violation:
    expected, actual = type(leaf.example).__name__, type(x).__name__
    return Violation(leaf.name, expected, actual, wrong_type=True)


class Related(NamedTuple):
    """A size, or a number where `dim` is None, is an expression of the symbols of the inputs."""

    place: int
    leaf: Leaf
    dim: int | None
    size: SymInt
    evaluate: Callable[[Sequence[Any]], Any]  # the value of `size` for flat inputs

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.place(self.place, self.dim)} == {source(self.size.expr, SAME)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        x, name = flat[self.place], self.leaf.name
        place, actual = (
            (name, x) if self.dim is None else (f"{name}.size({self.dim})", x.size(self.dim))
        )
        must = f"it must be {text(self.size)}, which is {self.evaluate(flat)}"
        return Violation(place, sentence=f"{place} is {actual}; {must}")


class Holds(NamedTuple):
    """A guard over the symbols of the inputs holds.

    Where an `exact` one fails, the program may still be right for the call, but only a trace at
    exactly these sizes tells.
    """

    guard: Obligation
    describe: Callable[[Sequence[Any], Sequence[Obligation]], str]  # values for flat inputs
    exact: bool = False

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return truth(self.guard)

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        sentence = f"{self.guard.text} does not hold ({self.describe(flat, [self.guard])})"
        return Violation(self.guard.text, sentence=sentence)


class Mode(NamedTuple):
    """A mode of torch is what it was when the trace began."""

    name: str
    read: Callable[[], Any]
    value: Any

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        if type(self.value) is bool:
            return f"{scope.fixed(self.read.__name__, self.read)}() is {self.value}"
        if self.read is function_mode_depth:
            depth = f"{scope.fixed('function_mode_depth', self.read)}() == {self.value}"
            if not self.value:
                return depth
            return f"{depth} and not {scope.fixed('has_function_mode', has_function_mode)}()"
        if self.read is autocast_state:
            if not self.value:
                active = scope.fixed("autocast", is_any_autocast_enabled)
                return f"not {active}()"
            return f"{scope.fixed('autocast_state', self.read)}() == {scope.name(self.value)}"
        if self.read is torch.get_default_device:
            return f"{scope.fixed('default_device', self.read)}() == {scope.name(self.value)}"
        dtype = scope.fixed(str(self.value).replace(".", "_"), self.value)
        return f"{scope.fixed('default_dtype', self.read)}() is {dtype}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(self.name, _state(self.value), _state(self.read()))


class Setting(NamedTuple):
    """A setting of the process that an exported program has read is what it was."""

    place: Place
    value: Any

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.name(self.place.get)}() == {scope.name(self.value)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(str(self.place), repr(self.value), repr(self.place.get()))


def _state(value: Any) -> str:
    if type(value) is bool:
        return "on" if value else "off"
    if type(value) is tuple:
        return ", ".join(f"{dtype} on {device}" for device, dtype in value) or "off"
    return str(value)


GRAD_MODE: Final = ("grad mode", torch.is_grad_enabled)
INFERENCE_MODE: Final = ("inference mode", torch.is_inference_mode_enabled)
AUTOCAST: Final = ("autocast", autocast_state)
AUTOCAST_CACHE: Final = ("the cache of autocast", torch.is_autocast_cache_enabled)
FUNCTION_MODES: Final = ("the number of torch function modes", function_mode_depth)
DEFAULT_DEVICE: Final = ("the default device", torch.get_default_device)
DEFAULT_DTYPE: Final = ("the default dtype", torch.get_default_dtype)


def same_value(x: Any, example: Any) -> bool:
    """Whether a plain value is the one that it was while tracing."""
    if x is example:
        return True
    if isinstance(x, float):
        return bool(x.hex() == example.hex())  # the signs of 0 differ
    of_user = not in_package(type(x).__module__, "anyshape")  # a class that a file names has values
    if type(type(x).__eq__) is FunctionType and not isinstance(x, Enum) and of_user:
        return False  # objects of the user's are known by identity
    try:
        return bool(x == example)
    except Exception:  # a comparison in C that fails
        return False


def same_layout(leaf: Leaf, x: torch.Tensor) -> bool:
    """Whether the layout of a tensor is that of the traced one, at the sizes of this tensor."""
    assert leaf.value is not None
    layout = leaf.value.meta.layout.found()
    if x.storage_offset() != leaf.example.storage_offset():
        return False
    if layout.strides is not None:
        return has_strides(x, tuple(layout.strides))
    return has_strides(x, dense_strides(tuple(x.shape), layout.order))
