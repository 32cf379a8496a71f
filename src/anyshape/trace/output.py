"""What a traced program returns, as the graph holds it.

Where a program repeats what its function does, it returns the objects that eager execution returns:
those of the caller and those from outside are themselves, and what the trace made is made anew on
every run, once, however often it occurs in the result.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.symbolic.numpy_scalar import value_of as number_of
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat import pytree
from anyshape.torch_compat.module_attribute import REGISTRIES
from anyshape.trace import tree
from anyshape.trace.argument.wrapper import is_held, value_of
from anyshape.trace.graph.graph import SYMBOLIC
from anyshape.trace.record.container.recipe import DICT_VIEWS, recipe_of
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.owner import is_plain_object
from anyshape.trace.record.read.read import is_array
from anyshape.trace.scan import Scan, hidden_in
from anyshape.trace.sequence.sym_list import SymList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer
    from anyshape.trace.tree import Level

_TRACED_TYPES: Final = (SymTensor, SymSize, *SYMBOLIC)
_LEAF: Final = pytree.tree_structure(0)
_UNFINISHED: Final = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def results_of(tracer: Tracer, result: Any) -> tuple[list[Any], Any]:
    """The outputs of the graph, and the structure of what the program returns."""
    recorder = tracer.recorder
    if not recorder.replays:
        if not recorder.is_refusing:
            flat, spec = tree.flatten(result, shapes=True)
            recorder.need_arguments(result)
            return [output_of(tracer, leaf) for leaf in flat], spec
        recorder.need_arguments(result)
        found = _Exported(recorder)
        try:
            spec = found.part(result)
        except RecursionError:
            raise tree.endless() from None
        return [output_of(tracer, leaf) for leaf in found.leaves], spec
    try:
        results = _Results(tracer, result)
    except RecursionError:
        raise tree.endless() from None
    return results.outputs, results.spec


class _Exported:
    """A result of an exported program that is taken apart.

    Refused are results that are one object over all runs, or several, where eager has the reverse.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._met: set[int] = set()
        self._met_objects: list[Any] = []  # alive, so that no two have one id
        self.leaves: list[Any] = []

    def part(self, x: Any) -> Any:
        """The structure of a part; its leaves are added to the others."""
        found = self._level(x)
        if found is None:
            self._need_new_leaf(x)
            self.leaves.append(x)
            return _LEAF
        self._need_new(x, found)
        context = found.context
        if not _is_lasting(self._recorder, x):
            context = _settled(self._recorder, context)
        return pytree.TreeSpec(found.kind, context, [self.part(p) for p in found.parts])

    def _level(self, x: Any) -> Level | None:
        """One level of a container, or of an object that the function made."""
        if type(x) is torch.Size or type(x) is SymSize:
            return None
        found = tree.level(x)
        if found is None and self._recorder.is_born(x) and not isinstance(x, torch.nn.Module):
            return tree.members(x) if is_plain_object(x) else tree.derived(x)
        return found

    def _need_new(self, x: Any, found: Level) -> None:
        recorder = self._recorder
        whose = "from outside" if recorder.is_outside(x) and not recorder.is_born(x) else ""
        kinds = (list, dict, OrderedDict, deque, tree.Members, tree.Derived)
        if found.kind in kinds or type(x) in kinds:
            whose = whose or ("of the caller" if recorder.is_argument(x) else "")
            is_inside = id(x) in getattr(recorder.tracer, "frozen", ())  # of another list
            whose = whose or ("twice" if is_inside or id(x) in self._met else "")
            self._met.add(id(x))
            self._met_objects.append(x)
        if whose and not isinstance(x, tuple):
            raise recorder.unsupported(
                f"the function returns a {type(x).__name__} {whose}",
                why="the program builds the containers that it returns",
                fix="return a copy",
                code="AS115",
            )

    def _need_new_leaf(self, x: Any) -> None:
        recorder = self._recorder
        if type(x) is SymTensor and (own := object.__getattribute__(x, "__dict__")):
            raise recorder.unsupported(
                f"the function returns a tensor with attributes: {[*own]}", code="AS115"
            )
        _need_lasting(recorder, x)
        if recorder.is_bound(x):
            raise _one_object(recorder, x)
        if type(x) in ATOMS or isinstance(x, torch.Tensor | type) or recorder.is_outside(x):
            return
        is_number = is_array(x) and type(x).__hash__ is not None
        if type(x) in DICT_VIEWS:
            raise _one_object(recorder, x)
        if not is_number and (recorder.is_born(x) or is_array(x) or isinstance(x, set | bytearray)):
            raise _one_object(recorder, x)


