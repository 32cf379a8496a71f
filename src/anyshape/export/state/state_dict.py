"""`load_state_dict`: other values or tensors for the parameters and buffers of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.errors import ArgumentError, StateError
from anyshape.export.state.naming import PARAMETER
from anyshape.export.state.state import Form
from anyshape.export.state.storage import allocated, overlapping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.export.state.state import Entry, State

_LISTED: Final = 8


class IncompatibleKeys(NamedTuple):
    """The names of the program that a state dict lacks, and its names that the program lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Change(NamedTuple):
    """What a state dict does to a state: `copied` pairs of a tensor and its new value, `replaced`
    tensors by the ids of those whose places they take.
    """

    copied: list[tuple[torch.Tensor, torch.Tensor]]
    replaced: dict[int, torch.Tensor]
    keys: IncompatibleKeys


def change_of(state: State, given: Any, *, strict: bool, assign: bool) -> Change:
    """What loading a state dict would do; StateError with all that does not fit.

    One name of a tied tensor is enough; if several are given, their values must be equal.
    """
    given = _read(given)
    wanted = {e.name: e for e in state.entries if e.is_saved}
    groups: dict[str, list[str]] = {}
    for e in wanted.values():
        groups.setdefault(e.alias_of or e.name, []).append(e.name)
    unexpected = [name for name in given if name not in wanted]
    missing, misfits = [], []
    values: dict[str, torch.Tensor] = {}
    for first, names in groups.items():
        found = [name for name in names if name in given]
        if not found:
            missing += names
            continue
        values[first] = given[found[0]]
        for name in found:
            form = state.forms[first]
            misfits += _misfit(name, given[name], form, on_device=assign)
        if not misfits and any(
            not have_equal_values(values[first], given[name]) for name in found[1:]
        ):
            misfits.append(f"{' and '.join(found)} are tied, and their values differ")
    if misfits or (strict and (missing or unexpected)):
        raise _error(missing if strict else [], unexpected if strict else [], misfits)
    entries = {first: state.entry(first) for first in values}
    copied, replaced = [], {}
    if assign:
        replaced = {id(e.tensor): _wrapped(e, values[name]) for name, e in entries.items()}
        need_apart(state, replaced)
    else:
        absent = [e.tensor for e in entries.values() if e.is_missing]
        replaced = allocated(state, absent)
        copied = [(replaced.get(id(e.tensor), e.tensor), values[n]) for n, e in entries.items()]
    return Change(copied, replaced, IncompatibleKeys(missing, unexpected))


def need_apart(state: State, replaced: Mapping[int, torch.Tensor]) -> None:
    """Raise if a tensor that the program changes would share memory with another one that it did
    not share memory with while tracing.
    """
    if not state.mutated:
        return
    new = {n: replaced.get(id(t), t) for n, t in state.items()}
    before = {frozenset(pair) for pair in overlapping(dict(state.items()), state.mutated)}
    for a, b in overlapping(new, state.mutated):
        if frozenset((a, b)) not in before:
            raise StateError(
                f"{a} and {b} share memory, and the program changes one of them",
                why="it was traced with memory of its own for each",
                fix="clone one of the tensors",
            )


def _read(given: Any) -> dict[str, torch.Tensor]:
    """The tensors of a state dict, by name."""
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"a state dict is a mapping, not {type(given).__name__}",
            fix='give model.state_dict(), or torch.load("weights.pt")',
        )
    found = {name: given[name] for name in given}
    wrong = [n for n, t in found.items() if type(n) is not str or not isinstance(t, torch.Tensor)]
    if wrong:
        raise ArgumentError(
            f"the state dict has {type(found[wrong[0]]).__name__} for {wrong[0]!r}",
            fix="give tensors by name",
        )
    return found


def _misfit(name: str, given: torch.Tensor, form: Form, *, on_device: bool) -> list[str]:
    device = given.device if on_device else form.device
    actual = Form(tuple(given.shape), given.dtype, device)
    if given.is_meta and form.device.type != "meta":
        return [f"{name} has no data: it is on the meta device"]
    return [] if actual == form else [f"{name} is {actual}, and the program needs {form}"]


def have_equal_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have equal values, and one shape; NaN equals itself."""
    if a.shape != b.shape or a.is_meta or b.is_meta:
        return False
    if a is b or (a.data_ptr() == b.data_ptr() and a.stride() == b.stride()):
        return True
    with torch.no_grad():
        b = b.to(a.device)
        both_nan = a.isnan() & b.isnan()
        return bool(((a == b) | both_nan).all())


def _wrapped(entry: Entry, value: torch.Tensor) -> torch.Tensor:
    """A value as a parameter, where the entry is one."""
    if not isinstance(entry.tensor, torch.nn.Parameter) and entry.kind != PARAMETER:
        return value
    if isinstance(value, torch.nn.Parameter):
        return value.requires_grad_(entry.tensor.requires_grad)
    return torch.nn.Parameter(value.detach(), requires_grad=entry.tensor.requires_grad)


def _error(missing: Sequence[str], unexpected: Sequence[str], misfits: Sequence[str]) -> StateError:
    reasons = []
    if missing:
        reasons.append(f"missing: {shortened(missing)}")
    if unexpected:
        reasons.append(f"not in the program: {shortened(unexpected)}")
    reasons += misfits[:_LISTED]
    if len(misfits) > _LISTED:
        reasons.append(f"and {len(misfits) - _LISTED} more")
    return StateError(
        "the state dict does not fit the program",
        why="; ".join(reasons),
        fix="pass strict=False to load what is there" if not misfits else "",
    )


def shortened(names: Sequence[str]) -> str:
    """A list of names for a sentence."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
