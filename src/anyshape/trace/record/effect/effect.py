"""Side effects of a program as calls of its graph: repeated on every run, in order."""

from __future__ import annotations

import functools
import io
import sys
import time
import types
import warnings
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.aten_op import is_op, qualified_name
from anyshape.torch_compat.call_frame import APPLY
from anyshape.trace import tree
from anyshape.trace.mode.execution_modes import WARNING_BLOCKS
from anyshape.trace.record.effect.autograd_effect import AUTOGRAD_EFFECTS, gradient_of, gradients
from anyshape.trace.record.effect.deferral import defer, waiting
from anyshape.trace.record.effect.held import Held, given, owner_of
from anyshape.trace.record.effect.iterator_state import copied, place
from anyshape.trace.record.object_kind import HEAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.trace.graph.graph import Node


class Shown:
    """The text of an object, in place of an object that a file cannot hold."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def said(x: Any) -> Any:
    """A part of a message with the objects that are held, in lists and dicts too."""
    kind = type(x)
    if kind is Held:
        return x.object
    if kind is dict:
        return {said(k): said(v) for k, v in x.items()}
    return kind([said(part) for part in x]) if kind is tuple or kind is list else x


def _all_given(named: dict[str, Any]) -> dict[str, Any]:
    return {k: given(v) for k, v in named.items()}


def native(x: Any, name: str) -> Any:
    """A method of a container as it is in C: what the user's class does in it is recorded."""
    for base in type(x).__mro__:
        if not base.__flags__ & HEAP and name in base.__dict__:
            return base.__dict__[name].__get__(x)
    return getattr(x, name)


def _deferred(f: Callable[..., None]) -> Callable[..., None]:
    """An effect that changes something outside."""

    @functools.wraps(f)
    def effect(*args: Any) -> None:
        defer(functools.partial(f, *args))

    return effect


