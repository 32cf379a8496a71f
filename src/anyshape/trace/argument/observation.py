"""State of tensors from outside that a program observed: it is guarded, or checked when it runs.

Sizes, dtypes and devices are always part of the input contract. What is here changes rarely and is
part of it where the program asked: the place of a tensor in the autograd graph, whether it is a
view, pending conjugations, attributes that users set.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import RuntimeAssertError, UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.layout import has_strides, offset_of, strides_of
from anyshape.tensor.sym_tensor import MISSING
from anyshape.torch_compat.tensor_subclass import VIEW_BASE, has_hooks
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.argument.condition import Violation, same_value
from anyshape.trace.graph.graph import CONSTANT, INPUT, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anyshape.trace.argument.condition import Condition, Scope
    from anyshape.trace.argument.inputs import Leaf
    from anyshape.trace.tracer import Tracer

_ATTRIBUTE: Final = "attribute "
_READ: Final[dict[str, Callable[[torch.Tensor], Any]]] = {
    "grad": lambda t: t.grad,
    "is_leaf": lambda t: t.is_leaf,
    "has a grad_fn": lambda t: t.grad_fn is not None,
    "is a view": lambda t: getattr(t, VIEW_BASE) is not None,
    "retains_grad": lambda t: t.retains_grad,
    "has hooks": has_hooks,
    "requires_grad": lambda t: t.requires_grad,
    "is_inference": lambda t: t.is_inference(),
    "is_neg": lambda t: t.is_neg(),
    "is_conj": lambda t: t.is_conj(),
    "is_shared": lambda t: t.is_shared(),  # type: ignore[no-untyped-call]
    "is_pinned": lambda t: t.is_pinned(),
}


_USUAL: Final = {"grad": None, "is_leaf": True}  # of a new tensor; the rest is False


def state_of(t: torch.Tensor, name: str) -> Any:
    """A part of the state of a real tensor."""
    if name.startswith(_ATTRIBUTE):
        return t.__dict__.get(name.removeprefix(_ATTRIBUTE), MISSING)
    return _READ[name](t)


def has_state(t: torch.Tensor, name: str, expected: Any) -> bool:
    """Whether a part of the state of a tensor is what the program was told."""
    actual = state_of(t, name)
    return actual is expected or (type(actual) is type(expected) and _equal(actual, expected))


def _equal(a: Any, b: Any) -> bool:
    plain = (int, float, str, bytes, complex)
    return type(a) in plain and repr(a) == repr(b) and same_value(a, b)


def expect_state(t: torch.Tensor, name: str, expected: Any) -> None:
    """Raise unless a part of the state of a tensor is what the program was told while tracing."""
    if not has_state(t, name, expected):
        raise RuntimeAssertError(
            _violation("a tensor", name, expected, state_of(t, name)).sentence, code="AS316"
        )


def expect_same(t: torch.Tensor, other: torch.Tensor, expected: bool) -> None:
    """Raise unless two tensors are, or are not, one object as the program was told."""
    if (t is other) is not expected:
        raise RuntimeAssertError(
            f"an input is {'another' if expected else 'the same'} tensor", code="AS316"
        )


def _violation(who: str, name: str, expected: Any, actual: Any) -> Violation:
    told, found = ["nothing" if x is MISSING else f"{x!r:.60}" for x in (expected, actual)]
    return Violation(who, sentence=f"{name} of {who} is {found}; it was {told} while tracing")


class Observations:
    """What one trace observed of tensors from outside."""

    def __init__(self) -> None:
        self.assigned: set[str] = set()  # attributes that the program assigns to inputs
        self._inputs: dict[tuple[Value, str], Any] = {}
        self._same: dict[tuple[Value, int], tuple[torch.Tensor, bool]] = {}
        self._tensors: dict[tuple[int, str], tuple[torch.Tensor, str, Any]] = {}

    @property
    def are_usual(self) -> bool:
        """Whether they hold for new tensors with the same `requires_grad`, and for all inputs that
        have no attributes of the user's.
        """
        found = all(
            name == "requires_grad" or expected is _USUAL.get(name, False)
            for _, name, expected in self._tensors.values()
        )
        plain = all(
            name.startswith(_ATTRIBUTE) and expected is MISSING
            for (_, name), expected in self._inputs.items()
        )
        return found and plain and not self._same

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Observations:
        """The same observations of other tensors, which are given by the ids of those here."""
        made = Observations()
        made._inputs = self._inputs
        for (value, _), (t, found) in self._same.items():
            new = tensors.get(id(t), t)
            made._same[value, id(new)] = (new, found)
        for t, name, expected in self._tensors.values():
            new = tensors.get(id(t), t)
            made._tensors[id(new), name] = (new, name, expected)
        return made

    @property
    def has_tensors(self) -> bool:
        """Whether something is about certain tensors from outside."""
        return bool(self._same or self._tensors)

    def of(self, tracer: Tracer, value: Value, name: str) -> Any:
        """A part of the state of an input or a constant."""
        if value.kind != INPUT:
            return self.of_real(tracer.graph.constants[value.index][1], name)
        key = (value, name)
        if key not in self._inputs:
            with DisableTorchFunction():
                self._inputs[key] = state_of(_example(tracer, value), name)
            if tracer.is_cut:
                expected = self._inputs.pop(key)
                tracer.emit(expect_state, (value, name, expected))
                return expected
        return self._inputs[key]

    def of_real(self, tensor: torch.Tensor, name: str) -> Any:
        """A part of the state of a real tensor."""
        with DisableTorchFunction():
            actual = state_of(tensor, name)
        return self._tensors.setdefault((id(tensor), name), (tensor, name, actual))[2]

    def is_input(self, tracer: Tracer, value: Value, tensor: torch.Tensor) -> bool:
        """Whether an input is a tensor from outside."""
        found = _example(tracer, value) is tensor
        if tracer.is_cut:
            tracer.emit(expect_same, (value, tensor, found))
        else:
            self._same[value, id(tensor)] = (tensor, found)
        return found

    def real_of(self, tracer: Tracer, value: Value) -> torch.Tensor | None:
        """The tensor that a constant is."""
        if value.kind != CONSTANT:
            return None
        return tracer.graph.constants[value.index][1]

    def attribute(self, tracer: Tracer, value: Value, name: str) -> Any:
        """An attribute that the user may have set on an input, or MISSING."""
        if name in self.assigned:
            raise assigned_elsewhere(name)
        return self.of(tracer, value, _ATTRIBUTE + name)

    def conditions(self, tracer: Tracer, leaves: Sequence[Leaf]) -> Iterator[Condition]:
        """Everything that was observed, as conditions."""
        places = {leaf.value: i for i, leaf in enumerate(leaves) if leaf.value is not None}
        for (value, name), expected in self._inputs.items():
            yield InputState(places[value], leaves[places[value]].name, name, expected)
        for (value, _), (tensor, found) in self._same.items():
            yield InputIs(places[value], leaves[places[value]].name, tensor, found)
        gradients = [(t, e) for t, name, e in self._tensors.values() if _is_gradient(name, e)]
        if gradients:
            yield OuterGradients([t for t, _ in gradients], [e for _, e in gradients])
        for tensor, name, expected in self._tensors.values():
            if not _is_gradient(name, expected):
                yield OuterState(tensor, name, expected)
        constants = [(v.meta, t) for v, t in tracer.graph.constants if t.layout is torch.strided]
        if tracer.asked_layout and constants:
            layouts = [(strides_of(meta), offset_of(meta)) for meta, _ in constants]
            yield OuterLayouts([t for _, t in constants], layouts)
        if tracer.asked_grad and constants:
            flags = [bool(meta.requires_grad) for meta, _ in constants]
            yield OuterGrads([t for _, t in constants], flags)


def _example(tracer: Tracer, value: Value) -> torch.Tensor:
    inputs = tracer.inputs
    place = next(i for i, leaf in enumerate(inputs.leaves) if leaf.value is value)
    found: torch.Tensor = inputs.examples[place]
    return found


def assigned_elsewhere(name: str) -> UnsupportedError:
    """The refusal of an attribute that the program has assigned to what may be the same tensor."""
    site = capture_site()
    return refused(
        UnsupportedError,
        f"the attribute {name} of a tensor is read after it was assigned to an input"
        + (f" at {site}" if site else ""),
        why="both may be one tensor in another call",
        fix="read it before",
    )


class InputState(NamedTuple):
    """A part of the state of an input is what the program was told."""

    place: int
    who: str
    name: str
    expected: Any

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        test, x = scope.fixed("has_state", has_state), scope.inputs[self.place]
        return f"{test}({x}, {self.name!r}, {scope.name(self.expected)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _violation(self.who, self.name, self.expected, state_of(flat[self.place], self.name))


class InputIs(NamedTuple):
    """An input is, or is not, a certain tensor from outside."""

    place: int
    who: str
    tensor: torch.Tensor
    expected: bool

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        word = "is" if self.expected else "is not"
        return f"{scope.inputs[self.place]} {word} {scope.name(self.tensor)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        word = "another tensor" if self.expected else "a tensor that the program knows"
        return Violation(self.who, sentence=f"{self.who} is {word}")


class OuterState(NamedTuple):
    """A part of the state of a tensor from outside is what the program was told."""

    tensor: torch.Tensor
    name: str
    expected: Any

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        test = scope.fixed("has_state", has_state)
        return f"{test}({scope.name(self.tensor)}, {self.name!r}, {scope.name(self.expected)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        actual = state_of(self.tensor, self.name)
        return _violation("a tensor from outside", self.name, self.expected, actual)


class OuterGradients(NamedTuple):
    """The gradients of tensors from outside are the tensors that the program knows."""

    tensors: list[torch.Tensor]
    gradients: list[torch.Tensor]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        test = scope.fixed("have_gradients", have_gradients)
        return f"{test}({scope.name(self.tensors)}, {scope.name(self.gradients)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        who = "the gradient of a tensor from outside"
        word = "another tensor" if self.replaced() else "None"
        return Violation(who, sentence=f"{who} is {word}")

    def replaced(self) -> list[torch.Tensor]:
        """The tensors that have another gradient."""
        pairs = zip(self.tensors, self.gradients, strict=True)
        return [t for t, expected in pairs if t.grad is not expected and t.grad is not None]


def have_gradients(tensors: list[torch.Tensor], gradients: list[torch.Tensor]) -> bool:
    """Whether tensors have these gradients."""
    return all(map(operator.is_, [t.grad for t in tensors], gradients))


def _is_gradient(name: str, expected: Any) -> bool:
    return name == "grad" and expected is not None


class OuterLayouts(NamedTuple):
    """The strides and offsets of tensors from outside are those that the trace saw."""

    tensors: list[torch.Tensor]
    layouts: list[tuple[Any, Any]]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        test = scope.fixed("have_layouts", have_layouts)
        return f"{test}({scope.name(self.tensors)}, {scope.name(self.layouts)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        who = "the layout of a tensor from outside"
        return Violation(who, sentence=f"{who} changed")


def have_layouts(tensors: Sequence[torch.Tensor], layouts: Sequence[Any]) -> bool:
    """Whether tensors have these strides and offsets."""
    return all(
        t.storage_offset() == offset and (t.stride() == strides or has_strides(t, strides))
        for t, (strides, offset) in zip(tensors, layouts, strict=True)
    )


class OuterGrads(NamedTuple):
    """Whether tensors from outside require gradients is what the trace saw."""

    tensors: list[torch.Tensor]
    flags: list[bool]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"[t.requires_grad for t in {scope.name(self.tensors)}] == {self.flags}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        who = "requires_grad of a tensor from outside"
        return Violation(who, sentence=f"{who} changed")
