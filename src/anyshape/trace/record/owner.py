"""`Owners`: the objects that a program knows by name, and so can change, store and return.

There are two kinds. Containers and objects among the arguments are given by each call; the trace
has copies of them, with stand-ins in place of the tensors and numbers. The others are made by the
program on each run, because they are stored outside or returned. A change that the trace makes to
either is a call of the graph on the object of that name.

Code that is not recorded may change such an object too. So what each holds is compared with what
the recorded changes have left there, and a difference is a call of the graph as well.
"""

from __future__ import annotations

import enum
import functools
import operator
import types
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.identity import is_same
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.trace import tree
from anyshape.trace.argument.argument_tree import content_of
from anyshape.trace.graph.graph import GIVEN, MADE, Name
from anyshape.trace.options import REPLAYED
from anyshape.trace.record.container.recipe import BOUND, Recipe, Tested, has_begun, recipe_of
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held, owner_of
from anyshape.trace.record.object_kind import ATOMS, HEAP, NOT_MADE, Function
from anyshape.trace.record.reader import Reader
from anyshape.trace.sequence.item import is_same_item
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.symbolic.sym_bool import SymBool
    from anyshape.trace.record.effect.text import Texts


class Given(NamedTuple):
    """An object of the caller's: the copy that the trace has, the real one of the traced call."""

    copy: Any
    real: Any
    name: Name


class Identity(NamedTuple):
    """The conditions of a program on the identity of its arguments.

    `compared` are the numbers of arguments with an object from outside that each is, or is not. If
    `apart`, no two are one object, and none is read from outside.
    """

    compared: list[tuple[int, Any, bool]]
    apart: bool


