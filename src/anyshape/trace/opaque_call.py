"""Functions that a program calls as they are: `torch.compiler.allow_in_graph` has marked them.

A call is one node. When the program runs, the function gets the real tensors, and does whatever it
does. While the program is traced, it runs once on tensors without data, or a rule of the user's
does, for the shapes of the results. What it gives besides tensors must be the same in every run.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import ConstraintError
from anyshape.rules.dispatch.bridge import Whole, run_function
from anyshape.rules.dispatch.result import Defined, Done, Many
from anyshape.rules.dispatch.table import USER
from anyshape.rules.dispatch.user import run_user_rule
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat import pytree
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.trace import tree
from anyshape.trace.graph.graph import SYMBOLIC, leaves
from anyshape.trace.record.owner import is_plain_object
from anyshape.trace.scan import PLAIN

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder


class Rebuilding:
    """A function that gets objects which the program made: each run makes them anew.

    It takes the parts of all arguments; `spec` is the structure of the positional ones and the
    named ones.
    """

    def __init__(self, function: Any, spec: Any) -> None:
        self.function = function
        self.spec = spec
        self.__name__ = self.__qualname__ = str(getattr(function, "__name__", function))
        self.__module__ = str(getattr(function, "__module__", __name__))

    def __call__(self, *parts: Any) -> Any:
        """Call the function with the objects."""
        args, kwargs = tree.unflatten(parts, self.spec)
        return self.function(*args, **kwargs)


def _structure(recorder: Recorder, x: Any, parts: list[Any]) -> Any:
    """The structure of an argument; its leaves are added to the parts."""
    found = tree.level(x)
    if recorder.is_born(x):
        is_object = found is None and is_plain_object(x) and not isinstance(x, torch.nn.Module)
        found = tree.members(x) if is_object else found
    elif found is not None and found.kind is tree.Fields:
        found = None
    if found is None or type(x) is torch.Size or type(x) is SymSize:
        parts.append(x)
        return pytree.tree_structure(0)
    inner = [_structure(recorder, part, parts) for part in found.parts]
    return pytree.TreeSpec(found.kind, found.context, inner)


class OpaqueCall:
    """A function whose results are given as a flat tuple of those that the program takes.

    `spec` is the structure of what the function returns. `taken` are the places of the leaves that
    the program takes, in order; `plain` the values of others, by place, which are checked.
    """

    def __init__(
        self, function: Any, spec: Any, taken: tuple[int, ...], plain: dict[int, Any]
    ) -> None:
        self.function = function
        self.spec = spec
        self.taken = taken
        self.plain = plain
        self.__name__ = self.__qualname__ = str(getattr(function, "__name__", function))
        self.__module__ = str(getattr(function, "__module__", __name__))

    def _key(self) -> tuple[Any, ...]:
        return id(self.function), self.taken, repr(self.plain)

    def __eq__(self, other: object) -> bool:
        if type(other) is not OpaqueCall:
            return False
        return self._key() == other._key() and bool(self.spec == other.spec)

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<call of {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call the function; raise if it returns something of another form than while tracing."""
        found, spec = pytree.tree_flatten(self.function(*args, **kwargs))
        if spec != self.spec:
            raise self._differs(f"{spec} of leaves", f"{self.spec}")
        for i, value in self.plain.items():
            if type(found[i]) is not type(value) or found[i] != value:
                raise self._differs(repr(found[i]), repr(value))
        return tuple([found[i] for i in self.taken])

    def _differs(self, now: str, then: str) -> ConstraintError:
        return ConstraintError(
            f"{self.__name__} returned {now}; while the program was traced, it was {then}",
            why="the function is called as it is, by torch.compiler.allow_in_graph, and what it"
            " returns besides tensors is a constant of the program",
            fix="return tensors",
        )


def call_opaque(recorder: Recorder, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Record a call of a function that is not looked into; what it returns."""
    tracer, name = recorder.tracer, getattr(function, "__name__", str(function))
    parts: list[Any] = []
    spec = _structure(recorder, (args, kwargs), parts)
    if not all(x is y for x, y in zip_longest(parts, leaves((args, kwargs)))):
        function, args, kwargs = Rebuilding(function, spec), tuple(parts), {}
    for x in parts:
        if type(x) not in PLAIN and not isinstance(x, torch.Tensor):
            raise recorder.unsupported(
                f"{name}, which torch.compiler.allow_in_graph has marked, gets a"
                f" {type(x).__name__}",
                fix="give it tensors, numbers and text, in tuples, lists and dicts",
            )
    if is_any_autocast_enabled():
        raise recorder.unsupported(
            f"{name}, which torch.compiler.allow_in_graph has marked, under autocast",
            why="autocast does not act on tensors without data",
        )
    found = _of_rule(tracer, function, args, kwargs)
    if found is None:
        found = run_function(function, args, kwargs)
    if found.changes:
        raise recorder.unsupported(
            f"{name}, which torch.compiler.allow_in_graph has marked, changes its arguments",
            why="a program must know which tensors a call changes",
            fix="return the new values, or make it an op with torch.library.custom_op(...,"
            " mutates_args=...)",
        )
    return _recorded(recorder, function, args, kwargs, found)


def _of_rule(tracer: Any, function: Any, args: Any, kwargs: Any) -> Whole | None:
    """What a rule of the user's for the function gives."""
    if function not in USER:
        return None
    found, spec = pytree.tree_flatten(_built(run_user_rule(tracer, USER[function], args, kwargs)))
    return Whole(found, spec, [None] * len(found), changes=False)


def _built(result: Any) -> Any:
    return result.build([_built(x) for x in result.parts]) if type(result) is Many else result


def _recorded(recorder: Recorder, function: Any, args: Any, kwargs: Any, found: Whole) -> Any:
    tracer = recorder.tracer
    taken = [i for i, x in enumerate(found.leaves) if type(x) in (Meta, Defined)]
    plain = {}
    for i, x in enumerate(found.leaves):
        if type(x) not in (Meta, Defined, Done) and type(x) not in SYMBOLIC:
            if type(x) not in PLAIN:
                raise recorder.unsupported(
                    f"{function.__name__}, which torch.compiler.allow_in_graph has marked, returns"
                    f" a {type(x).__name__}",
                    fix="return tensors, in tuples, lists and dicts",
                )
            plain[i] = x
    call = OpaqueCall(function, found.spec, tuple(taken), plain)
    if not taken:
        tracer.emit(call, args, kwargs)
        made: Any = []
    else:
        parts = [found.leaves[i] for i in taken]
        made = tracer.record(call, args, kwargs, Many(parts, list))
    given = [x.value if type(x) is Done else x for x in found.leaves]
    for i, x in zip(taken, made, strict=True):
        given[i] = x
        base = found.bases[i]
        if base is not None:
            tracer.alias(x, given[base] if type(base) is int else base)
    result = pytree.tree_unflatten(given, found.spec)
    recorder.born_below(result)
    return result