class _Results:
    """A result that is taken apart; see the head of this file."""

    def __init__(self, tracer: Tracer, result: Any) -> None:
        self._tracer = tracer
        self._recorder = tracer.recorder
        self._met: dict[int, int] = {}
        self.outputs: list[Any] = []
        self._count(result)
        self.spec = self._part(result)

    def _level(self, x: Any) -> Level | None:
        """One level of what the trace made; None for a leaf, and for objects with a name."""
        recorder = self._recorder
        if type(x) is torch.Size or type(x) is SymSize or recorder.is_published(x):
            return None
        if hasattr(type(x), "made_by"):  # it stands for something of torch
            return None
        if recorder.is_outside(x) and not recorder.is_born(x):
            return None
        if recorder.is_born(x) and is_plain_object(x) and not isinstance(x, torch.nn.Module):
            return tree.members(x)
        found = tree.level(x)
        return tree.derived(x) if found is None and recorder.is_born(x) else found

    def _count(self, x: Any) -> None:
        """Count how often each container occurs. One with a method that occurs gets a name."""
        if self._recorder.is_bound(x):
            self._recorder.operand(x)
        found = self._level(x)
        if found is not None:
            _need_lasting(self._recorder, type(x))
            self._met[id(x)] = self._met.get(id(x), 0) + 1
            if self._met[id(x)] == 1:
                for part in found.parts:
                    self._count(part)

    def _part(self, x: Any) -> Any:
        found = self._level(x)
        is_shared = self._met.get(id(x), 0) > 1 and (type(x) is not tuple or x)
        if found is not None and (is_shared or not _is_lasting(self._recorder, x)):
            self._recorder.born(x)
            self._recorder.publish(x)
            found = None
        if found is None:
            self.outputs.append(self._leaf(x))
            return _LEAF
        return pytree.TreeSpec(found.kind, found.context, [self._part(p) for p in found.parts])

    def _leaf(self, x: Any) -> Any:
        recorder = self._recorder
        if recorder.is_published(x):
            return recorder.operand(x)
        _need_lasting(recorder, x)
        if type(x) in ATOMS or isinstance(x, torch.Tensor | type):
            return output_of(self._tracer, x)
        if recorder.is_outside(x) and not recorder.is_born(x):
            if isinstance(x, tuple | list | dict | set | frozenset):
                _need_nothing_hidden(x)
            return Held(x)
        if isinstance(x, set | frozenset | bytearray):
            recorder.born(x)
            return recorder.publish(x)
        if is_array(x) and hidden_in(x, _TRACED_TYPES) is None and str(x.dtype) != "object":
            return recorder.publish_array(x)
        is_made = recorder.is_born(x) and (_is_bare_module(x) or recipe_of(x) is not None)
        if is_made or type(x) in DICT_VIEWS:
            return recorder.operand(x)
        if recorder.is_born(x) or is_array(x):
            raise _one_object(recorder, x)
        return output_of(self._tracer, x)


def _is_lasting(recorder: Recorder, x: Any) -> bool:
    """Whether what a container has besides its parts is the same in every run."""
    factory = getattr(x, "default_factory", None) if isinstance(x, dict) else None
    if type(factory) is types.FunctionType and not recorder.is_outside(factory):
        return False
    return not isinstance(x, dict) or _are_lasting(recorder, x)


