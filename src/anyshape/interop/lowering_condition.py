"""Conditions that compiled code adds to the input contract of a traced program.

Each has the two renderings of `trace/argument/condition.py`: the source of a test, and how inputs violate
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.tensor.layout import dense_strides, has_strides
from anyshape.torch_compat.process_flag import PLACES, read_flags
from anyshape.torch_compat.tensor_subclass import storage_id
from anyshape.torch_compat.thread_state import dispatch_mode_depth, saved_tensors_hooks
from anyshape.trace.argument.condition import Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from anyshape.trace.argument.condition import Scope


def _sentence(place: str, sentence: str) -> Violation:
    return Violation(place, sentence=sentence)


class TensorMetadata(NamedTuple):
    """Types, dtypes, devices, gradients and static sizes of the inputs and of the constants, and
    the strides of the constants. torch tests them in one call.
    """

    guards: Any
    places: tuple[int, ...]
    constants: tuple[torch.Tensor, ...]
    names: tuple[str, ...]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        tensors = [scope.inputs[i] for i in self.places]
        tensors += [scope.name(t) for t in self.constants]
        return f"{scope.name(self.guards.check)}({', '.join(tensors)})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        tensors = [*[flat[i] for i in self.places], *self.constants]
        found = self.guards.check_verbose(*tensors, tensor_check_names=list(self.names))
        return _sentence("an input", str(found))


class Contiguous(NamedTuple):
    """An input is contiguous."""

    place: int
    name: str

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.inputs[self.place]}.is_contiguous()"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _sentence(self.name, f"{self.name} is not contiguous")


class DenseOrder(NamedTuple):
    """An input is dense in this order of its dimensions, or has these strides if it has gaps."""

    place: int
    name: str
    order: tuple[int, ...] | None
    strides: tuple[int, ...]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        test = scope.fixed("has_layout", has_layout)
        return f"{test}({scope.inputs[self.place]}, {self.order!r}, {self.strides!r})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _sentence(self.name, f"the layout of {self.name} changed")


def has_layout(x: torch.Tensor, order: tuple[int, ...] | None, strides: tuple[int, ...]) -> bool:
    """Whether a tensor is dense in this order, or has these strides; an empty one has any."""
    wanted = strides if order is None else dense_strides(tuple(x.shape), order)
    return not x.numel() or has_strides(x, wanted)


class WholeStorage(NamedTuple):
    """An input covers its whole storage."""

    place: int
    name: str

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        x = scope.inputs[self.place]
        return f"{x}.untyped_storage().nbytes() == {x}.numel() * {x}.element_size()"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _sentence(self.name, f"{self.name} does not cover its whole storage")


class SizeGuard(NamedTuple):
    """A guard on sizes that torch recorded: as Python over our symbols, and as a user reads it."""

    text: str
    shown: str

    def source(self, scope: Scope) -> str:
        """See `Condition`. A condition that is undefined does not hold."""
        scope.fixed("Where", _where)
        return f"defined(lambda: {self.text})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return _sentence(self.shown, self.shown)


def _where(test: Any, a: Any, b: Any) -> Any:
    """The function that torch's text calls `Where`."""
    return a if test else b


class UnsharedMemory(NamedTuple):
    """No tensor that the program mutates shares its memory with another."""

    places: tuple[int, ...]
    constants: tuple[torch.Tensor, ...]
    names: tuple[str, ...]
    mutated: tuple[int, ...]  # among the tensors

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        tensors = [scope.inputs[i] for i in self.places]
        return f"{scope.name(self.shared)}([{', '.join(tensors)}]) is None"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        i = self.shared([flat[i] for i in self.places])
        assert i is not None
        name = self.names[i]
        said = f"{name}, which the program mutates, shares its memory with another tensor"
        return _sentence(name, said)

    def shared(self, inputs: list[torch.Tensor]) -> int | None:
        """The first tensor that is mutated and shares its memory."""
        keys = [storage_id(t.untyped_storage()) for t in (*inputs, *self.constants)]
        return next((i for i in self.mutated if keys.count(keys[i]) > 1), None)


class Undisturbed(NamedTuple):
    """Nobody but the kernels looks at the ops: no dispatch mode, no hooks on saved tensors.
    Compiled code has other ops than eager execution, and saves other tensors.
    """

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        depth = scope.fixed("dispatch_mode_depth", dispatch_mode_depth)
        return f"not {depth}() and {scope.fixed('saved_hooks', saved_tensors_hooks)}() is None"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        said = "a dispatch mode, or hooks on saved tensors, look at the ops"
        return _sentence(said, said)


class ProcessState(NamedTuple):
    """The state of the process is the one that the program was compiled in. Compilers choose
    kernels, precisions and the order of sums by it; eager execution does when it runs.

    `flags` are the settings of libraries of kernels, where the program calls some of those.
    """

    state: Any
    flags: list[Any] | None

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        check = f"{scope.name(self.state.check)}()"
        if self.flags is None:
            return check
        return f"{check} and {scope.fixed('read_flags', read_flags)}() == {scope.name(self.flags)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        if not self.state.check():
            return _sentence("torch", f"the state of torch changed: {self.state.reason().strip()}")
        pairs = zip(PLACES, self.flags or (), strict=True)
        changed = [place.getter for place, was in pairs if place.get() != was]
        return _sentence("torch", f"a setting of torch changed: {', '.join(changed)}")
