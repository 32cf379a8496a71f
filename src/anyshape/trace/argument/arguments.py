"""The arguments of a call as flat leaves, with the names that users know them by."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.argument.argument_tree import flatten_call
from anyshape.trace.argument.attribute import Places, values_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from anyshape.trace.argument.attribute import Attribute

_HEAD: Final = re.compile(r"[\[.]")


class Arguments(NamedTuple):
    """The arguments of one call: in `flat` and `names` the leaves of `args` and `kwargs`, then the
    attributes that are inputs too. `owners` are the containers and objects among the arguments,
    where a program may change them, and `calm` the places of the attributes of plain objects. What
    the places `held` contain is taken apart like further arguments by name.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attributes: Sequence[Attribute]
    names: list[str]
    flat: list[Any]
    spec: Any  # the structure of `args` and `kwargs`
    heads: Sequence[str] = ()  # the names of the positional arguments
    owners: Sequence[Any] = ()
    calm: Container[int] = ()
    held: Sequence[Attribute] = ()

    @classmethod
    def of(
        cls,
        fn: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        attributes: Sequence[Attribute] = (),
        *,
        owned: bool = False,
        held: Sequence[Attribute] = (),
    ) -> Arguments:
        """Flatten the arguments of a call of `fn`; `owned` where it may change the containers."""
        owners: list[Any] = []
        calm: set[int] = set()
        if owned:
            named = {**kwargs, **values_of(held)} if held else kwargs
            pairs, spec, owners, calm = flatten_call(args, named)
        else:
            pairs, spec = tree.flatten_with_path((args, kwargs))
        heads = parameter_names(fn, args)
        names = [_name(path, heads) for path, _ in pairs] + [a.name for a in attributes]
        flat = [leaf for _, leaf in pairs] + [a.value for a in attributes]
        return cls(args, kwargs, attributes, names, flat, spec, heads, owners, calm, held)

    @property
    def frame(self) -> list[Any]:
        """All that a program gets: the leaves, then the containers."""
        return [*self.flat, *self.owners]

    @property
    def places(self) -> Places:
        """The places outside that are inputs too."""
        return Places(self.attributes, self.held)

    def constants(self, omitted: Container[str]) -> set[int]:
        """The places of leaves that hardly vary: attributes of plain objects, and those of the
        parameters that the call leaves to their defaults.
        """
        heads = [_HEAD.split(name, maxsplit=1)[0] for name in self.names]
        count = len(self.flat) - len(self.attributes)
        return {i for i in range(count) if i in self.calm or heads[i] in omitted}


def _plain_names(target: Any) -> list[str] | None:
    """The names of the positional parameters of a Python function, found without a signature."""
    bound = hasattr(target, "__self__")
    code = getattr(target, "__code__", None)
    if code is None or hasattr(target, "__wrapped__"):
        return None
    return list(code.co_varnames[int(bound) : code.co_argcount])


def signature_of(fn: Any) -> inspect.Signature:
    """The signature of a call of a function or module; a program of ours knows its own. Raises
    TypeError or ValueError where there is none.
    """
    own = getattr(type(fn), "anyshape_signature", None)
    if own is not None:
        found: inspect.Signature = own(fn)
        return found
    return inspect.signature(fn.forward if isinstance(fn, torch.nn.Module) else fn)


def parameter_names(fn: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the positional arguments of a call."""
    plain = _plain_names(fn.forward if isinstance(fn, torch.nn.Module) else fn)
    if plain is not None and len(plain) >= len(args):
        return plain[: len(args)]
    try:
        parameters = list(signature_of(fn).parameters.values())
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(len(args))]
    names: list[str] = []
    for i in range(len(args)):
        p = parameters[i] if i < len(parameters) else None
        variadic = next((q for q in parameters if q.kind is inspect.Parameter.VAR_POSITIONAL), None)
        if p is not None and p.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(p.name)
        elif variadic is not None:
            names.append(f"{variadic.name}[{i - parameters.index(variadic)}]")
        else:
            names.append(f"args[{i}]")
    return names


def _name(path: Any, names: list[str]) -> str:
    where, first, *rest = path
    head = names[first.idx] if where.idx == 0 else str(first.key)
    return head + pytree.keystr(tuple(rest))
