"""Random generators of torch, Python and NumPy: which objects are such, and their state."""

from __future__ import annotations

import random
import sys
from typing import Any, Final

import torch

_OF_NUMPY: Final = ("RandomState", "Generator")
_OWN: Final = {"gauss_next"}  # the attributes of a generator of Python


def is_generator(x: Any) -> bool:
    """Whether an object is a random generator of Python or NumPy, with no method of the user's."""
    kind = type(x)
    if kind is random.Random or kind is random.SystemRandom:
        return bool(vars(x).keys() <= _OWN)
    return is_of_numpy(x)


def is_of_numpy(x: Any) -> bool:
    """Whether an object is a random generator of NumPy."""
    kind = type(x)
    return kind.__name__ in _OF_NUMPY and kind.__module__.startswith("numpy.random.")


def another(kind: Any) -> Any:
    """A generator of a class, in a state of its own."""
    if kind.__name__ == "Generator":
        return sys.modules["numpy.random"].default_rng(0)
    return kind(0)


def state_of(generator: Any) -> Any:
    """The state of a generator; None for one without a state."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if type(generator) is random.SystemRandom:
        return None
    if type(generator) is random.Random:
        return generator.getstate()
    is_old = hasattr(generator, "get_state")
    return generator.get_state() if is_old else generator.bit_generator.state


def set_state(generator: Any, state: Any) -> None:
    """Set the state of a generator to what `state_of` gave."""
    if isinstance(generator, torch.Generator) or hasattr(generator, "get_state"):
        generator.set_state(state)
    elif type(generator) is random.Random:
        generator.setstate(state)
    elif state is not None:
        generator.bit_generator.state = state
