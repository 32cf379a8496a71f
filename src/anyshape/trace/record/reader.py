"""`Reader`: where objects come from, and what one trace reads of those outside.

An object is *born* if the trace made it, and outside otherwise. Reads of outside objects become
conditions of the program.
"""

from __future__ import annotations

import builtins
import sys
import types
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import EffectError, UnsupportedError
from anyshape.refusal import refused
from anyshape.trace.argument.attribute import Elements
from anyshape.trace.options import DONE, REFUSED
from anyshape.trace.record import depth, garbage
from anyshape.trace.record.attribute import tensor_class
from anyshape.trace.record.attribute.own_dict import module_of
from anyshape.trace.record.attribute.own_getter import OwnGetters
from anyshape.trace.record.builtin.array_memory import need_unwritten
from anyshape.trace.record.builtin.module_call import note_failed_import
from anyshape.trace.record.builtin.number_context import contexts_of
from anyshape.trace.record.call.twin_function import make_twin
from anyshape.trace.record.container.open_generator import OpenGenerators
from anyshape.trace.record.foreign.passive import active_part
from anyshape.trace.record.namespace import Namespace
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, SYMBOLIC, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read import read_log
from anyshape.trace.record.read.watch import Watch
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from anyshape.trace.record.read.read import Place
    from anyshape.trace.record.read.read_log import Entry
    from anyshape.trace.tracer import Tracer

_OWN_REFERENCES: Final = 3  # of the table, a variable, and `getrefcount`