class Owners(Reader):
    """The objects that one trace knows by name; `Recorder` adds its other writes."""

    texts: Texts

    def __init__(self, tracer: Any) -> None:
        super().__init__(tracer)
        self.given: dict[int, Given] = {}  # by the id of the copy
        self._compares = False  # whether two arguments were compared
        self._published: dict[int, tuple[Any, Name]] = {}
        self._content: dict[int, list[Any]] = {}  # what the recorded changes have left there
        self._opening: set[int] = set()

    def give(self, copy: Any, real: Any, name: Name) -> None:
        """Note an object among the arguments."""
        self.born(copy)
        self.given[id(copy)] = Given(copy, real, name)
        if self._effects == REPLAYED:
            self._know(copy, name)
            if not isinstance(copy, tuple):
                self._given[id(real)] = (copy, name)

    def _know(self, x: Any, name: Name) -> None:
        self._published[id(x)] = (x, name)
        if _has_content(x):
            self._content[id(x)] = content_of(x)

    # ------------------------------------------------------------------ changes

    def emit(self, function: Callable[..., Any], *args: Any) -> None:
        """Make an effect a call of the graph; where effects are refused, see `need_no_effects`."""
        self.effects += 1
        if self._effects == REPLAYED or function in effect.OUTLETS:
            self.tracer.emit(function, args)
        else:
            key = args[1] if function in effect.OF_ATTRIBUTES else None
            self._sites.setdefault((id(owner_of(args[0])), key), capture_site())

    def is_published(self, x: Any) -> bool:
        """Whether the program has an object by name."""
        return id(x) in self._published

    def before_change(self, x: Any) -> None:
        """An object that was born is about to change by a recorded call."""
        if id(x) in self._content:
            self._settle(x)

    def repeat(self, x: Any, function: Callable[..., None], *args: Any) -> None:
        """Repeat a change of an object that was born, if the program has it by name."""
        known = self._published.get(id(x))
        if known is not None:
            self.emit(function, known[1], *args)
            if id(x) in self._content:
                self._content[id(x)] = content_of(x)

    def settle_changes(self) -> None:
        """Repeat the changes that other code has made to objects that the program has by name."""
        for x, _ in list(self._published.values()):
            if id(x) in self._content:
                self._settle(x)
            elif has_begun(x):
                raise self.refusal("a generator is moved on after it is stored")

    def _settle(self, x: Any) -> None:
        now, before = _content_of(x), self._content[id(x)]
        if len(now) == len(before) and all(map(operator.is_, now, before)):
            return
        content = tuple([self.operand(part) for part in now])
        self._content[id(x)] = now
        self.emit(effect.fill, self._published[id(x)][1], content)

    # ------------------------------------------------------------------ values

    def operand(self, x: Any) -> Any:  # noqa: C901  one case per kind of object
        """A value that is stored outside, as an argument of a call of the graph.

        Objects that were born are made anew on every run.
        """
        kind = type(x)
        if kind is SymSize or kind is torch.Size:
            name = self.compute(effect.size, tuple(x))
            self._published[id(x)] = (x, name)
            return name
        if self.is_bound(x) and id(x) not in self._published:
            return self.publish(x)
        if (kind in ATOMS and kind not in BOUND) or isinstance(x, torch.Tensor):
            return self.texts.whole(x) if kind is str else x
        known = self._published.get(id(x))
        if known is not None:
            if id(x) in self._opening:
                raise self.refusal(f"a {kind.__name__} that contains itself is stored")
            return known[1]
        if kind is tuple:
            return tuple([self.operand(part) for part in x])
        if kind in BOUND:
            return x
        if kind is types.CellType:
            real = self.real_cell(x)
            return self._cell(x) if real is None else Held(real)
        if id(x) in self._born and id(x) not in self._outside:
            return self.publish(x)
        if id(x) in self._outside or isinstance(x, type | types.ModuleType | enum.Enum):
            return Held(x)
        if kind is Function:
            return self._function(x)
        if kind is Tested:
            return self.operand(x.function)
        if recipe_of(x) is not None:
            return self.publish(x)
        raise self._not_made(x)

    def is_bound(self, x: Any) -> bool:
        """Whether something is a method in C of an object that is another one in every run."""
        if type(x) not in BOUND and type(x) is not types.MethodType:
            return False
        kind = type(x.__self__)
        return kind is SymTensor or (
            type(x) in BOUND and (kind is str or id(x.__self__) in self._born)
        )

    def _function(self, f: Any) -> Any:
        if not is_twin(f.__code__) and not str(f.__module__).startswith("anyshape."):
            return Held(f)
        real = self.real_function(f)
        return self.publish(f) if real is None else Held(real)

    def real_function(self, f: Any) -> Any:
        """The function of the user's that a twin stands for; None for another one."""
        return next((known for known, twin in self._twins.items() if twin is f), None)

    def _cell(self, cell: types.CellType) -> Name:
        """Have the program make a variable that functions share, filled once they are made."""
        name = self._new_name(cell)
        self._make(name, effect.new_cell)
        self._content[id(cell)] = []
        return name

    def _made_by(self, x: Any, name: Name, recipe: Recipe) -> None:
        """Have the program make an object by a recipe."""
        for part in (*recipe.parts, recipe.attributes):
            if type(part) is dict:
                self.born_below(part)
        parts = self.operand(recipe.parts)
        self._make(name, effect.make, Held(recipe.make), parts)
        self._opening.discard(id(x))
        if recipe.state is not None:
            self.emit(effect.set_state, name, self.operand(recipe.state))
        for key, value in recipe.attributes.items():
            self.emit(effect.set_attribute, name, key, self.operand(value))
        for part in recipe.parts[0] if type(x) is Function else ():
            if id(part) in self._content:
                self._settle(part)

    def publish(self, x: Any) -> Name:
        """Have the program make an object that was born; what happens to it is repeated there."""
        kind = type(x)
        if id(kind) in self._born:  # a class of the program's own
            raise self._not_made(x)
        name = self._new_name(x)
        self._opening.add(id(x))
        make = _maker(x)
        if make is not None:
            content: Any = tuple([self.operand(part) for part in x])
            if isinstance(x, dict):
                values = [self.operand(part) for part in x.values()]
                content = tuple(zip(content, values, strict=True))
            if kind is defaultdict:
                parts = (self.operand(x.default_factory), content)
                self._make(name, effect.make, Held(defaultdict), parts)
            else:
                self._make(name, effect.build, Held(make), content)
            self._opening.discard(id(x))
        elif (found := tree.derived(x)) is not None:
            _, keys, names = found.context
            keys = () if keys is None else tuple([self.operand(key) for _, key in keys])
            parts = tuple([self.operand(part) for part in found.parts])
            self._make(name, effect.derived, Held(kind), keys, names, parts)
            self._opening.discard(id(x))
        elif (recipe := recipe_of(x)) is not None:
            viewed = self.hooks.calls.containers.views.dict_of(x)
            recipe = recipe if viewed is None else recipe._replace(parts=(viewed,))
            self._made_by(x, name, recipe)
        elif is_plain_object(x):
            self._make(name, effect.new_object, Held(kind))
            self._opening.discard(id(x))
            for key, value in zip(*_attributes(x), strict=True):
                if isinstance(x, torch.nn.Module):
                    self.born_below(value)  # made with the object, by code that tells nothing
                self.emit(effect.set_attribute, name, key, self.operand(value))
        else:
            raise self._not_made(x)
        self._know(x, name)
        return name

    def publish_as(self, x: Any, function: Callable[..., Any], *args: Any) -> None:
        """Have the program make what an object of the trace stands for, by a call."""
        self._make(self._new_name(x), function, *args)

    def publish_by(self, x: Any, make: Any, args: tuple[Any, ...]) -> None:
        """Have the program make an object by calling what made it in the trace."""
        self.publish_as(x, effect.make, Held(make), self.operand(args))

    def publish_part(self, x: Any, owner: Any, function: Callable[..., Any]) -> None:
        """Have the program take a part of an object by name, such as its dict."""
        known = self._published.get(id(owner))
        if known is not None and id(x) not in self._published:
            name = self._new_name(x)
            self._make(name, function, known[1])
            self._know(x, name)

    def publish_array(self, a: Any) -> Name:
        """Have the program make an array of NumPy with the elements that this one has now."""
        name = self._new_name(a)
        self._make(name, effect.array_like, Held(a))
        return name

    def _new_name(self, x: Any) -> Name:
        name = self.new_name()
        self._published[id(x)] = (x, name)
        return name

    def know(self, x: Any, name: Name) -> None:
        """Note the name of an object that a call of the graph gives."""
        self._know(x, name)

    def new_name(self) -> Name:
        """A name for an object that the program makes."""
        self._names += 1
        return Name(f"{MADE}{self._names - 1}")

    def compute(self, function: Callable[..., Any], *args: Any) -> Name:
        """Have the program compute something for its effects."""
        name = self.new_name()
        self.tracer.emit(function, args).outs = name
        return name

    def _make(self, name: Name, function: Callable[..., Any], *args: Any) -> None:
        if self._effects == REPLAYED:
            self.tracer.emit(function, args).outs = name

    def _not_made(self, x: Any) -> Exception:
        return self.refusal(
            f"an object of class {type(x).__name__} that the function made is stored"
        )

    def unsupported(
        self, what: str, why: str = "", fix: str = "", code: str = ""
    ) -> UnsupportedError:
        """The refusal of something that cannot be part of a program."""
        site = capture_site()
        what += f" at {site}" if site else ""
        return refused(UnsupportedError, what, why=why, fix=fix, code=code)

    def first_call(self, m: Any) -> UnsupportedError:
        """The refusal of the first call of a lazy module, which runs eagerly."""
        error = self.unsupported(
            f"the first call of a {type(m).__name__}",
            why="it gives the module its parameters",
            fix="call it once before",
        )
        error.is_once = True
        return error

    # ------------------------------------------------------------------ identity

    def is_same(self, a: Any, b: Any) -> bool | SymBool:
        """`a is b`. Whether an argument is an object from outside becomes a condition; only the run
        knows whether a tensor is an item of some lists.
        """
        if a is None or b is None:  # no stand-in is one for None
            return a is b
        given = self.given
        if not given or a is b or (id(a) not in given and id(b) not in given):
            found = is_same_item(a, b)
            return is_same(a, b) if found is None else found
        if id(a) in given and id(b) in given:
            self._compares = True
            return False
        argument, other = (given[id(a)], b) if id(a) in given else (given[id(b)], a)
        if type(other) in ATOMS or isinstance(other, torch.Tensor) or id(other) in self._born:
            return False
        same = argument.real is other
        self._identities[argument.name, id(other)] = (other, same)
        return same

    def identity(self) -> Identity:
        """The conditions of the program on the identity of its arguments."""
        if not self._given.keys().isdisjoint([id(owner) for _, owner, *_ in self.reads.values()]):
            raise self.unsupported("an argument is a part of something from outside, too")
        compared = [
            (int(name.removeprefix(GIVEN)), other, same)
            for (name, _), (other, same) in self._identities.items()
        ]
        return Identity(compared, apart=bool(self.effects or self._compares))

    def by_identity(self, key: Any, o: Any) -> Any:
        """The object of the caller's for an argument that a container from outside has as a key.

        That the argument is this object becomes a condition. Any other key is itself.
        """
        found = self.given.get(id(key))
        kind: Any = type(key)
        is_plain = _hashes_identity(kind) and kind.__eq__ is object.__eq__
        if found is None or not is_plain or id(o) in self._born:
            return key
        if found.real not in self.shadows.get(id(o), o):
            return key
        self._identities[found.name, id(found.real)] = (found.real, True)
        return found.real

    def need_value(self, key: Any) -> None:
        """Refuse to find an argument in a container by its identity."""
        if id(key) in self.given and _hashes_identity(type(key)):
            raise self.unsupported(
                f"an argument of class {type(key).__name__} is looked up by its identity",
                why="it is another object on every call",
                fix="look it up by a value of its own",
            )