@_deferred
def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Assign an attribute as `object` does."""
    _assign(owner_of(owner), name, given(value))


def _assign(x: Any, name: str, value: Any) -> None:
    own = getattr(x, "__dict__", None)
    if type(own) is dict and not _is_data(x, name):
        own[name] = value
    else:
        object.__setattr__(x, name, value)


def _is_data(owner: Any, name: str) -> bool:
    """Whether a class stores an attribute itself, as for slots and for `__class__`."""
    for base in type(owner).__mro__:
        if name in base.__dict__:
            return hasattr(base.__dict__[name], "__set__")
    return False


@_deferred
def set_class_attribute(owner: Any, name: str, value: Any) -> None:
    """Assign an attribute of a class."""
    setattr(owner_of(owner), name, given(value))


@_deferred
def delete_attribute(owner: Any, name: str) -> None:
    """Delete an attribute as `object` does."""
    object.__delattr__(owner_of(owner), name)


@_deferred
def set_item(owner: Any, key: Any, value: Any) -> None:
    """Assign an item of a container, or a name of a module."""
    native(owner_of(owner), "__setitem__")(given(key), given(value))


@_deferred
def delete_item(owner: Any, key: Any) -> None:
    """Delete an item of a container."""
    native(owner_of(owner), "__delitem__")(given(key))


def size(parts: Any) -> torch.Size:
    """A shape."""
    return torch.Size(parts)


def show(value: Any, how: str, spec: str) -> str:
    """The text of a value."""
    if how == "percent":
        return spec % (value,)
    return format(value, spec) if how == "format" else repr(value) if how == "repr" else str(value)


def join(parts: Any) -> str:
    """The parts of a text, one after the other."""
    return "".join(parts)


def build(kind: Held, content: Any) -> Any:
    """A new container."""
    return kind.object(given(content))


def derived(kind: Held, keys: Any, names: tuple[str, ...], parts: Any) -> Any:
    """A new object of a subclass of list or dict, of its items and attributes."""
    return tree.rederived(kind.object, given(keys), names, given(parts))


def new_object(kind: Held) -> Any:
    """A new object without attributes."""
    return object.__new__(kind.object)


def make(function: Held, parts: Any) -> Any:
    """A new object that a function makes of its parts."""
    return function.object(*given(parts))


def new_cell() -> Any:
    """A new variable that functions share."""
    return types.CellType()


@_deferred
def set_state(owner: Any, state: Any) -> None:
    """Set the state of a new object, as when it is copied."""
    place(owner, given(state))


def namespace_of(owner: Any) -> Any:
    """The dict of an object."""
    return owner_of(owner).__dict__


def array_like(array: Held) -> Any:
    """A new array with the elements of another."""
    return array.object.copy()


@_deferred
def fill(owner: Any, content: Any) -> None:
    """Replace all that a container or an object holds; of those with keys, the keys come first."""
    x, parts = owner_of(owner), given(content)
    if type(x) is types.CellType:
        _fill_cell(x, parts)
        return
    half = len(parts) // 2
    pairs = list(zip(parts[:half], parts[half:], strict=True)) if keyed(x) else []
    if isinstance(x, dict | list | set | deque | bytearray):
        fill_container(x, pairs if isinstance(x, dict) else parts)
        return
    now = dict(pairs)
    for name in tree.members(x).context[1]:
        if name not in now:
            object.__delattr__(x, name)
    tree.fill(x, [name for name, _ in pairs], [value for _, value in pairs])


def _fill_cell(cell: types.CellType, content: Any) -> None:
    if content:
        cell.cell_contents = content[0]
    else:
        del cell.cell_contents


def fill_container(c: Any, content: Any) -> None:
    """Replace what a container holds; a dict is filled with pairs."""
    if isinstance(c, dict):
        kind = OrderedDict if isinstance(c, OrderedDict) else dict
        kind.clear(c)
        for key, value in content:
            kind.__setitem__(c, key, value)
    elif isinstance(c, list):
        list.__setitem__(c, slice(None), content)
    elif isinstance(c, deque | bytearray):
        c.clear()
        c.extend(content)
    else:
        c.clear()
        c.update(content)


def keyed(x: Any) -> bool:
    """Whether what an object holds has keys."""
    return not isinstance(x, list | set | deque | bytearray)


@_deferred
def set_cell(cell: Held, value: Any) -> None:
    """Assign a variable that functions share."""
    cell.object.cell_contents = given(value)


@_deferred
def call_method(owner: Any, name: str, args: Any, kwargs: Any) -> None:
    """Call a method of a container."""
    native(owner_of(owner), name)(*given(args), **_all_given(kwargs))


def print_out(words: Any, named: Any) -> None:
    """Print, as the builtin does."""
    options = _all_given(named)
    stream = options.pop("file", "stdout")
    text = io.StringIO()
    print(*said(words), **{**options, "file": text})  # noqa: T201  the user's
    defer(lambda: _write(stream, text.getvalue(), flush=options.get("flush", False)))


def write_out(stream: str, text: Any) -> int:
    """Write to a standard stream of the process; gives the number of characters."""
    defer(lambda: _write(stream, text, flush=False))
    return len(text)


def _write(stream: str, text: str, *, flush: bool) -> None:
    target = getattr(sys, stream)
    if target is not None:
        target.write(text)
        if flush:
            target.flush()


def warn(message: Any, category: Any, file: str, line: int, module: str, registry: Held) -> None:
    """Warn as if from a line of the user's."""
    warnings.warn_explicit(said(message), given(category), file, line, module, registry.object)


def log(
    logger: Held, level: int, place: tuple[str, int, str], message: Any, args: Any, extra: Any
) -> None:
    """Log a message as if from a line of the user's."""
    target = logger.object
    if target.isEnabledFor(level):
        file, line, function = place
        message, args, extra = said(message), said(args), said(extra)
        record = target.makeRecord(
            target.name, level, file, line, message, args, None, function, extra
        )
        defer(lambda: target.handle(record))


def read_gradient(t: torch.Tensor) -> None:
    """Read the gradient of a result that has none: torch warns."""
    t.grad  # noqa: B018  a property that warns


