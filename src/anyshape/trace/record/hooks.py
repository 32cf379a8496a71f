"""`Hooks`: what twins call, as one object."""

from __future__ import annotations

import builtins
import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.attribute.attribute import Attributes
from anyshape.trace.record.builtin.number_context import array_errors
from anyshape.trace.record.call.call import Calls
from anyshape.trace.record.container.container import Containers
from anyshape.trace.record.container.open_generator import OpenGenerators
from anyshape.trace.record.container.user_equality import Comparisons
from anyshape.trace.record.effect import outlet
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.follow import follow
from anyshape.trace.record.recorder import Recorder
from anyshape.trace.record.syntax.class_statement import ClassStatements
from anyshape.trace.record.syntax.operation import Operations
from anyshape.trace.record.syntax.pattern import PatternReads
from anyshape.trace.record.syntax.pending_truth import Questions

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


class Hooks:
    """The hooks of one trace; see `twin/rewrite.py` for when each is called."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        recorder.hooks = self
        attributes, containers = Attributes(recorder), Containers(recorder)
        operators, classes = Operations(recorder), ClassStatements(recorder)
        self.calls = calls = Calls(recorder, attributes, containers, operators, classes)
        patterns = PatternReads(recorder)
        patterns.calls = calls
        comparisons = containers.comparisons
        questions = Questions()
        questions.calls = calls
        more = (patterns, comparisons, recorder.open_generators)
        self._parts = (attributes, containers, operators, classes, questions, *more)
        self.ready = calls.ready
        self.method = calls.method
        self.asserted = calls.asserted
        self.born = containers.made
        self.warned_by_torch = functools.partial(outlet.warned_by_torch, recorder)

    def __getattr__(self, name: str) -> Any:
        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(name)
        hook = getattr(self._parts[place], name)
        setattr(self, name, hook)
        return hook

    def set_global(self, value: Any, name: str) -> Any:
        """A global variable is assigned; the twin keeps it among its own globals."""
        space = sys._getframe(1).f_globals
        self.recorder.set_global(space.real, name, value)  # type: ignore[attr-defined]
        return value

    def set_cell(self, value: Any, function: Any) -> Any:
        """A variable of a closure is assigned; the twin has a cell of its own for it."""
        recorder = self.recorder
        real = recorder.real_cell(function.__closure__[0])
        if real is not None:
            recorder.set_cell(real, value)
        return value

    def importing(self, *names: str) -> None:
        """Modules are to be imported."""
        self._need_import()
        self.recorder.importing += [(name, ()) for name in names]

    def importing_from(self, module: str, level: int, *names: str) -> None:
        """Names are to be imported from a module."""
        self._need_import()
        self.recorder.importing.append((_absolute(module, level), names))

    def _need_import(self) -> None:
        """Note that Python leaves imports to its own builtin."""
        own = vars(builtins)
        if self.recorder.note(reads.ITEM, own, "__import__", own["__import__"]) is not _IMPORT:
            raise self.recorder.refusal("builtins.__import__ was replaced")

    def imported(self, *names: str) -> None:
        """Modules were imported."""
        for name in names:
            self.recorder.importing.remove((name, ()))
            self.recorder.note(reads.ITEM, sys.modules, name, sys.modules[name])

    def imported_from(self, module: str, level: int, name: str, value: Any) -> None:
        """A name was imported from a module."""
        module = _absolute(module, level)
        self.recorder.importing = [i for i in self.recorder.importing if i[0] != module]
        self.recorder.note(reads.ITEM, sys.modules, module, sys.modules[module])
        own = vars(sys.modules[module])
        if self.recorder.assigned_global(own, name) is not reads.MISSING:
            raise self.recorder.refusal(f"{name} is imported, which was assigned before")
        if name in own:
            self.recorder.note_value(reads.ITEM, own, name, value)

    def prefetch(self, *names: str) -> None:
        """Names that the body of a class looks up, where Python asks no `__missing__`."""
        space = sys._getframe(1).f_globals
        for name in names:
            if name not in space and name in space.real:  # type: ignore[attr-defined]
                space[name]


def _absolute(module: str, level: int) -> str:
    """The name of a module, for the function that calls the hook."""
    if not level:
        return module
    package = str(sys._getframe(2).f_globals["__package__"]).split(".")
    package = package[: len(package) - level + 1]
    return ".".join([*package, module] if module else package)


_IMPORT: Final = builtins.__import__
_PLACES: Final = {
    name: place
    for place, owner in enumerate(
        (
            *(Attributes, Containers, Operations, ClassStatements, Questions, PatternReads),
            *(Comparisons, OpenGenerators),
        )
    )
    for name in vars(owner)
    if not name.startswith("_") and name not in ("calls", "method", "close")
}


def recorder_for(tracer: Tracer) -> Recorder:
    """A recorder with its hooks, which may follow that of an earlier trace."""
    recorder = Recorder(tracer)
    tracer.env.asker.array_errors = array_errors()
    Hooks(recorder)
    if tracer.recorder is not None:
        follow(recorder, tracer.recorder)
    return recorder
