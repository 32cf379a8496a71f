"""Random generators of torch: their methods are steps of a program, done again on every call.

The methods are C functions that no mode sees. `recorded(method)` gives what to call instead while a
trace runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.torch_compat.torch_function import DisableTorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable


def set_seed(*seed: int) -> None:
    """`manual_seed` and `seed` as they are recorded, because other parts of torch replace those."""
    if seed:
        torch.manual_seed(*seed)
    else:
        torch.seed()


def seed_generator(generator: torch.Generator, seed: int) -> None:
    """The recorded form of `generator.manual_seed(seed)`."""
    generator.manual_seed(seed)


def draw_seed(generator: torch.Generator) -> int:
    """The recorded form of `generator.seed()`."""
    return generator.seed()


def read_seed(generator: torch.Generator) -> int:
    """The recorded form of `generator.initial_seed()`."""
    return generator.initial_seed()


def read_state(generator: torch.Generator) -> torch.Tensor:
    """The recorded form of `generator.get_state()`."""
    return generator.get_state()


def write_state(generator: torch.Generator, state: torch.Tensor) -> None:
    """The recorded form of `generator.set_state(state)`."""
    generator.set_state(state)


STATE_CHANGES: Final = (set_seed, seed_generator, draw_seed, read_seed, read_state, write_state)


def recorded(method: Any) -> Callable[..., Any] | None:
    """The recorded form of a method of a generator; None for any other function."""
    generator = getattr(method, "__self__", None)
    if not isinstance(generator, torch.Generator):
        return None
    form = _FORMS.get(method.__name__)
    return None if form is None else lambda *args: form(generator, *args)


def record_manual_seed(generator: torch.Generator, seed: Any) -> torch.Generator:
    """Seed a generator when the program runs."""
    if generator is torch.default_generator:
        current().emit(set_seed, (seed,))
    else:
        current().emit(seed_generator, (generator, seed))
    return generator


def record_get_state(generator: torch.Generator) -> Any:
    """The state of a generator when the program runs; its size depends on the device alone."""
    with DisableTorchFunction():
        size = generator.get_state().numel()
    meta = Meta((size,), torch.uint8, device=torch.device("cpu"), requires_grad=False)
    return current().record(read_state, (generator,), {}, meta)


def record_set_state(generator: torch.Generator, state: Any) -> torch.Generator:
    """Set the state of a generator when the program runs."""
    current().emit(write_state, (generator, state))
    return generator


_FORMS: Final[dict[str, Callable[..., Any]]] = {
    "manual_seed": record_manual_seed,
    "seed": lambda generator: current().mint(draw_seed, (generator,)),
    "initial_seed": lambda generator: current().mint(read_seed, (generator,)),
    "get_state": record_get_state,
    "set_state": record_set_state,
}