def _are_lasting(recorder: Recorder, keys: Iterable[Any]) -> bool:
    """Whether keys, which are a part of the structure, are the same objects in every run."""
    for key in keys:
        if type(key) in _TRACED_TYPES:
            return False
        if isinstance(key, tuple | frozenset):
            is_named = hasattr(key, "_fields") and not recorder.is_outside(key)
            if is_named or not _are_lasting(recorder, key):
                return False
        elif type(key) not in ATOMS and recorder.is_born(key):
            return False
    return True


def _settled(recorder: Recorder, x: Any) -> Any:
    """A structure's keys with the values of the numbers in them, which have been hashed."""
    kind = type(x)
    if kind in (SymSize, torch.Size):
        return torch.Size([_settled(recorder, n) for n in x])
    if kind is SymTensor:
        raise _one_object(recorder, x)
    if kind in SYMBOLIC:
        return number_of(x)
    if kind in (list, tuple, frozenset):
        return kind([_settled(recorder, part) for part in x])
    is_made = isinstance(x, types.FunctionType | tuple) and not recorder.is_outside(x)
    if is_made or recorder.is_born(x):
        raise _one_object(recorder, x)
    return x


def _is_bare_module(x: Any) -> bool:
    """Whether an object is a module without tensors and other modules."""
    if not isinstance(x, torch.nn.Module) or not is_plain_object(x):
        return False
    return not any(x.__dict__[name] for name in REGISTRIES)


def _need_lasting(recorder: Recorder, x: Any) -> None:
    """Refuse a class that the program makes: each run of the function makes another one."""
    if isinstance(x, type) and recorder.is_born(x):
        raise _one_object(recorder, x)


def _one_object(recorder: Recorder, x: Any) -> UnsupportedError:
    return recorder.unsupported(
        f"the function returns a {type(x).__name__} that it made",
        why="the program would return the same object on every call",
        fix="return tensors and numbers in tuples, lists and dicts",
        code="AS115",
    )


def output_of(tracer: Tracer, leaf: Any) -> Any:
    """A leaf of what the program returns, as the graph holds it."""
    if type(leaf) in (SymSize, torch.Size):
        return SymSize(leaf)
    if type(leaf) is str:
        need_plain(tracer, leaf)
    if isinstance(leaf, type) and leaf in _TRACED_TYPES:
        raise refused(
            UnsupportedError, "the program returns the type of a traced value", code="AS115"
        )
    if isinstance(leaf, _UNFINISHED):
        raise refused(
            UnsupportedError,
            f"the program returns a {type(leaf).__name__}, which goes on",
            code="AS115",
        )
    if type(leaf) is SymList:
        return leaf._value
    _need_nothing_hidden(leaf)
    return value_of(tracer, leaf) if is_held(leaf) else Scan(tracer).freeze(leaf)


def _need_nothing_hidden(leaf: Any) -> None:
    hidden = hidden_in(leaf, (SymTensor, *SYMBOLIC))
    if hidden is not None and type(leaf) is not type(hidden):
        raise refused(
            UnsupportedError,
            f"the program returns a {type(leaf).__name__} with traced values inside",
            why="its structure is not known, so the values cannot be given back in it",
            fix="return tensors in tuples, lists and dicts, or register the class with"
            f" {pytree.REGISTER}",
            code="AS115",
        )


def _here() -> str:
    site = capture_site()
    return f", at {site}" if site else ""


def need_plain(tracer: Tracer, text: str) -> None:
    """Refuse text that a symbolic number was formatted into."""
    name = next((shown for shown in tracer.env.asker.shown if shown in text), None)
    if name is not None:
        raise refused(
            UnsupportedError,
            f"the program returns the text {text!r} with the symbolic number {name} in it{_here()}",
            why="its value is known only when the program runs",
            fix="return the number itself, or use int(n) to specialize on its value",
            code="AS115",
        )
