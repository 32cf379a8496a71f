"""`State`: the tensors that a program holds, by the names that they have in the module.

An entry for every name: a parameter that is tied has several. The entries are in the order of the
module's `state_dict`, then come the tensors that are not registered anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.errors import StateError, shortened
from anyshape.export.state.naming import (
    BUFFER,
    CONSTANT,
    PARAMETER,
    Naming,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.trace.capture import Captured


_dtype = attrgetter("dtype")


class Entry(NamedTuple):
    """A tensor under one name. `alias_of` is the first name of a tensor that has several.

    `device` is where the program needs it; a tensor that is missing is on the meta device.
    """

    name: str
    kind: str
    tensor: torch.Tensor
    device: torch.device
    alias_of: str | None = None

    @property
    def is_missing(self) -> bool:
        """Whether the program was loaded without this tensor."""
        return self.tensor.is_meta and self.device.type != "meta"

    @property
    def is_saved(self) -> bool:
        """Whether `state_dict` has it."""
        return self.kind in (PARAMETER, BUFFER)

    @property
    def is_registered(self) -> bool:
        """Whether a module has it as a parameter or a buffer."""
        return self.kind != CONSTANT


class Form(NamedTuple):
    """What the program was traced for: another tensor in its place must have the same."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)} on {self.device}"


class State(Mapping[str, torch.Tensor]):
    """The tensors of a program; as a mapping, from the first name of each to the tensor.

    `mutated` are the names of those that running the program changes. `shared` has the further
    paths of modules that the program's module has in several places, each with the first path.
    `training` is the mode in which all modules were traced; None if they differ, or are unknown.
    `forms` are the forms that the tensors must have, by name; `is_incomplete` if some are missing.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        mutated: Iterable[str] = (),
        shared: Mapping[str, str] | None = None,
        training: bool | None = None,
        forms: Mapping[str, Form] | None = None,
    ) -> None:
        self.entries = list(entries)
        self.mutated = frozenset(mutated)
        self.shared = dict(shared or {})
        self.training = training
        self._by_name = {e.name: e for e in self.entries}
        self.forms = {e.name: form_of(e) for e in self.entries} if forms is None else dict(forms)
        self.is_incomplete = any(e.is_missing for e in self.entries)
        self._names: dict[int, str] = {}
        for e in self.entries:
            self._names.setdefault(id(e.tensor), e.name)
        self._tensors = [self._by_name[name].tensor for name in self._names.values()]
        self._dtypes = [self.forms[name].dtype for name in self._names.values()]

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._by_name[name].tensor

    def __iter__(self) -> Iterator[str]:
        return iter([e.name for e in self.entries if e.alias_of is None])

    def __repr__(self) -> str:
        return shortened(f"<State: {len(self)} tensors: {', '.join(self)}>")

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def entry(self, name: str) -> Entry:
        """The entry of a name."""
        return self._by_name[name]

    def entry_of(self, tensor: torch.Tensor) -> Entry:
        """The entry of a tensor, under its first name."""
        return self._by_name[self._names[id(tensor)]]

    def of_kind(self, *kinds: str) -> list[Entry]:
        """The entries of some kinds, each tensor once."""
        return [e for e in self.entries if e.kind in kinds and e.alias_of is None]

    def aliases(self) -> dict[str, str]:
        """The further names of tensors that are tied, each with the first name."""
        return {e.name: e.alias_of for e in self.entries if e.alias_of is not None}

    def missing(self) -> list[str]:
        """The names of the tensors that the program was loaded without."""
        return [e.name for e in self.entries if e.is_missing]

    def need_dtypes(self) -> None:
        """Raise if a tensor was converted in place since the program was traced, as by `double()`
        of the module that shares it.
        """
        if [*map(_dtype, self._tensors)] == self._dtypes:
            return
        pairs = zip(self._tensors, self._dtypes, strict=True)
        tensor = next(t for t, dtype in pairs if t.dtype is not dtype)
        name = self._names[id(tensor)]
        raise StateError(
            f"{name} is now {tensor.dtype}, and the program was traced for {self.forms[name]}",
            why="it is a tensor of the exported module, which was converted",
            fix=f"convert the program: program.to({tensor.dtype})",
        )

    def lines(self) -> list[str]:
        """The tensors in words, a line for each name."""
        found = []
        for e in self.entries:
            kind = e.kind.replace("_", " ")
            tied = f", tied to {e.alias_of}" if e.alias_of else ""
            notes = ", changed" * (e.name in self.mutated) + ", missing" * e.is_missing
            found.append(f"{e.name}: {kind} {self.forms[e.name]}{tied}{notes}")
        return found

    def replaced(self, tensors: Mapping[int, torch.Tensor]) -> State:
        """The state with other tensors in place of some, which are given by id."""
        entries = [e._replace(tensor=tensors.get(id(e.tensor), e.tensor)) for e in self.entries]
        return State(
            entries,
            mutated=self.mutated,
            shared=self.shared,
            training=self.training,
            forms=self.forms,
        )


def state_of(variants: Sequence[Captured], naming: Naming) -> State:
    """The state of a program that was traced: all that the root has registered, used or not, and
    all that the graphs use.
    """
    used: dict[int, torch.Tensor] = {}
    changed: set[int] = set()
    for part in [part for variant in variants for part in variant.parts]:
        for value, tensor in part.graph.constants:
            used.setdefault(id(tensor), tensor)
            if value.version:
                changed.add(id(tensor))
    found = _Entries()
    for name, kind, tensor in naming.registered:
        if naming.root is not None or id(tensor) in used:
            found.add(name, kind, tensor)
    if not found.has_all(used):
        for name, kind, tensor in naming.attributes():
            if id(tensor) in used and not found.has(tensor):
                found.add(name, kind, tensor)
    for tensor in used.values():
        if not found.has(tensor):
            is_own = naming.root is None and isinstance(tensor, torch.nn.Parameter)
            found.add(f"constant_{found.count}", PARAMETER if is_own else CONSTANT, tensor)
            found.count += 1
    mutated = [e.name for e in found.entries if id(e.tensor) in changed and e.alias_of is None]
    return State(
        found.entries,
        mutated=mutated,
        shared=naming.shared if naming.root is not None else None,
        training=_training(naming.root),
    )


class _Entries:
    """The entries so far, under names of their own."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.count = 0  # of the tensors without a name
        self._first: dict[int, str] = {}
        self._taken: set[str] = set()

    def add(self, name: str, kind: str, tensor: torch.Tensor) -> None:
        """Add a tensor; a name that another has gets a number."""
        unique, again = name, 1
        while unique in self._taken:
            unique, again = f"{name}_{again}", again + 1
        self._taken.add(unique)
        first = self._first.setdefault(id(tensor), unique)
        alias_of = None if first == unique else first
        self.entries.append(Entry(unique, kind, tensor, tensor.device, alias_of))

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor has a name."""
        return id(tensor) in self._first

    def has_all(self, used: Iterable[int]) -> bool:
        """Whether all tensors have names, by id."""
        return all(key in self._first for key in used)


def _training(root: Any) -> bool | None:
    modes = set() if root is None else {m.training for m in root.modules()}
    return modes.pop() if len(modes) == 1 else None


def form_of(entry: Entry) -> Form:
    """The form that the tensor of an entry has now."""
    return Form(tuple(entry.tensor.shape), entry.tensor.dtype, entry.device)
