"""The names of tensors and the modules of a program, as plain data and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked
from anyshape.export.state.naming import BUFFER, KINDS, PARAMETER
from anyshape.export.state.state import Entry, State
from anyshape.trace.graph.module_call import ModuleCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

CALLS_SINCE: Final = 6  # the version of the format in which nodes have calls of modules
_SAVED: Final = (PARAMETER, BUFFER)
_MAX_DEPTH: Final = 64  # parts of a name
_MAX_NAME: Final = 4096  # characters


class CallWriter:
    """Numbers the calls of modules; a call is after those that it is in."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[ModuleCall] = []  # so that ids stay those of these calls

    def number(self, call: ModuleCall | None) -> int | None:
        """The number of a call; None for what is in no call of a module."""
        if call is None:
            return None
        for c in call.stack if id(call) not in self._numbers else ():
            if id(c) not in self._numbers:
                outer = None if c.outer is None else self._numbers[id(c.outer)]
                self._numbers[id(c)] = len(self.rows)
                self._kept.append(c)
                self.rows.append([c.path, c.class_name, c.number, outer])
        return self._numbers[id(call)]


def encode_state(state: State, numbers: dict[int, int]) -> dict[str, Any]:
    """The entries with the numbers of their tensors: a tied tensor has one number."""
    for e in state.entries:
        if len(e.name) > _MAX_NAME or e.name.count(".") >= _MAX_DEPTH:
            raise UnsupportedError(
                f"cannot save a tensor with the name {e.name[:60]}...",
                why=f"at most {_MAX_NAME} characters and {_MAX_DEPTH} parts are allowed",
                code="AS511",
            )
    entries = [[e.name, e.kind, numbers[id(e.tensor)]] for e in state.entries]
    return {"entries": entries, "mutated": sorted(state.mutated)}


def encode_modules(state: State, calls: CallWriter) -> dict[str, Any]:
    """The calls of modules, the modules at several paths, and the mode."""
    shared = [list(pair) for pair in state.shared.items()]
    return {"calls": calls.rows, "shared": shared, "training": state.training}


def saved_numbers(state_: Any) -> set[int]:
    """The numbers of the tensors that a state dict has, under one of their names."""
    entries, _ = checked.fields(state_, ("entries", "mutated"), "state")
    rows = [checked.items(row, "state", 3) for row in checked.items(entries, "state")]
    return {number for _, kind, number in rows if type(number) is int and kind in _SAVED}


def decode(
    state_: Any, modules_: Any, constants: Sequence[torch.Tensor], devices: Sequence[torch.device]
) -> tuple[State, list[ModuleCall]]:
    """The state of a program, and the calls of modules by number."""
    entries_, mutated_ = checked.fields(state_, ("entries", "mutated"), "state")
    calls_, shared_, training = checked.fields(modules_, ("calls", "shared", "training"), "modules")
    firsts: dict[int, str] = {}
    entries: dict[str, Entry] = {}
    for row in checked.items(entries_, "state"):
        name, kind, number = checked.items(row, "state", 3)
        if _path(name, "state") in entries:
            raise LoadError(f"state has {name[:60]!r} twice")
        checked.one_of(kind, KINDS, "state")
        tensor = constants[checked.number(number, "state", 0, len(constants) - 1)]
        first = firsts.setdefault(number, name)
        alias_of = None if first == name else first
        entries[name] = Entry(name, kind, tensor, devices[number], alias_of)
    if len(firsts) != len(constants):
        raise LoadError("the state has not all constants in it")
    mutated = [checked.text(name, "state") for name in checked.items(mutated_, "state")]
    if not all(name in entries and entries[name].alias_of is None for name in mutated):
        raise LoadError("the state has changes of a tensor that is not in it")
    shared = _shared(shared_)
    _need_hierarchy([e.name for e in entries.values() if e.is_registered], shared)
    checked.optional(checked.flag, training, "training")
    state = State([*entries.values()], mutated=mutated, shared=shared, training=training)
    return state, _calls(calls_)


def _path(x: Any, where: str) -> str:
    """A qualified name: parts with dots between them."""
    parts = checked.text(x, where).split(".")
    if not all(parts) or len(parts) > _MAX_DEPTH or len(x) > _MAX_NAME:
        checked.refuse(where, "a qualified name", x)
    return str(x)


def _shared(data: Any) -> dict[str, str]:
    """Further paths with first paths, which are not inside of a further path."""
    where = "the modules at several paths"
    shared: dict[str, str] = {}
    for pair in checked.items(data, where):
        path, first = [_path(part, where) for part in checked.items(pair, where, 2)]
        shared[path] = first
    for first in shared.values():
        if any(prefix in shared for prefix in _prefixes(first)):
            raise LoadError(f"{where}: {first[:60]!r} is not a first path")
    return shared


def _prefixes(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _need_hierarchy(names: list[str], shared: dict[str, str]) -> None:
    """Raise if a name is that of a tensor and of a module."""
    outer = {prefix for name in names for prefix in _prefixes(name)[:-1]}
    outer.update([prefix for path in shared for prefix in _prefixes(path)])
    both = outer & set(names)
    if both:
        raise LoadError(f"{min(both)[:60]!r} is a tensor and a module in the state")


def _calls(data: Any) -> list[ModuleCall]:
    where = "the calls of modules"
    calls: list[ModuleCall] = []
    for row in checked.items(data, where):
        path, kind, number, outer = checked.items(row, where, 4)
        if path is not None and path != "":
            _path(path, where)
        inside = checked.optional(checked.number, outer, where, 0, len(calls) - 1)
        calls.append(
            ModuleCall.saved(
                path,
                checked.text(kind, where),
                checked.number(number, where, 0, checked.MAX_SIZE),
                None if inside is None else calls[inside],
            )
        )
    return calls