class Reader:
    """The state outside that one trace reads; `Recorder` adds its writes."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.options = tracer.options
        self._effects = tracer.options.effects
        self.effects = 0  # how many there were
        self._names = 0  # of what the program makes for its effects
        self._sites: dict[tuple[int, Any], Any] = {}  # where refused effects happened, by place
        self.reads: dict[Place, Entry] = {}  # see `read_log.py`
        self.known: dict[tuple[int, str], Any] = {}  # attributes of outside objects
        self.shadows: dict[int, Any] = {}  # written containers, by the id of the real one
        self.assigned: dict[int, set[Any]] = {}  # keys of written dicts; the others are as before
        self.kept: dict[int, Any] = {}  # see `kept_item.py`
        self.changed: dict[int, Any] = {}  # objects with attributes that were assigned
        self.is_scripting = False  # whether the source of a compiled script runs
        self.catches = False  # whether errors may be handled by the program
        self._born: dict[int, Any] = {}
        self._given: dict[int, tuple[Any, str]] = {}  # copies of arguments, by the id of the real
        self._identities: dict[tuple[str, int], tuple[Any, bool]] = {}  # what arguments are
        self._outside: dict[int, Any] = {}
        self._spaces: dict[int, Namespace] = {}
        self._looked_up: dict[tuple[type, str], Any] = {}  # names in classes
        self.in_class: dict[tuple[type, str], Any] = {}  # what is no data descriptor
        self.described: dict[tuple[type, str], Any] = {}  # data descriptors
        self.forwards: dict[type, Any] = {}  # the twin that a call of a module comes down to
        self._kinds: set[int] = set()  # the ids of objects, kept by `reads`, whose class is noted
        self.supers: dict[tuple[type, type, str], Any] = {}
        self.own_getters = OwnGetters()
        self._twins: dict[Any, Any] = {}
        self._cells: dict[int, types.CellType] = {}  # shadows of cells
        self._real_cells: dict[int, types.CellType] = {}
        self._written_cells: dict[int, types.CellType] = {}
        self._globals: dict[tuple[int, str], None] = {}  # those that were assigned
        self._dict_owners: dict[int, Any] = {}
        self.moved: dict[int, tuple[Any, int]] = {}  # iterators, and how often they were moved on
        self.inputs: dict[tuple[str, int, Any], Any] = {}  # places that are inputs of the program
        self.owners_of_inputs: set[int] = set()
        self.open_generators = OpenGenerators()
        self.cached: list[tuple[Any, int]] = []  # see `cached_call.py`
        self.knows_hooks = False  # whether those of all modules are noted
        self.root: Any = None  # the object of a compiled method
        self._root_kind: Any = None
        self.hooks: Any = None
        self.importing: list[tuple[str, tuple[str, ...]]] = []  # what did not end, at the end

    # ------------------------------------------------------------------ where objects come from

    def born(self, x: Any) -> Any:
        """Note that an object was made by the trace."""
        self._born[id(x)] = x
        return x

    def unreferenced(self) -> list[Any]:
        """The objects that the trace made and that nothing but this recorder refers to."""
        return [x for x in self._born.values() if sys.getrefcount(x) <= _OWN_REFERENCES]

    def garbage(self) -> list[Any]:
        """The same with those that refer to each other; it takes longer."""
        return garbage.unreferenced(self._born)

    def is_born(self, x: Any) -> bool:
        """Whether the trace surely made an object."""
        if id(x) in self._born:
            return True
        kind = type(x)
        if kind is types.GeneratorType:
            return is_twin(x.gi_code)
        return kind is Function and is_twin(x.__code__)

    def may_write(self, x: Any) -> bool:
        """Whether the trace may write to an object itself."""
        return self._effects == DONE or self.is_born(x)

    def is_old(self, t: torch.Tensor) -> bool:
        """Whether a real tensor was surely there before the trace, at least in a tuple."""
        if id(t) not in self._outside and any(_holds(x, t) for x in [*self._outside.values()]):
            self._outside[id(t)] = t
        return id(t) in self._outside

    def is_outside(self, x: Any) -> bool:
        """Whether an object was surely there before the trace."""
        return id(x) in self._outside

    def known_outside(self) -> list[Any]:
        """The objects that were surely there before the trace."""
        return [*self._outside.values()]

    def outside(self, x: Any) -> Any:
        """Note that an object was there before the trace."""
        if type(x) not in ATOMS:
            key = id(x)
            if key not in self._born:
                self._outside[key] = x
        return x

    # ------------------------------------------------------------------ reads

    def note(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        """Note a read, and give its value: the stand-in, where the place is an input."""
        place = (kind, id(owner), key)
        if self.inputs and place in self.inputs:
            return self.inputs[place]
        if place not in self.reads:
            self._need_steady(place, value)
            self.reads[place] = (kind, owner, key, value)
            if type(value) not in ATOMS:
                found = id(value)
                if found not in self._born:
                    self._outside[found] = value
        return self.argument(value) if self._given and id(value) in self._given else value

    def _need_steady(self, place: Place, value: Any) -> None:
        if place in self.options.unsteady:
            raise refused(
                UnsupportedError,
                f"{place[2]} holds another {type(value).__name__} on every call",
                why="a program would be for one of them",
                fix="change the object that is there, or give it as an argument",
            )

    def note_value(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        """Note a read by code that gets the value itself: the place is no input of the program."""
        self.inputs.pop((kind, id(owner), key), None)
        return self.note(kind, owner, key, value)

    def argument(self, real: Any) -> Any:
        """The copy of an argument that was read from outside: both are one object."""
        found, name = self._given[id(real)]
        self._identities[name, id(real)] = (real, True)
        return found

    def own_item(self, o: Any, own: dict[str, Any], name: str) -> Any:
        """Note and give an attribute of an outside object that is in its dict."""
        value = own[name]
        if self.inputs and (reads.ITEM, id(own), name) in self.inputs:
            return self.inputs[reads.ITEM, id(own), name]
        place = (read_log.OWN_ITEM, id(o), name)
        if place not in self.reads:
            self._need_steady((reads.ITEM, id(own), name), value)
            self.reads[place] = (read_log.OWN_ITEM, o, name, (own, value))
            if type(value) not in ATOMS:
                found = id(value)
                if found not in self._born:
                    self._outside[found] = value
        return self.argument(value) if self._given and id(value) in self._given else value

    def registered(
        self, m: Any, own: dict[str, Any], tables: list[Any], name: str, value: Any
    ) -> None:
        """Note that these tables of a module lack a name, but for the last, which has the value."""
        place = (read_log.REGISTERED, id(m), name)
        if place not in self.reads:
            self.reads[place] = (read_log.REGISTERED, m, name, (own, tables, value))
        self.outside(value)

    def input_at(self, owner: Any, key: Any, value: Any) -> Any:
        """The stand-in for an item that is an input of the program; else its value."""
        return self.inputs.get((reads.ITEM, id(owner), key), value) if self.inputs else value

    def look_up_again(self, key: Any = reads.MISSING) -> None:
        """Look attributes up again, of one name or of all, but for those that were assigned."""
        if key is not reads.MISSING and type(key) is not str:
            return  # no name, and its `==` may be the user's
        for o, name in [p for p in self.known if key is reads.MISSING or p[1] == key]:
            if o not in self.changed or name not in self.changed[o][1]:
                del self.known[o, name]

    def dict_owner(self, d: Any) -> Any:
        """The object whose own dict a dict is, if the program asked for it, or the module."""
        found = self._dict_owners.get(id(d))
        return module_of(d) if found is None else found

    def own_dict(self, own: Any, owner: Any) -> Any:
        """Note that the program got the dict of an object."""
        self._dict_owners[id(own)] = owner
        self.owned(own, owner)
        return self.outside(own)

    def owned(self, own: Any, owner: Any) -> None:
        """Note whose dict a dict is, for messages."""
        place = (read_log.OWN_DICT, id(own), None)
        self.reads.setdefault(place, (read_log.OWN_DICT, own, None, owner))

    def content(self, c: Any) -> Any:
        """Note all that a container holds; gives what it holds for this trace."""
        shadow = self.shadows.get(id(c), c)
        if id(c) not in self._born and isinstance(c, CONTAINERS):
            if type(c) is bytearray:
                need_unwritten(self, c)
            place = (reads.CONTENT, id(c), None)
            if place not in self.reads:
                held = (type(c), *reads.content_of(c)[1:])
                if any(type(x) in SYMBOLIC for x in held):
                    return shadow  # made by the trace, where nobody told
                if not isinstance(c, tuple | frozenset):
                    self.reads[place] = (reads.CONTENT, c, None, held)
                for x in held[1:]:
                    if type(x) not in ATOMS and id(x) not in self._born:
                        self._outside[id(x)] = x
        return shadow

    def consumed(self, c: Any) -> None:
        """Note what a container from outside holds, which a call of torch was given."""
        if id(c) in self._outside:
            if reads.is_array(c):
                self.array(c)
            else:
                self.content(c)

    def array(self, a: Any) -> None:
        """Note the elements of an array of NumPy from outside."""
        place = (reads.CONTENT, id(a), None)
        if id(a) in self._born:
            return
        need_unwritten(self, a)
        if place not in self.reads:
            self.reads[place] = (reads.CONTENT, a, None, reads.content_of(a))

    def deep(self, x: Any) -> Any:
        """Note all that an object and its parts hold, attributes too; what the trace sees of it."""
        return depth.deep(self, x)

    def born_below(self, x: Any, depth: int = 8) -> None:
        """Note that an object was made by the trace with all its parts."""
        is_known = type(x) in ATOMS or id(x) in self._born or id(x) in self._outside
        if depth == 0 or is_known or isinstance(x, torch.Tensor | torch.nn.Module | type):
            return
        self.born(x)
        parts = list(x.values()) if isinstance(x, dict) else []
        parts += list(x) if isinstance(x, list | tuple | set | deque) else []
        for part in (*parts, *getattr(x, "__dict__", {}).values()):
            self.born_below(part, depth - 1)

    def lookup(self, cls: type, name: str) -> Any:
        """The attribute of a class as it is stored, or `MISSING`."""
        found = self._looked_up.get((cls, name), _UNKNOWN)
        if found is _UNKNOWN:
            found = self._looked_up[cls, name] = self._look_up(cls, name)
        return found

    def _look_up(self, cls: type, name: str) -> Any:
        mro = cls.__mro__
        value, lacking, changed = reads.MISSING, 0, self.changed
        for base in mro:
            if changed and id(base) in changed and name in changed[id(base)][1]:
                value = self.known[id(base), name]
                break
            own = base.__dict__
            if name in own:
                value = own[name]
                if base.__flags__ & HEAP:
                    self.outside(value)
                self._log(read_log.CLASS_NAME, cls, name, (mro, lacking, value))
                return value
            lacking += 1
        self._log(read_log.CLASS_NAME, cls, name, (mro, lacking, reads.MISSING))
        return value

    def _log(self, kind: str, owner: Any, key: Any, found: Any) -> None:
        self.reads.setdefault((kind, id(owner), key), (kind, owner, key, found))

    def forget_classes(self) -> None:
        """Look names up in classes again: one of these has changed."""
        self.look_up_again()
        self._looked_up.clear()
        self.in_class.clear()
        self.described.clear()
        self.forwards.clear()
        self.supers.clear()
        self.own_getters.clear()

    def kind(self, x: Any) -> type:
        """Note and give the class of an outside object."""
        cls, key = type(x), id(x)
        if key not in self._kinds and cls.__flags__ & HEAP and key not in self._born:
            if x is self.root:  # which the program must not keep alive
                self.note(reads.CALL, self._root_kind, (), cls)
            else:
                self.reads.setdefault((reads.KIND, key, None), (reads.KIND, x, None, cls))
                self._outside[id(cls)] = cls
                self._kinds.add(key)
        return cls

    def of_object(self, owner: Any) -> None:
        """The program is a method of an object, which has the program and not the reverse."""
        held = weakref.ref(owner)
        self.root = owner
        self._root_kind = lambda: type(held())

    def finish(self) -> Watch:
        """The state besides its arguments that the program depends on, after the trace."""
        for _, tensor in self.tracer.graph.constants:
            place = (reads.META, id(tensor), None)
            self.reads[place] = (reads.META, tensor, None, reads.meta_of(tensor))
        for module, names in self.importing:
            note_failed_import(self, module, names)
        contexts = contexts_of(self.tracer.env, self._outside.values(), self._born.values())
        asked = [(reads.CALL, context, (), context()) for context in contexts]
        for read in (*tensor_class.reads_of(self.tracer), *asked):
            self._log(*read)
        unfolding = read_log.Unfolding(self.reads.values(), self._born, self.inputs)
        return Watch(unfolding.places, unfolding.origin)

    def replace(self, owner: Any, key: Any, stand_in: Any) -> None:
        """Make an item, an attribute, or an element of such a tuple, an input of the program."""
        place = reads.place_of(owner, key)
        if type(owner) is Elements:
            stand_in = self.born(owner.replaced(self.inputs.get(place), key, stand_in))
        self.inputs[place] = stand_in
        if place[0] == reads.ITEM:
            self.owners_of_inputs.add(place[1])

    def attribute_input(self, owner: Any, name: str) -> Any:
        """The input that an attribute is, if it is one."""
        return self.inputs.get((reads.ATTRIBUTE, id(owner), name)) if self.inputs else None

    # ------------------------------------------------------------------ globals and cells

    def space(self, real: dict[str, Any]) -> Namespace:
        """The globals of the twins of a module."""
        found = self._spaces.get(id(real))
        if found is None:
            found = self._spaces[id(real)] = Namespace(real, self.hooks, self.read_global)
        return found

    def close(self) -> None:
        """End the trace: twins that outlive it are functions like others."""
        self.open_generators.close(self._spaces.values())
        for space in self._spaces.values():
            space.close(keeps=self._effects == REFUSED)

    def rest(self) -> None:
        """Drop what only a trace that runs needs, and one that follows it: what is left is what the
        program depends on. None of it is in a cycle, so that nothing waits for the collector.
        """
        for seen in (
            self.known,
            self.in_class,
            self.described,
            self.forwards,
            self.supers,
            self.own_getters,
            self._looked_up,
            self._dict_owners,
            self._kinds,
            self._twins,
            self._spaces,
            self._cells,
            self._real_cells,
        ):
            seen.clear()
        self.hooks = None

    def forget(self) -> None:
        """Drop all that the trace has seen. What is left are cycles, which the collector frees, and
        none of the user's objects may live that long.
        """
        for seen in vars(self).values():
            if type(seen) in (dict, list, set, OwnGetters):
                seen.clear()
        self.root = None

    def read_global(self, real: dict[str, Any], name: str) -> Any:
        """The value of a name for the functions of a module."""
        if name in real:
            self._outside[id(real)] = real
            return self.note(reads.ITEM, real, name, real[name])
        self._log(reads.ABSENT, real, name, reads.MISSING)
        if name not in vars(builtins):
            self._log(reads.ABSENT, vars(builtins), name, reads.MISSING)
        return self.note(reads.ITEM, vars(builtins), name, vars(builtins)[name])

    def cell(self, real: types.CellType, name: str) -> types.CellType:
        """The cell of a twin in place of one of the user's."""
        if name == "__class__" or id(real) in self._real_cells:
            return real
        found = self._cells.get(id(real))
        if found is None:
            try:
                value = real.cell_contents
            except ValueError:
                found = types.CellType()
                self.note(reads.ATTRIBUTE, real, "cell_contents", reads.MISSING)
            else:
                found = types.CellType(self.note(reads.ATTRIBUTE, real, "cell_contents", value))
            self._cells[id(real)] = found
            self._real_cells[id(found)] = real
            self._outside[id(real)] = real
        return found

    def real_cell(self, cell: types.CellType) -> types.CellType | None:
        """The user's cell that a cell stands for; None for a variable of the trace."""
        return self._real_cells.get(id(cell))

    # ------------------------------------------------------------------ twins

    def twin(self, f: Any, *, wraps: bool = False) -> Any:
        """The function to call in place of one of the user's, or of one that `wraps` one."""
        found = self._twins.get(f)
        return make_twin(self, f, wraps=wraps) if found is None else found

    def note_function(self, f: Any) -> tuple[Any, Any]:
        """Note what a function consists of, and give its defaults."""
        self._outside[id(f)] = f
        defaults, named = f.__defaults__, f.__kwdefaults__
        self._log(read_log.FUNCTION, f, None, (f.__code__, defaults, named))
        if defaults:
            self.outside(defaults)
            for value in defaults:
                self.outside(value)
        if named:
            self.outside(named)
            self.content(named)
        return defaults, named

    def need_passive(self, x: Any) -> None:
        """Refuse an object for C, or one in a container, with methods that C would call."""
        method = active_part(x)
        if method is not None:
            raise self.refusal(f"{method} may be called by code that is not recorded")

    def need_closed_generators(self) -> None:
        """Refuse a program that left a generator open, which eager execution closed earlier."""
        if self.open_generators.close(self._spaces.values()):
            raise self.lifetime("is a generator that was left within try or with")

    def lifetime(self, what: str) -> EffectError:
        """The refusal of an object whose end the program sees: traces and pieces keep objects."""
        error = self.refusal(f"an object that the function makes {what}")
        error.can_break = False
        return error

    def refusal(self, what: str) -> EffectError:
        """The refusal of an effect."""
        site = capture_site()
        return refused(
            EffectError,
            f"the function has an effect outside of it: {what}" + (f", at {site}" if site else ""),
            why="the program could not repeat it on every call",
            fix="return the value, or keep it in a tensor that is changed in place",
        )


def _holds(x: Any, t: torch.Tensor) -> bool:
    """Whether a tuple has a tensor among its parts: it is as old as the tuple."""
    return isinstance(x, tuple) and any(part is t or _holds(part, t) for part in tuple.__iter__(x))


_UNKNOWN: Final = object()
