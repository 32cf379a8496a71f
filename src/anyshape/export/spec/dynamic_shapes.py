"""`dynamic_shapes` as users write it, matched with the inputs: one entry for each size and number.

By argument name, or by position in the signature; for a tensor a dict `{dim: spec}`, or a list or
tuple with one spec for each dimension; containers mirror the inputs. Every argument and every item
of a dict has a spec, and None is that of a static one; fields of a dataclass that are left out are
static. Marks on the tensors count for sizes without a spec.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import ArgumentError, ConstraintError, counted, nearest
from anyshape.export.spec import dim as dims
from anyshape.export.spec.dim import Derived, Dim, Hint, from_text, from_torch
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.argument.arguments import parameter_names, signature_of
from anyshape.trace.argument.marks import marks_of
from anyshape.trace.argument.size_chooser import BACKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anyshape.trace.argument.marks import Mark

    Entry = int | Hint | Dim | Derived

_STATIC: Final = Hint(dims.STATIC)
_PLAIN: Final = (dict, list, tuple)
_COLLECTIONS: Final = (torch.export.ShapesCollection, torch.export.AdditionalInputs)


class Spec:
    """What each size (leaf, dimension) and each number (leaf, None) among the inputs may be."""

    def __init__(self) -> None:
        self.entries: dict[tuple[int, int | None], Entry] = {}
        self.names: dict[str, Dim] = {}
        self.places: dict[tuple[int, int | None], str] = {}  # how users call them

    def entry(self, leaf: int, dim: int | None) -> Entry:
        """The entry of a size or number; static if there is none."""
        return self.entries.get((leaf, dim), _STATIC)


def read(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any) -> Spec:
    """The spec for a call of `fn`."""
    return _Reader().read(fn, args, kwargs, given)


def _example(names: Sequence[str], given: dict[Any, Any]) -> str:
    """A spec that gives the first argument these dimensions."""
    rest = "".join(", None" for _ in names[1:]) or ","
    return f"dynamic_shapes=({given!r}{rest})"


def _dict_of(given: Any) -> str:
    """The spec of a tensor, from what is meant to be the spec of its first dimension."""
    return f"{{0: {given!r}}}" if isinstance(given, str | Dim | Derived | Hint) else '{0: "n"}'


def _dims(rank: int) -> str:
    if rank == 0:
        return "it has no dimensions"
    return f"dimensions are 0 to {rank - 1}" if rank > 1 else "its only dimension is 0"


class _Reader:
    def __init__(self) -> None:
        self.spec = Spec()
        self.count = 0

    def read(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any) -> Spec:
        tree.flatten((args, kwargs))  # raises if a container contains itself
        if isinstance(given, _COLLECTIONS):
            given = _of_collection(given, fn, args, kwargs)
        by_name = self._by_name(fn, args, kwargs, given)
        names = parameter_names(fn, args)
        for name, value in zip(names, args, strict=True):
            self._walk(value, by_name.get(name), name)
        for name, value in kwargs.items():
            self._walk(value, by_name.get(name), name)
        return self.spec

    def _by_name(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any
    ) -> Mapping[str, Any]:
        """The specs by the names of the arguments."""
        if given is None or given in ({}, ()):
            return {}
        names = in_signature_order(fn, [*parameter_names(fn, args), *kwargs])
        if isinstance(given, dict):
            found = _spread(fn, names, given)
            unknown: list[Any] = [k for k in found if k not in names]
            if unknown:
                if type(unknown[0]) is int:  # dimensions, in the place of arguments
                    fix = f"give each argument its own: {_example(names, given)}"
                else:
                    there = ", ".join(map(repr, names)) or "none"
                    fix = f"{nearest(unknown[0], names)}the arguments are {there}"
                raise ArgumentError(
                    f"dynamic_shapes names {unknown[0]!r}, which is not an argument of this call",
                    fix=fix,
                    code="AS221",
                )
            need_all(names, found, "dynamic_shapes")
            return found
        if isinstance(given, tuple | list):
            given = _spread_positions(fn, names, given)
            if len(given) != len(names):
                raise ArgumentError(
                    f"dynamic_shapes has {counted(len(given), 'entry', 'entries')} for"
                    f" {counted(len(names), 'argument', 'arguments')}",
                    fix=f"give one entry for each of {', '.join(map(repr, names))}, in this order,"
                    " or a dict by name",
                    code="AS221",
                )
            return dict(zip(names, given, strict=True))
        raise ArgumentError(
            f"dynamic_shapes must be a dict, a list or a tuple, not {type(given).__name__}",
            fix=f"write {_example(names, {0: 'n'})}",
            code="AS222",
        )

    # ------------------------------------------------------------------ one input

    def _walk(self, value: Any, given: Any, path: str) -> None:
        if isinstance(value, torch.Tensor):
            self._tensor(value, given, path, self.count)
            self.count += 1
            return
        found = tree.level(value)
        if found is None:
            self._number(value, given, path)
            return
        keys = [_key(key) for key in found.keys]
        if given is not None and type(given) is type(value) and type(given) not in _PLAIN:
            mirror = tree.level(given)  # of the same class, with specs as its parts
            assert mirror is not None
            given = {_key(k): part for k, part in zip(mirror.keys, mirror.parts, strict=True)}
        entries = self._matched(keys, given, path, isinstance(value, dict))
        for key, part, entry in zip(found.keys, found.parts, entries, strict=True):
            self._walk(part, entry, path + pytree.keystr((key,)))

    def _matched(self, keys: list[Any], given: Any, path: str, is_dict: bool) -> list[Any]:
        """The specs of the parts of a container, in their order. Only fields may be left out."""
        if given is None:
            return [None] * len(keys)
        if isinstance(given, dict):
            unknown = [k for k in given if k not in keys]
            if unknown:
                raise ArgumentError(
                    f"dynamic_shapes of {path} names {unknown[0]!r}, which is not in it",
                    fix=nearest(unknown[0], keys) + f"it has {', '.join(map(repr, keys))}",
                    code="AS221",
                )
            if is_dict:
                need_all(keys, given, f"dynamic_shapes of {path}")
            return [given.get(k) for k in keys]
        if isinstance(given, tuple | list):
            if len(given) != len(keys):
                raise ArgumentError(
                    f"dynamic_shapes of {path} has {counted(len(given), 'entry', 'entries')} for"
                    f" {counted(len(keys), 'part', 'parts')}",
                    fix=f"give one entry for each of {', '.join(map(repr, keys))}; None for those"
                    " that do not vary",
                    code="AS221",
                )
            return list(given)
        raise ArgumentError(
            f"dynamic_shapes of {path} is {given!r}, and {path} is a container",
            fix="mirror the container with a dict, list or tuple of specs",
            code="AS221",
        )

    def _number(self, value: Any, given: Any, path: str) -> None:
        if given is not None:
            entry = self._entry(given, path)
            if not (isinstance(entry, Hint) and entry.kind == dims.STATIC):
                plain = type(value) in (float, bool) and isinstance(entry, Hint)
                if type(value) is not int and not plain:
                    kind = type(value).__name__
                    raise ArgumentError(
                        f"{path} is a {kind}, which cannot be {entry!r}",
                        fix="write None: sizes of tensors, ints, floats and bools can be dynamic",
                        code="AS221",
                    )
                self._put(self.count, None, entry, value, path)
        self.count += 1

    def _tensor(self, t: torch.Tensor, given: Any, path: str, leaf: int) -> None:
        rank = t.dim()
        entries: dict[int, Any] = {}
        if isinstance(given, dict):
            for d, entry in given.items():
                if type(d) is not int or not -rank <= d < rank:
                    raise ArgumentError(
                        f"dynamic_shapes of {path} has dimension {d!r}, and {path} has rank {rank}",
                        fix=_dims(rank) if type(d) is int else f"{_dims(rank)}, as an int",
                        code="AS221",
                    )
                if d % rank in entries:
                    raise ArgumentError(
                        f"dynamic_shapes of {path} has dimension {d} twice", code="AS221"
                    )
                entries[d % rank] = entry
        elif isinstance(given, tuple | list):
            if len(given) != rank:
                raise ArgumentError(
                    f"dynamic_shapes of {path} has {counted(len(given), 'entry', 'entries')}, and"
                    f" {path} has rank {rank}",
                    fix=f"give {rank}, None for those that do not vary, or a dict such as"
                    ' {0: "n"}',
                    code="AS221",
                )
            entries = dict(enumerate(given))
        elif given is not None:
            raise ArgumentError(
                f"dynamic_shapes of {path} is {given!r}, and {path} is a tensor",
                fix=f"write {_dict_of(given)}, or a list with one entry for each dimension",
                code="AS222",
            )
        marks = marks_of(t)
        for d in range(rank):
            entry = entries.get(d)
            if entry is None and d in marks:
                entry = _of_mark(marks[d])
            if entry is not None:
                where = f"{path}.size({d})"
                self._put(leaf, d, self._entry(entry, where), t.size(d), where)

    # ------------------------------------------------------------------ one size

    def _entry(self, given: Any, where: str) -> Entry:
        if given is None:
            return _STATIC
        if type(given) is int:
            return given
        if isinstance(given, Hint):
            return given
        if isinstance(given, str):
            given = from_text(given, self.spec.names)
        elif not isinstance(given, Dim | Derived):
            ours = from_torch(given)
            if ours is None:
                raise ArgumentError(
                    f"{where} cannot be {given!r}",
                    fix="use a Dim, a string, a number, None, or Dim.DYNAMIC and the like",
                    code="AS222",
                )
            given = ours
        if isinstance(given, Dim | Derived):
            for name, d in given.dims.items():
                self._name(name, d)
        return given  # type: ignore[no-any-return]  # an entry by now

    def _name(self, name: str, d: Dim) -> None:
        known = self.spec.names.setdefault(name, d)
        if known is not d and (known.min, known.max) != (d.min, d.max):
            if (d.min, d.max) == (None, None):
                return
            if (known.min, known.max) == (None, None):
                self.spec.names[name] = d
                return
            raise ConstraintError(
                f"two different Dims are called {name!r}: {known!r} and {d!r}",
                why="one name is one size",
                fix=f"use one Dim for both, or another name than {name!r}",
            )

    def _put(self, leaf: int, d: int | None, entry: Entry, value: int, where: str) -> None:
        if type(entry) is int:
            if entry != value:
                raise ConstraintError(
                    f"{where} is {value} in the example, not {entry}",
                    why="a number in dynamic_shapes is a size that does not vary",
                    fix=f"write {value} or None, or give an example of size {entry}",
                    code="AS203",
                )
            return
        if isinstance(entry, Hint | Dim):
            lo, hi = entry.min, entry.max
            if (lo is not None and value < lo) or (hi is not None and value > hi):
                raise ConstraintError(
                    f"{where} is {value} in the example, outside of {entry!r}",
                    fix="give an example within the bounds, or other bounds",
                    code="AS203",
                )
        self.spec.entries[leaf, d] = entry
        self.spec.places[leaf, d] = where


def _of_collection(given: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The spec in an object of torch's that collects the sizes of tensors, or further inputs."""
    try:
        return given.dynamic_shapes(fn, args, kwargs)
    except (TypeError, ValueError, AssertionError, RuntimeError) as e:
        raise ArgumentError(
            f"the {type(given).__name__} does not fit the arguments: {e}", code="AS221"
        ) from e


