"""What an input that wraps other tensors must be, checked when the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ConstraintError
from anyshape.torch_compat.tensor_subclass import is_wrapper

if TYPE_CHECKING:
    import torch


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
        if type(x) is not self._kind:
            raise _error(f"a {type(x).__name__}", f"a {self._kind.__name__}")
        names, context = x.__tensor_flatten__()
        if list(names) != list(self._inner) or context != self._context:
            raise _error(f"one with {names}, {context}", f"{[*self._inner]}, {self._context}")
        for name, (expected, form) in self._inner.items():
            found = getattr(x, name)
            if form is not None:
                form(found)
            actual, _ = _part(found, x.shape if expected[-1] is None else None)
            if actual != expected:
                raise _error(f"{name}: {actual}", f"{expected}")


def _part(x: torch.Tensor, around: Any) -> tuple[tuple[Any, ...], WrapperForm | None]:
    """What is checked of a wrapped tensor; its sizes are None if they are those `around` it."""
    sizes = None if around is not None and x.shape == around else tuple(x.shape)
    form = WrapperForm(x) if is_wrapper(type(x)) else None
    kind = None if form is not None else type(x)
    return (kind, x.dtype, str(x.device), x.requires_grad, sizes), form


def _error(found: str, expected: str) -> ConstraintError:
    return ConstraintError(
        f"an input that wraps other tensors is {found}; the program was traced for {expected}"
    )
