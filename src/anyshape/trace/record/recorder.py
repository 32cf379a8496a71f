"""`Recorder`: the reads and writes of one trace.

Writes to outside objects are kept here while the trace runs, where later reads find them, and are
calls of the graph: the objects themselves are as before. What was born is written to as usual; see
`owner.py` for what is born and has a name in the program.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import EffectError, UnsupportedError
from anyshape.trace import tree
from anyshape.trace.options import DONE, REFUSED, REPLAYED
from anyshape.trace.record.attribute import scratch
from anyshape.trace.record.attribute.own_dict import show_change
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.effect.text import Texts
from anyshape.trace.record.owner import Owners
from anyshape.trace.record.read import lazy_table
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.read.lazy_table import Fill
    from anyshape.trace.tracer import Tracer


class Recorder(Owners):
    """The state outside that one trace reads and writes."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.texts = Texts(self)
        self._kept: list[tuple[str, Any, tuple[list[Any], Any]]] = []
        self.left_out: list[EffectError] = []  # effects that the program does not have
        self.memos: list[Fill] = []  # all effects, if they may be those of memos
        self.warning_blocks: list[Any] = []  # blocks of the program that catch warnings, entered
        self.copied: list[Any] = []  # buffers that the program copies into at its end

    def state(self) -> list[Any]:
        """The writes of the trace so far, in a fixed order: the places and their values."""
        found: list[Any] = [
            (owner, sorted(names), [self.known[owner, n] for n in sorted(names)])
            for owner, (_, names) in self.changed.items()
        ]
        found += [(place, shadow) for place, shadow in self.shadows.items()]
        found += [(place, count) for place, (_, count) in self.moved.items()]
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
            self.look_up_again(name)
            return
        self.emit(effect.set_item, Held(real), name, self.operand(value))
        self._globals[id(real), name] = None
        self.space(real)[name] = value
        self.look_up_again(name)
        show_change(self, self.outside(real), name, value)

    def assigned_global(self, real: dict[str, Any], name: str) -> Any:
        """What the trace assigned to a name of a module, or `MISSING`."""
        return self._spaces[id(real)][name] if (id(real), name) in self._globals else MISSING

    @property
    def replays(self) -> bool:
        """Whether all effects are calls of the graph."""
        return self._effects == REPLAYED

    @property
    def is_refusing(self) -> bool:
        """Whether effects are refused."""
        return self._effects == REFUSED

    @property
    def keeps_errors(self) -> bool:
        """Whether an error stands for those of other sizes: its text does not specialize."""
        return self.is_refusing

    @property
    def has_outlets(self) -> bool:
        """Whether what the program says is a call of the graph, and not said while it is traced."""
        return self._effects != DONE

    @property
    def defers_text(self) -> bool:
        """Whether text of symbolic values is computed by the program; else it shows their values,
        and specializes on them.
        """
        return self._effects != DONE and not self.tracer.env.asker.is_concrete

    # ------------------------------------------------------------------ refused changes

    def keep_argument(self, name: str, x: Any) -> None:
        """Note what the containers of an argument hold, where a program may not change them."""
        for c in tree.containers_in(x):
            self.born_below(c)
            self._kept.append((name, c, tree.flatten(c)))

    def is_argument(self, x: Any) -> bool:
        """Whether a container is one of the caller's."""
        return any(c is x for _, c, _ in self._kept)

    def need_arguments(self, result: Any) -> None:
        """Raise if a container among the arguments holds something else.

        An object of a registered class may do so if the program returns it.
        """
        for name, c, (leaves, spec) in self._kept:
            now, now_spec = tree.flatten(c)
            if now_spec == spec and all(map(operator.is_, now, leaves)):
                continue
            is_plain = type(c) in _PLAIN or tree.is_record(c) or isinstance(c, tuple)
            if is_plain or not any(x is c for x in tree.containers_in(result)):
                raise UnsupportedError(
                    f"the program changes what the argument {name} holds",
                    why="it gets the leaves of its arguments, so the caller would not see the"
                    " change",
                    fix="return it, if it is no container of Python; or work on a copy",
                )

    def need_outside(self, x: Any) -> None:
        """Refuse a change of an object of which nobody knows where it comes from."""
        if id(x) not in self._outside:
            raise self.refusal(f"an object of class {type(x).__name__} is changed")

    def need_no_effects(self) -> None:
        """Raise if something outside is not as before, where effects are refused.

        Attributes and buffers of modules may be assigned; see `scratch.py`. Where effects are to be
        listed, they are left out.
        """
        if self._effects != REFUSED:
            return
        self.memos = self._fills()
        self._need_kept_attributes()
        self._need_kept_containers()
        for place, cell in self._written_cells.items():
            real = self._outside[place]  # its read is noted where the cell is met
            if cell.cell_contents is not real.cell_contents:
                self._refuse("a variable of a closure", real)
        for place, name in self._globals:
            space, value = self._spaces[place].real, self._spaces[place][name]
            if value is not space.get(name, MISSING):
                self._refuse(f"the global variable {name}", space)
            else:
                self._note_kept(space, space, name, value)

    def _need_kept_attributes(self) -> None:
        for o, names in self.changed.values():
            own = getattr(o, "__dict__", {})
            for name in names:
                before = own[name] if name in own else _without_getters(o, name)
                value = self.known[id(o), name]
                site = self._sites.get((id(o), name))
                if value is before:
                    self._note_kept(o, own, name, value)
                elif not scratch.repeat(self, o, name, value, site):
                    self._refuse(f"{type(o).__name__}.{name}", o, name)

    def _need_kept_containers(self) -> None:
        for place, shadow in self.shadows.items():
            real = self._outside[place]
            if place in self._spaces:  # the namespace of a module
                continue
            site = self._sites.get((id(real), None))
            if self._is_as_before(shadow, real) or self._is_repeated(real, shadow, site):
                continue
            self._refuse(f"a {type(real).__name__}", real)

    def _note_kept(self, o: Any, own: Any, name: str, value: Any) -> None:
        """Note a write that leaves a name as it was as a read of it: the program lacks the write,
        which a change of it from outside would show.
        """
        if name in own:
            self.owned(own, o)
            self.note(reads.ITEM, own, name, value)
        else:
            self.note(reads.ATTRIBUTE, o, name, value)

    def _is_as_before(self, shadow: Any, real: Any) -> bool:
        """Whether a container holds what it held, which is a read then: a write of it is left out
        of the program.
        """
        same = _is_same(shadow, real)
        if same:
            self.content(real)
        return same

    def _is_repeated(self, real: Any, shadow: Any, site: Any) -> bool:
        """Whether the program makes the change of a container on every run; not one of a memo."""
        if scratch.repeat_buffers(self, real, shadow, site):
            return True
        return not self.memos and scratch.repeat_items(self, real, shadow, site)

    def _fills(self) -> list[Fill]:
        """The effects, if all of them may be those of memos; see `lazy_table.py`."""
        sites = self._sites
        found: list[Fill | None] = []
        for o, names in self.changed.values():
            if not isinstance(o, torch.nn.Module):
                values = [(n, self.known[id(o), n]) for n in names]
                own = getattr(o, "__dict__", None)
                found += [lazy_table.fill(own, n, x, sites.get((id(o), n))) for n, x in values]
        for place, shadow in self.shadows.items():
            real = self._outside[place]
            if place not in self._spaces and not _is_same(shadow, real):
                found += lazy_table.fills(real, shadow, sites.get((id(real), None)))
        for place, name in self._globals:
            space = self._spaces[place]
            if space[name] is not space.real.get(name, MISSING):
                found.append(
                    lazy_table.fill(space.real, name, space[name], sites.get((place, None)))
                )
        if self.texts.are_used or self._written_cells:
            return []
        whole = [x for x in found if x is not None]
        return whole if len(whole) == len(found) else []

    def need_apart(self) -> None:
        """Raise if the program returns a buffer that it copies into where eager assigns it."""
        if self.copied and scratch.returned(self.tracer.graph, self.copied):
            raise self.unsupported(
                "the function assigns a buffer, or another tensor, and returns the old one",
                why="the program copies the new value into the old one",
                fix="return a clone",
            )

    def _refuse(self, what: str, owner: Any, name: str | None = None) -> None:
        site = self._sites.get((id(owner), name))
        error = EffectError(
            f"the function changes {what}, which is outside of it"
            + (f", at {site}" if site else ""),
            why="the program repeats ops, not assignments, so it would happen once",
            fix="change a buffer in place, as in self.buffer.copy_(value), or return the value;"
            " if it is set in the first call only, call the function once before",
        )
        if not self.tracer.options.lists_effects:
            raise error
        self.left_out.append(error)


def _without_getters(o: Any, name: str) -> Any:
    """An attribute that is not in the dict of an object; code of the user's is not asked for it."""
    if isinstance(o, torch.Tensor):
        return getattr(o, name, MISSING)
    raw: Any = inspect.getattr_static(o, name, MISSING)
    if type(raw) not in _SLOTS:
        return raw
    try:
        return raw.__get__(o)
    except AttributeError:
        return MISSING


def _is_same(shadow: Any, real: Any) -> bool:
    return reads.same_content(reads.content_of(shadow), reads.content_of(real))


_SLOTS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
_PLAIN: Final = (list, dict, OrderedDict, defaultdict, deque)