def raise_unless(holds: bool, kind: Held, args: Any, state: Any) -> None:
    """Raise an error of the program unless a condition holds; `state` is what the error has besides
    its arguments.
    """
    if not holds:
        error = kind.object.__new__(kind.object, *args)
        error.__dict__.update(state)
        raise error


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


class _Move:
    """An iterator is moved on."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __call__(self) -> None:
        next(self.iterator)


def take(iterator: Held) -> Any:
    """The next item of an iterator, which moves on; moves that wait count."""
    move = _Move(iterator.object)
    count = sum(type(act) is _Move and act.iterator is move.iterator for act in waiting())
    item = ahead(move.iterator, count)
    defer(move)
    return item


def ahead(iterator: Any, count: int) -> Any:
    """The item after so many others; raises `StopIteration` where there is none."""
    twin = copied(iterator)
    for _ in range(count):
        next(twin)
    return next(twin)


def set_data(t: torch.Tensor, value: torch.Tensor) -> None:
    """Give a tensor the memory of another one."""
    t.data = value


def draw(source: Any, name: str, args: Any, named: Any) -> Any:
    """The result of a random generator or a clock, or a change of the state of a generator."""
    return getattr(owner_of(source), name)(*given(args), **_all_given(named))


def draw_integer(source: Any, name: str, args: Any, named: Any) -> int:
    """An integer of NumPy that a generator gives, as one of Python."""
    return int(draw(source, name, args, named))


def draw_float(source: Any, name: str, args: Any, named: Any) -> float:
    """A float of NumPy that a generator gives, as one of Python."""
    return float(draw(source, name, args, named))


OF_ATTRIBUTES: Final = frozenset((set_attribute, set_class_attribute, delete_attribute))
COMPUTED: Final = frozenset((size, show, join))  # values that only effects use
OUTLETS: Final = frozenset((print_out, write_out, warn, log))
DRAWS: Final = frozenset((draw, draw_integer, draw_float))
EFFECTS: Final = frozenset(
    (
        set_attribute,
        set_class_attribute,
        delete_attribute,
        set_item,
        delete_item,
        set_cell,
        call_method,
        build,
        new_object,
        make,
        new_cell,
        set_state,
        derived,
        namespace_of,
        array_like,
        fill,
        sleep,
        set_data,
        take,
        *COMPUTED,
        *OUTLETS,
        *DRAWS,
        read_gradient,
        *AUTOGRAD_EFFECTS,
        *WARNING_BLOCKS,
        torch.range,  # which warns
    )
)
UNLOWERED: Final = EFFECTS | {
    raise_unless,
    gradients,
    gradient_of,
}  # calls that are not for compilers of tensors


def are_seen(nodes: Iterable[Node]) -> bool:
    """Whether code of the user's runs after an effect, in a call that is recorded as a whole.

    It would see effects that wait as not done.
    """
    changes = False
    for node in nodes:
        if node.func in _CHANGES:
            changes = True
        elif changes and node.func not in EFFECTS and _is_of_user(node.func):
            return True
    return False


def _is_of_user(f: Any) -> bool:
    """Whether a call of the graph is Python code of the user's."""
    if is_op(f):
        return qualified_name(f).partition("::")[0] not in _NAMESPACES
    home = getattr(f, "__module__", None) or "torch"
    return getattr(f, "__func__", None) is APPLY or home.partition(".")[0] not in _LIBRARIES


MADE: Final = {build, new_object, make, new_cell, set_state, derived, namespace_of}
"""The calls that make objects."""
_NOT_SEEN: Final = {sleep, set_data, *AUTOGRAD_EFFECTS, *WARNING_BLOCKS}  # done at once
_CHANGES: Final = EFFECTS - COMPUTED - OUTLETS - DRAWS - MADE - _NOT_SEEN
_NAMESPACES: Final = ("aten", "prim", "prims", "quantized", "torchvision")
_LIBRARIES: Final = ("torch", "anyshape", "builtins", "_operator", "math")
