"""The arguments of a call of an exported program, bound as the function binds them.

A program expects its inputs as the example had them: some by position, others by name. A call may
name what was positional and the reverse, and leave out what has a default. A program that was
loaded has no function: its positional arguments can be named, and nothing else.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import ArgumentError, counted, nearest
from anyshape.trace.argument.arguments import signature_of
from anyshape.trace.argument.condition import same_value

if TYPE_CHECKING:
    from anyshape.trace.argument.inputs import Inputs

_HEAD: Final = re.compile(r"[\[.]")
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME: Final = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binding:
    """How the arguments of calls of one program are bound."""

    def __init__(self, program: str, inputs: Inputs, function: Any) -> None:
        positional, named = inputs.spec.children()
        self.program = program
        self.names: list[str] = list(named.context)  # those that the example named
        self.parameters = _parameters(function)
        self.heads = self._heads(positional.children(), [leaf.name for leaf in inputs.leaves])

    def _heads(self, specs: list[Any], leaves: list[str]) -> list[str]:
        """The names of the positional arguments; empty for those that have none."""
        given = [p for p in self.parameters.values() if p.kind in _POSITIONAL]
        heads: list[str] = []
        place = 0
        for i, spec in enumerate(specs):
            if self.parameters:
                heads.append(given[i].name if i < len(given) else "")
            else:
                own = leaves[place : place + spec.num_leaves]
                heads.append(_HEAD.split(own[0], maxsplit=1)[0] if own else "")
            place += spec.num_leaves
        return [head if heads.count(head) == 1 else "" for head in heads]

    def arranged(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the example had them."""
        if len(args) == len(self.heads) and kwargs.keys() == set(self.names):
            return args, kwargs
        if "" in self.heads:  # collected by `*args`: their number is part of the structure
            return args, kwargs
        given = self._given(args, kwargs)
        arranged = tuple([self._taken(name, given) for name in self.heads])
        named = {name: self._taken(name, given) for name in self.names}
        for name, value in given.items():
            p = self.parameters.get(name)
            if p is None or type(p.default) is not type(value) or not same_value(value, p.default):
                raise self._error(
                    f"was exported without the argument {name!r}",
                    fix="export it with an example that has the argument",
                )
        return arranged, named

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name."""
        order = [p.name for p in self.parameters.values() if p.kind in _POSITIONAL] or self.heads
        if len(args) > len(order):
            many = counted(len(order), "positional argument", "positional arguments")
            raise self._error(f"takes {many}, not {len(args)}")
        given = dict(zip(order, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise self._error(f"has two values for the argument {name!r}")
            p = self.parameters.get(name)
            if p is not None and p.kind not in _BY_NAME and name not in self.names:
                raise self._error(f"takes the argument {name!r} by position")
            if name not in (*order, *self.names) and self.has_no(name):
                known = [*order, *self.names]
                raise self._error(f"has no argument {name!r}", meant=nearest(name, known))
            given[name] = value
        return given

    def _taken(self, name: str, given: dict[str, Any]) -> Any:
        if name in given:
            return given.pop(name)
        p = self.parameters.get(name)
        if p is None or p.default is p.empty:
            raise self._error(f"is called without the argument {name!r}")
        return p.default

    def signature(self) -> inspect.Signature:
        """The signature of a call; ValueError where arguments have no names."""
        if self.parameters:
            return inspect.Signature(list(self.parameters.values()))
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        pairs = zip((self.heads, self.names), kinds, strict=True)
        found = [inspect.Parameter(name, kind) for names, kind in pairs for name in names]
        return inspect.Signature(found)

    def has_no(self, name: str) -> bool:
        """Whether the function cannot have an argument; a loaded program has no function."""
        kinds = {p.kind for p in self.parameters.values()}
        return name not in self.parameters and inspect.Parameter.VAR_KEYWORD not in kinds

    def _error(self, what: str, fix: str = "", meant: str = "") -> ArgumentError:
        call = ", ".join([*self.heads, *(f"{name}=..." for name in self.names)])
        usage = f"call it as {self.program}({call})"
        return ArgumentError(f"{self.program} {what}", fix=f"{meant}{fix or usage}", code="AS301")


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    """The parameters of the exported function by name; none if there is no signature."""
    try:
        return dict(signature_of(function).parameters) if function is not None else {}
    except (TypeError, ValueError):
        return {}
