"""What an input that wraps other tensors must be, checked when the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.errors import ConstraintError
from anyshape.torch_compat.tensor_subclass import is_wrapper
from anyshape.trace.argument.condition import Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from anyshape.trace.argument.condition import Scope


class WrapperForm:
    """The class and the context of an example that wraps others, and what it wraps.

    A wrapped tensor has the sizes of the one around it, if it had them in the example, and else the
    sizes of the example.
    """

    def __init__(self, example: Any) -> None:
        self.__name__ = "need_form"
        self._kind = type(example)
        names, self._context = example.__tensor_flatten__()
        self._inner = {name: _part(getattr(example, name), example.shape) for name in names}

    def __eq__(self, other: object) -> bool:
        return type(other) is WrapperForm and self._state == other._state

    def __hash__(self) -> int:
        return hash(self._kind)

    @property
    def _state(self) -> tuple[Any, ...]:
        return self._kind, self._context, self._inner

    def __call__(self, x: Any) -> None:
        """Raise for a tensor of another form."""
        found = self.difference(x)
        if found is not None:
            raise ConstraintError(
                f"an input that wraps other tensors is {found[0]}; the program was traced for"
                f" {found[1]}",
                code="AS202",
            )

    def difference(self, x: Any) -> tuple[str, str] | None:
        """What a tensor is, and what it should be, if it is of another form."""
        if type(x) is not self._kind:
            return f"a {type(x).__name__}", f"a {self._kind.__name__}"
        names, context = x.__tensor_flatten__()
        if list(names) != list(self._inner) or context != self._context:
            return f"one with {names}, {context}", f"{[*self._inner]}, {self._context}"
        for name, (expected, form) in self._inner.items():
            part = getattr(x, name)
            found = None if form is None else form.difference(part)
            if found is not None:
                return found
            actual, _ = _part(part, x.shape if expected[-1] is None else None)
            if actual != expected:
                return f"{name}: {actual}", f"{expected}"
        return None

    def fits(self, x: Any) -> bool:
        """Whether a tensor is of this form."""
        return self.difference(x) is None


def _part(x: torch.Tensor, around: Any) -> tuple[tuple[Any, ...], WrapperForm | None]:
    """What is checked of a wrapped tensor; its sizes are None if they are those `around` it."""
    sizes = None if around is not None and x.shape == around else tuple(x.shape)
    form = WrapperForm(x) if is_wrapper(type(x)) else None
    kind = None if form is not None else type(x)
    return (kind, x.dtype, str(x.device), x.requires_grad, sizes), form


class HasForm(NamedTuple):
    """An input wraps other tensors as the one that was traced does."""

    place: int
    name: str
    form: WrapperForm

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.name(self.form.fits)}({scope.inputs[self.place]})"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        actual, expected = self.form.difference(flat[self.place]) or ("the same", "another")
        return Violation(self.name, expected, actual)