def _content_of(x: Any) -> list[Any]:
    if type(x) is not types.CellType:
        return content_of(x)
    try:
        return [x.cell_contents]
    except ValueError:
        return []


def _attributes(x: Any) -> tuple[tuple[str, ...], list[Any]]:
    found = tree.members(x)
    return found.context[1], found.parts


def _hashes_identity(cls: Any) -> bool:
    return cls.__hash__ is object.__hash__


def _has_content(x: Any) -> bool:
    """Whether what an object holds can change and be filled in again."""
    return type(x) in _FILLED or is_plain_object(x) or tree.derived(x) is not None


def is_plain_object(x: Any) -> bool:
    """Whether an object is its class and its attributes, and nothing else."""
    new: Any = type(x).__new__
    of_python = type(x).__flags__ & (HEAP | NOT_MADE) == HEAP
    return of_python and new is object.__new__ and type(getattr(x, "__dict__", {})) is dict


def _maker(x: Any) -> Any:
    """The constructor of a container like `x` from its content; None for another object."""
    kind = type(x)
    if kind is deque:
        return functools.partial(deque, maxlen=x.maxlen)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind._make
    return kind if kind in _BUILT else None


_BUILT: Final = (list, dict, set, tuple, frozenset, OrderedDict, defaultdict, bytearray)
_FILLED: Final = (list, dict, set, OrderedDict, defaultdict, deque, bytearray)
