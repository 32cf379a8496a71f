"""The inputs of a call, flattened by the structure that a program expects.

The structures must be equal, with two exceptions. A dict may have another order. Where the program
expects a class, it also takes the stand-in of that class, another class of the same name, or its
parts: in a dict by their names, or in a list or tuple if they have none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from anyshape.errors import ArgumentError
from anyshape.export.files.stand_in import StandIn
from anyshape.export.files.structure import foreign
from anyshape.torch_compat import pytree
from anyshape.trace import tree

if TYPE_CHECKING:
    from anyshape.trace.tree import Level


def flatten_as(spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any], program: str) -> list[Any]:
    """The leaves of the inputs of a call; raises if their structure is not `spec`."""
    flat, found = tree.flatten((args, kwargs))
    if found == spec:
        return flat
    positional, named = spec.children()
    if len(args) != positional.num_children:
        raise _mismatch(program, f"{len(args)} positional arguments, not {positional.num_children}")
    if set(kwargs) != set(named.context):
        raise _mismatch(
            program, f"keyword arguments {_listed(kwargs)}, not {_listed(named.context)}"
        )
    leaves: list[Any] = []
    for i, (child, x) in enumerate(zip(positional.children(), args, strict=True)):
        _walk(child, x, f"argument {i}", program, leaves)
    for key, child in zip(named.context, named.children(), strict=True):
        _walk(child, kwargs[key], key, program, leaves)
    return leaves


def _walk(spec: Any, x: Any, where: str, program: str, leaves: list[Any]) -> None:
    found = tree.level(x)
    if spec.is_leaf() and found is None:
        leaves.append(x)
        return
    parts = None if spec.is_leaf() else _parts(spec, x, found)
    if parts is None:
        raise _mismatch(program, f"{where} is {_shown(x, found)}, not {_expected(spec)}")
    for key, child, part in zip(_keys(spec), spec.children(), parts, strict=True):
        _walk(child, part, f"{where}[{key!r}]", program, leaves)


def _parts(spec: Any, x: Any, found: Level | None) -> list[Any] | None:
    """The parts of a container in the order of the structure; None if it is another one."""
    kind, context, count = spec.type, spec.context, spec.num_children
    if found is not None and found.kind is kind and len(found.parts) == count:
        if found.context == context:
            return found.parts
        if kind in (dict, OrderedDict) and set(x) == set(context):
            return [x[key] for key in context]
    of = foreign(kind, context, count)
    if of is None:
        return None
    if found is not None and foreign(found.kind, found.context, len(found.parts)) == of:
        return found.parts
    if type(x) is dict and of.names is not None and set(x) == set(of.names):
        return [x[name] for name in of.names]
    if type(x) in (list, tuple) and of.names is None and len(x) == count:
        return list(x)
    return None


def _keys(spec: Any) -> list[Any]:
    count = spec.num_children
    of = foreign(spec.type, spec.context, count)
    if of is not None:
        return of.keys(count)
    return list(spec.context) if spec.type in (dict, OrderedDict) else list(range(count))


def _mismatch(program: str, what: str) -> ArgumentError:
    return ArgumentError(f"the inputs of {program} have another structure: {what}")


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _shown(x: Any, found: Level | None) -> str:
    """An argument of a call, in words."""
    if found is None:
        return f"a {type(x).__name__}"
    if type(x) is StandIn:
        return _expected(pytree.TreeSpec(StandIn, found.context, []))
    keys = [str(pytree.keystr((key,))) for key in found.keys]
    return f"a {type(x).__name__} of {', '.join(keys) or 'nothing'}"


def _expected(spec: Any) -> str:
    """A node of a structure, in words."""
    if spec.is_leaf():
        return "a tensor or another single value"
    count = spec.num_children
    of = foreign(spec.type, spec.context, count)
    if of is not None:
        return f"a {of.name} of {', '.join(map(str, of.keys(count))) or 'nothing'}"
    name = getattr(spec.context, "__name__", None) or spec.type.__name__
    keys = [f"[{key!r}]" for key in _keys(spec)]
    return f"a {name} of {', '.join(keys) or 'nothing'}"
