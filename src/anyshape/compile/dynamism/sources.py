"""Which inputs the source lists name.

Names are those of messages: `x`, `batch[0].weights`, `self.layer.k`. An entry may spell them as
torch does, `L['batch'][0].weights` or `L['self']._modules['layer'].k`. An entry that is a path
names one input; any other is a regular expression that must match some spelling from its start. A
list that was set by `config` has been checked; one from the environment is checked here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.config import SETTINGS, config, listed
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.torch_compat.module_attribute import BUFFERS, PARAMETERS, REGISTRIES
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.config import Listed

_LISTS: Final = (
    ("unbacked_sources", UNBACKED),
    ("dynamic_sources", BACKED),
    ("static_sources", STATIC),
)
_HEAD: Final = re.compile(r"""L\[(?:'([^']*)'|"([^"]*)")\]|([^.\[]+)""")
_STEP: Final = re.compile(r"""\.(\w+)|\[(?:(-?\d+)|'([^']*)'|"([^"]*)")\]""")
_NO_NAME: Final = "\0"
_MOST: Final = 40  # names in a warning


class Sources:
    """The three lists, the strongest first."""

    def __init__(self, lists: Sequence[tuple[str, tuple[Listed, ...]]]) -> None:
        self._lists = lists

    def __bool__(self) -> bool:
        return any(entries for _, entries in self._lists)

    def kind(self, name: str, dim: int | None = None, rank: int = 0) -> str | None:
        """What the lists make of a dimension of the tensor `name`, or of a number; None: nothing.

        A dimension in an entry means nothing for a number.
        """
        for kind, entries in self._lists:
            for entry in entries:
                if _is_of(entry, dim, rank) and _matches(entry, name):
                    return kind
        return None

    def names(self, name: str, *, number: bool = False) -> bool:
        """Whether some entry names it, for some dimension or all.

        For a number among the attributes of a module, not counting patterns that match any name.
        """
        return any(
            _matches(entry, name) and not (number and _matches(entry, _NO_NAME))
            for entry in self.entries
        )

    @property
    def has_patterns(self) -> bool:
        """Whether some entry is a pattern."""
        return any(entry.pattern is not None for entry in self.entries)

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The parts of the paths among the entries."""
        return [_steps(entry.name) for entry in self.entries if entry.pattern is None]

    @property
    def entries(self) -> list[Listed]:
        """All entries."""
        return [entry for _, entries in self._lists for entry in entries]

    def unmatched(self, names: Sequence[str], flat: Sequence[Any]) -> list[str]:
        """The entries that name none of the inputs, nor a dimension that one has."""
        return [entry.text for entry in self.entries if not _names_any(entry, names, flat)]


def current() -> Sources:
    """The lists in force."""
    found = []
    for name, kind in _LISTS:
        value = getattr(config, name)
        try:
            entries = listed(tuple(value) if isinstance(value, list) else value)
        except ValueError as e:
            raise ConfigError(
                f"config.{name} cannot be {value!r}, from the environment",
                why=str(e),
                fix=f"correct {' or '.join(SETTINGS[name].environment)}",
            ) from None
        found.append((kind, entries))
    return Sources(found)


def warn_unmatched(entries: Sequence[str], names: Iterable[str]) -> None:
    """Tell of entries that named nothing."""
    there = list(names)
    more = f" and {len(there) - _MOST} more" if len(there) > _MOST else ""
    warn(
        AnyshapeWarning(
            f"{', '.join(entries)} in the source lists matched nothing;"
            f" the names there are: {', '.join(there[:_MOST]) or 'none'}{more}",
            code="AS721",
        )
    )


# ---------------------------------------------------------------------- matching


def _names_any(entry: Listed, names: Sequence[str], flat: Sequence[Any]) -> bool:
    for name, x in zip(names, flat, strict=True):
        if _matches(entry, name):
            rank = x.dim() if isinstance(x, torch.Tensor) else None
            if entry.dim is None or rank is None or -rank <= entry.dim < rank:
                return True
    return False


def _is_of(entry: Listed, dim: int | None, rank: int) -> bool:
    if entry.dim is None or dim is None:
        return True
    return dim == (entry.dim if entry.dim >= 0 else entry.dim + rank)


@lru_cache(maxsize=4096)
def _matches(entry: Listed, name: str) -> bool:
    if entry.name == name:
        return True
    if entry.pattern is None:
        steps = _steps(entry.name)
        return steps in (_steps(name), (name,))
    return any(entry.pattern.match(spelling) for spelling in _spellings(name))


def _steps(path: str) -> tuple[str, ...]:
    """The parts of a path; the tables in which a module keeps its attributes are no part."""
    steps = []
    step, place = _HEAD.match(path), 0
    while step is not None:
        steps.append(next(part for part in step.groups() if part is not None))
        place = step.end()
        step = _STEP.match(path, place)
    if not steps or place < len(path):
        return (path,)
    return (steps[0], *(part for part in steps[1:] if part not in REGISTRIES))


def _spellings(name: str) -> list[str]:
    """The ways to write a name: ours, torch's, and torch's for attributes of modules."""
    head, *rest = _steps(name)
    tail = name[len(head) :]
    found = [name, f"L[{head!r}]{tail}"]
    if head == "self" and rest:
        owner = "L['self']" + "".join(f"._modules[{part!r}]" for part in rest[:-1])
        found += [f"{owner}.{rest[-1]}"]
        found += [f"{owner}.{table}[{rest[-1]!r}]" for table in (PARAMETERS, BUFFERS)]
    return found
