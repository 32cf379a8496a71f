"""Attributes of objects that are inputs of a trace: numbers and tensors that a spec names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Attribute(NamedTuple):
    """The entry `key` of `owner`, a dict of an object or module, known to users as `name`."""

    owner: dict[str, Any]
    key: str
    name: str


@contextmanager
def replaced(attributes: Sequence[Attribute], stand_ins: Sequence[Any]) -> Iterator[None]:
    """Put the stand-ins in the place of the attributes for the body of a `with` block."""
    before = [a.owner[a.key] for a in attributes]
    try:
        for a, stand_in in zip(attributes, stand_ins, strict=True):
            a.owner[a.key] = stand_in
        yield
    finally:
        for a, original in zip(attributes, before, strict=True):
            a.owner[a.key] = original
