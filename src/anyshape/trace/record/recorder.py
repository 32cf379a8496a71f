"""`Recorder`: the reads and writes of one trace.

Writes to outside objects are kept here while the trace runs, where later reads find them, and are
calls of the graph: the objects themselves are as before. What was born is written to as usual.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import EffectError, UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace import tree
from anyshape.trace.graph import Name
from anyshape.trace.options import DONE, REFUSED, REPLAYED
from anyshape.trace.record import effect
from anyshape.trace.record import read as reads
from anyshape.trace.record.atom import ATOMS, Function
from anyshape.trace.record.effect import Held
from anyshape.trace.record.read import MISSING
from anyshape.trace.record.reader import Reader
from anyshape.trace.record.text import Texts
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.tracer import Tracer


class Recorder(Reader):
    """What one trace reads and writes outside."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.texts = Texts(self)

    def state(self) -> list[Any]:
        """What the trace has written so far, in a fixed order: the places and their values."""
        found: list[Any] = [
            (owner, sorted(names), [self.known[owner, n] for n in sorted(names)])
            for owner, (_, names) in self.changed.items()
        ]
        found += [(place, shadow) for place, shadow in self.shadows.items()]
        found += [(place, cell.cell_contents) for place, cell in self._written_cells.items()]
        return found + [(place, name, self._spaces[place][name]) for place, name in self._globals]

    def set_cell(self, real: types.CellType, value: Any) -> None:
        """A variable of a closure is about to be assigned."""
        if self._effects == DONE:
            real.cell_contents = value
            return
        self._written_cells[id(real)] = self._cells[id(real)]
        self.emit(effect.set_cell, Held(real), self.operand(value))

    def set_global(self, real: dict[str, Any], name: str, value: Any) -> None:
        """A global variable is about to be assigned."""
        if self._effects == DONE:
            real[name] = value
            return
        self._globals[id(real), name] = None
        self.emit(effect.set_item, Held(real), name, self.operand(value))

    @property
    def replays(self) -> bool:
        """Whether all effects are calls of the graph."""
        return self._effects == REPLAYED

    @property
    def has_outlets(self) -> bool:
        """Whether what the program says is a call of the graph, and not said while it is traced."""
        return self._effects != DONE

    @property
    def defers_text(self) -> bool:
        """Whether text of symbolic values is computed by the program."""
        return self._effects == REFUSED

    # ------------------------------------------------------------------ writes

    def emit(self, function: Callable[..., Any], *args: Any) -> None:
        """Make an effect a call of the graph; where effects are refused, see `need_no_effects`."""
        self.effects += 1
        if self._effects == REPLAYED or function in effect.OUTLETS:
            self.tracer.emit(function, args)
        else:
            key = args[1] if function in effect.OF_ATTRIBUTES else None
            self._sites.setdefault((id(effect.owner_of(args[0])), key), capture_site())

    def operand(self, x: Any) -> Any:
        """A value that is stored outside, as an argument of a call of the graph.

        Objects that were born are made anew on every run.
        """
        kind = type(x)
        if kind is SymSize or kind is torch.Size:
            name = self.compute(effect.size, tuple(x))
            self._published[id(x)] = (x, name)
            return name
        if kind in ATOMS or isinstance(x, torch.Tensor):
            return x
        if kind is tuple:
            return tuple([self.operand(part) for part in x])
        if id(x) in self._published or (id(x) in self._born and id(x) not in self._outside):
            return self._publish(x)
        if id(x) in self._outside or isinstance(x, type | types.ModuleType):
            return Held(x)
        if kind is Function and not is_twin(x.__code__):
            return Held(x)
        raise self.refusal(f"an object of class {kind.__name__} that the function made is stored")

    def need_outside(self, x: Any) -> None:
        """Refuse a change of an object of which nobody knows where it comes from."""
        if id(x) not in self._outside:
            raise self.refusal(f"an object of class {type(x).__name__} is changed")

    def _publish(self, x: Any) -> Name:
        """Have the program make an object that was born; what happens to it is repeated there."""
        known = self._published.get(id(x))
        if known is not None:
            return known[1]
        kind = type(x)
        name = self._name()
        self._published[id(x)] = (x, name)
        if kind in _BUILT:
            content: Any = tuple([self.operand(part) for part in x])
            if isinstance(x, dict):
                values = [self.operand(part) for part in x.values()]
                content = tuple(zip(content, values, strict=True))
            self._make(name, effect.build, Held(kind), content)
        elif _is_plain_object(x):
            self._make(name, effect.new_object, Held(kind))
            for key, value in vars(x).items():
                self.emit(effect.set_attribute, name, key, self.operand(value))
        else:
            raise self.refusal(
                f"an object of class {kind.__name__} that the function made is stored"
            )
        return name

    def _name(self) -> Name:
        self._names += 1
        return Name(f"made_{self._names - 1}")

    def compute(self, function: Callable[..., Any], *args: Any) -> Name:
        """Have the program compute something for its effects."""
        name = self._name()
        self.tracer.emit(function, args).outs = name
        return name

    def _make(self, name: Name, function: Callable[..., Any], *args: Any) -> None:
        if self._effects == REPLAYED:
            self.tracer.emit(function, args).outs = name

    def need_returnable(self, result: Any, arguments: set[int]) -> None:
        """Refuse results that would not be the objects that eager execution gives.

        A program builds the containers that it returns. One of the caller's, or one that is stored
        elsewhere, would be another object; and an object that the trace made would be the same one
        on every call.
        """
        if self._effects != REPLAYED:
            return
        for x in tree.containers_in(result):
            changes = not isinstance(x, tuple)
            if changes and (id(x) in arguments or id(x) in self._published):
                raise self.unsupported(
                    f"the function returns a {type(x).__name__} that others hold"
                )
            if changes and id(x) in self._outside and id(x) not in self._born:
                raise self.unsupported(f"the function returns a {type(x).__name__} from outside")

    def need_leaf(self, x: Any) -> None:
        """Refuse a part of a result that the trace made and the program could not make again."""
        if self._effects != REPLAYED or type(x) in ATOMS or isinstance(x, torch.Tensor | type):
            return
        if self.is_born(x) or reads.is_array(x) or isinstance(x, set | bytearray):
            raise self.unsupported(
                f"the function returns a {type(x).__name__} that it made",
                why="the program would return the same object on every call",
                fix="return tensors and numbers in tuples, lists and dicts",
            )

    def need_no_effects(self) -> None:
        """Raise if something outside is not as before, where effects are refused."""
        if self._effects != REFUSED:
            return
        for o, names in self.changed.values():
            own = getattr(o, "__dict__", {})
            for name in names:
                before = own.get(name, MISSING) if name in own else getattr(o, name, MISSING)
                if self.known[id(o), name] is not before:
                    raise self._changed(f"{type(o).__name__}.{name}", o, name)
        for place, shadow in self.shadows.items():
            real = self._outside[place]
            if not reads.same_content(reads.content_of(shadow), reads.content_of(real)):
                raise self._changed(f"a {type(real).__name__}", real)
        for place, cell in self._written_cells.items():
            real = self._outside[place]
            if cell.cell_contents is not real.cell_contents:
                raise self._changed("a variable of a closure", real)
        for place, name in self._globals:
            if self._spaces[place][name] is not self._spaces[place].real.get(name, MISSING):
                raise self._changed(f"the global variable {name}", self._spaces[place].real)

    def _changed(self, what: str, owner: Any, name: str | None = None) -> EffectError:
        site = self._sites.get((id(owner), name))
        return EffectError(
            f"the function changes {what}, which is outside of it"
            + (f", at {site}" if site else ""),
            why="the program repeats ops, not assignments, so it would happen once",
            fix="change a buffer in place, as in self.buffer.copy_(value), or return the value;"
            " if it is set in the first call only, call the function once before",
        )

    def repeat(self, x: Any, function: Callable[..., None], *args: Any) -> None:
        """Repeat a change of an object that was born, if the program makes it on every run."""
        known = self._published.get(id(x))
        if known is not None:
            self.emit(function, known[1], *args)

    def is_published(self, x: Any) -> bool:
        """Whether the program makes an object that was born, because it is stored outside."""
        return id(x) in self._published

    def unsupported(self, what: str, why: str = "", fix: str = "") -> UnsupportedError:
        """The refusal of something that cannot be part of a program."""
        site = capture_site()
        return refused(UnsupportedError, what + (f" at {site}" if site else ""), why=why, fix=fix)


def _is_plain_object(x: Any) -> bool:
    """Whether an object is its class and its dict, and nothing else."""
    kind = type(x)
    slots = any("__slots__" in base.__dict__ for base in kind.__mro__[:-1])
    new: Any = kind.__new__
    return new is object.__new__ and not slots and type(getattr(x, "__dict__", 0)) is dict


_BUILT: Final = (list, dict, set, deque, OrderedDict)