def _key(path: Any) -> Any:
    for name in ("key", "idx", "name"):
        if hasattr(path, name):
            return getattr(path, name)
    return str(path)


def _of_mark(mark: Mark) -> Hint:
    """The entry for a dimension with a mark."""
    if mark.kind == BACKED:
        return Hint(dims.DYNAMIC if mark.strict else dims.AUTO, mark.min, mark.max)
    return Hint(mark.kind, mark.min, mark.max)


def in_signature_order(fn: Any, names: list[str]) -> list[str]:
    """The names of arguments in the order of the parameters of `fn`; others come last."""
    order = {p.name: i for i, p in enumerate(_parameters(fn))}
    return sorted(names, key=lambda name: order.get(name.partition("[")[0], len(order)))


def need_all(names: Iterable[Any], given: Mapping[Any, Any], where: str) -> None:
    """Raise if an argument or a part is left out, as torch does."""
    missing = [name for name in names if name not in given]
    if missing:
        listed = ", ".join(map(repr, missing))
        raise ArgumentError(
            f"{where} leaves out {listed}",
            fix=f"add {missing[0]!r}: None if its sizes are static",
            code="AS221",
        )


def _spread(fn: Any, names: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """The entries of `*args` and `**kwargs` one by one."""
    found = dict(given)
    for p in _parameters(fn):
        if p.name not in given or p.name in names:
            continue
        entries = found.pop(p.name)
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            own = [n for n in names if n.startswith(f"{p.name}[")]
            if not isinstance(entries, tuple | list) or len(entries) != len(own):
                raise ArgumentError(
                    f"dynamic_shapes[{p.name!r}] needs {len(own)} entries", code="AS221"
                )
            found.update(zip(own, entries, strict=True))
        elif p.kind is inspect.Parameter.VAR_KEYWORD and isinstance(entries, dict):
            found.update(entries)
        else:
            found[p.name] = entries
    return found


def _spread_positions(fn: Any, names: list[str], given: Any) -> list[Any]:
    """The entries by position, those of `*args` one by one, if they are given as one entry."""
    star = next((p for p in _parameters(fn) if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    own = [] if star is None else [i for i, n in enumerate(names) if n.startswith(f"{star.name}[")]
    if not own or len(given) != len(names) - len(own) + 1:
        return list(given)
    entry = given[own[0]]
    if not isinstance(entry, tuple | list) or len(entry) != len(own):
        return list(given)
    return [*given[: own[0]], *entry, *given[own[0] + 1 :]]


def _parameters(fn: Any) -> list[inspect.Parameter]:
    try:
        return list(signature_of(fn).parameters.values())
    except (TypeError, ValueError):
        return []
