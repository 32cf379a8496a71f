"""The structure of the arguments of a call, as a condition of the input contract.

The arguments must have the structure that the program was traced for. `Containers` tells which
containers count as the same; exported programs accept more. A violation names the first place at
which a call differs.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import ArgumentError
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.argument import argument_tree
from anyshape.trace.argument.condition import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.argument.condition import Scope
    from anyshape.trace.tree import Level


class Containers:
    """Which containers count as the same: here, those of the same kind and context."""

    def parts(self, spec: Any, x: Any, found: Level | None) -> list[Any] | None:
        """The parts of `x` in the order of the structure; None if it is another container."""
        if found is None or not argument_tree.is_level(found, spec):
            return None
        return found.parts if len(found.parts) == spec.num_children else None

    def keys(self, spec: Any) -> list[Any]:
        """The keys of the parts of a structure."""
        if spec.type in (dict, OrderedDict):
            return list(spec.context)
        if spec.type in (tree.Members, tree.Fields):
            return list(spec.context[1])
        return list(range(spec.num_children))

    def expected(self, spec: Any) -> str:
        """A level of a structure, in words."""
        if spec.is_leaf():
            return "a tensor or another single value"
        if spec.type is argument_tree.Source:
            return f"a {spec.context.__name__}"
        if spec.type is argument_tree.Elements:
            return f"a {spec.context[0].__name__} of other elements"
        of_class = spec.type in (tree.Members, tree.Fields)
        named = spec.context[0] if of_class else spec.context
        name = getattr(named, "__name__", None) or spec.type.__name__
        keys = [_step(spec, key) for key in self.keys(spec)]
        return f"a {name} of {', '.join(keys) or 'nothing'}"

    def actual(self, x: Any, found: Level | None) -> str:
        """An argument of a call, in words."""
        if found is None:
            return f"a {type(x).__name__}"
        keys = [str(pytree.keystr((key,))) for key in found.keys]
        return f"a {type(x).__name__} of {', '.join(keys) or 'nothing'}"


SAME_KIND: Final = Containers()


class Structure(NamedTuple):
    """The arguments have this structure. A guard function tests it while it takes them apart."""

    spec: Any

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"flatten_call(args, kwargs).spec == {scope.name(self.spec)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`; `flat` are the positional and the keyword arguments."""
        found = _Walk(SAME_KIND, argument_tree.level).call(self.spec, flat[0], flat[1])
        if found is not None:
            return found
        actual = argument_tree.flatten_call(flat[0], flat[1]).spec
        return Violation("the structure of the arguments", str(self.spec), str(actual))


def flatten_call(
    spec: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    program: str,
    containers: Containers = SAME_KIND,
    heads: Sequence[str] = (),
) -> list[Any]:
    """The leaves of the arguments of a call; raises if their structure is not `spec`.

    `heads` are the names of the positional arguments, "" for those without one.
    """
    flat, actual = tree.flatten((args, kwargs))
    if actual == spec and argument_tree.has_same_keys(actual, spec):
        return flat
    walk = _Walk(containers, heads=heads)
    found = walk.call(spec, args, kwargs)
    if found is not None:
        place, expected, actual, *_ = found
        raise ArgumentError(
            f"the inputs of {program} have another structure: {place} is {actual}, not {expected}",
            fix=f"give {place} the structure that it had in the example",
            code="AS301",
        )
    return walk.leaves


class _Walk:
    """One walk over a structure and the arguments of a call; collects the leaves."""

    def __init__(
        self,
        containers: Containers,
        level: Callable[[Any], Level | None] = tree.level,
        heads: Sequence[str] = (),
    ) -> None:
        self.containers = containers
        self.leaves: list[Any] = []
        self._level = level
        self._heads = heads
        self._met: list[tuple[str, Any]] = []  # the containers by number, with their places

    def call(self, spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Violation | None:
        """The first difference of a call."""
        positional, named = spec.children()
        count = positional.num_children
        if len(args) != count:
            place = "the number of positional arguments"
            return Violation(place, str(count), str(len(args)), wrong_type=True)
        if set(kwargs) != set(named.context):
            place = "the set of keyword arguments"
            return Violation(place, _listed(named.context), _listed(kwargs), wrong_type=True)
        pairs = [(name or f"argument {i}", x) for i, (name, x) in enumerate(self._named(args))]
        pairs += [(str(key), kwargs[key]) for key in named.context]
        children = [*positional.children(), *named.children()]
        for child, (place, x) in zip(children, pairs, strict=True):
            found = self._part(child, x, place)
            if found is not None:
                return found
        return None

    def _named(self, args: tuple[Any, ...]) -> list[tuple[str, Any]]:
        heads = self._heads if len(self._heads) == len(args) else [""] * len(args)
        return list(zip(heads, args, strict=True))

    def _part(self, spec: Any, x: Any, place: str) -> Violation | None:
        if spec.type is argument_tree.Again:
            first, same = self._met[spec.context]
            if x is same:
                return None
            return Violation(place, f"the same object as {first}", "another object")
        level = self._level(x)
        if spec.is_leaf() and (level is None or level.kind is tree.Members):
            self.leaves.append(x)
            return None
        containers = self.containers
        self._met.append((place, x))
        parts = None if spec.is_leaf() else containers.parts(spec, x, level)
        if parts is None:
            actual = containers.actual(x, level)
            return Violation(place, containers.expected(spec), actual, wrong_type=True)
        for key, child, part in zip(containers.keys(spec), spec.children(), parts, strict=True):
            found = self._part(child, part, place + _step(spec, key))
            if found is not None:
                return found
        return None


def _step(spec: Any, key: Any) -> str:
    """How Python writes the way from a container or an object to one of its parts."""
    return f".{key}" if spec.type in (tree.Members, tree.Fields) else f"[{key!r}]"


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"
