"""One program in one mode: executed eagerly and compiled, in modules of their own, and compared.

The outcome is `same`; `eager` (it ran eagerly, which `eager_because` or `stats` tells); `refused`
(an `AnyshapeError`); `deviates` (at sizes 0 and 1 without data, where `deviations` lists it and
`on_deviation="raise"` refuses it; or a call of an exported program, where `constants` lists
something that has changed); `DIFFERENT`; or `crash` (an error that eager does not raise).
"""

from __future__ import annotations

import contextvars
import functools
import importlib.util
import itertools
import operator
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

import anyshape
from anyshape.errors import AnyshapeError, ConstraintError, ShapeError
from tests.differential.hostile.process import Heard, dice, modes, put_back
from tests.differential.hostile.program import PROGRAMS, Call, Case, Step
from tests.differential.hostile.snapshot import Eye, contrast, unnumbered

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence

CORPUS = Path(__file__).parent / "corpus"
MODES: dict[str, dict[str, Any]] = {
    "None": {},
    "True": {"dynamic": True},
    "False": {"dynamic": False},
    "unbacked": {"dynamic": "unbacked"},
    "fullgraph": {"fullgraph": True},
    "aot_eager": {"backend": "aot_eager"},
    "export": {},
}
TENSORS = (torch.Tensor, torch.nn.Parameter)
SILENT = ("DIFFERENT", "crash")
LIMIT = 64  # entries, so that no program runs eagerly because of the number of its calls
# Limits of an execution that waits, and of one that computes: far beyond what a loaded one needs.
SECONDS, BUSY = 300.0, 120.0
AGAIN = 10.0  # seconds after which it is stopped again: a finalizer may swallow the first time

TIMERS = ((signal.SIGALRM, signal.ITIMER_REAL), (signal.SIGVTALRM, signal.ITIMER_VIRTUAL))
_serial = itertools.count()
_executed: set[tuple[str, str]] = set()  # programs that eager execution can follow


class Hangs(BaseException):
    """An execution took too long; no `except Exception` of a program catches it."""


class Outcome(NamedTuple):
    """How a program did, and what it did otherwise."""

    kind: str
    about: str = ""


class Told(NamedTuple):
    """What one call did, all of it described."""

    error: Any
    result: Any
    arguments: Any
    state: Any
    output: Any
    gradients: Any
    random: Any
    process: Any


# ---------------------------------------------------------------------- programs


def classes() -> list[str]:
    """The classes of programs: the files of the corpus."""
    return sorted(path.stem for path in CORPUS.glob("*.py") if path.stem != "__init__")


def _path(kind: str) -> Path:
    """The file of a class; a class outside of the corpus is named by its file."""
    return Path(kind) if kind.endswith(".py") else CORPUS / f"{kind}.py"


@functools.cache
def _code(kind: str) -> types.CodeType:
    path = _path(kind)
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


def modes_of(kind: str) -> tuple[str, ...]:
    """The modes in which the programs of a class run."""
    return ("export",) if kind == "exports" else tuple(MODES)


def load(kind: str) -> types.ModuleType:
    """The module of a class, executed anew."""
    name = f"hostile_{_path(kind).stem}_{next(_serial)}"
    spec = importlib.util.spec_from_file_location(name, _path(kind))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(_code(kind), vars(module))
    return module


@functools.cache
def names(kind: str) -> tuple[str, ...]:
    """The programs of a class."""
    module = load(kind)
    del sys.modules[module.__name__]
    return tuple(PROGRAMS.pop(module.__name__))


def forget() -> None:
    """Drop what is kept of programs: those of a class that is no longer there."""
    _code.cache_clear()
    names.cache_clear()
    eagerly.cache_clear()


# ---------------------------------------------------------------------- execution


class Execution:
    """Calls of a program, as `make` (compile, or nothing) gives it, described one by one."""

    def __init__(self, kind: str, name: str, make: Callable[[Case], Any]) -> None:
        self.kind, self.name, self.make = kind, name, make
        self.compiled: Any = None
        self.warned = False
        self.retain = True
        self.told: list[Told] = []
        self.errors: list[BaseException | None] = []
        self.listed: list[list[str]] = []  # what a call of an exported program finds changed

    def follow(
        self, steps: Callable[[Case], Sequence[Step]], want: Sequence[Told] = ()
    ) -> Execution:
        """Do all calls, until one is refused that eager does; stop with `Hangs` after a while."""
        before = [signal.signal(number, _stop) for number, _ in TIMERS]
        for (_, timer), seconds in zip(TIMERS, (SECONDS, BUSY), strict=True):
            signal.setitimer(timer, seconds, AGAIN)
        try:
            with put_back():
                self.retain = steps is not _FEW  # what aot_eager makes runs backward once
                contextvars.copy_context().run(self._follow, steps, want)
        finally:
            for (number, timer), handler in zip(TIMERS, before, strict=True):
                signal.setitimer(timer, 0)
                signal.signal(number, handler)
        return self

    def _follow(self, steps: Callable[[Case], Sequence[Step]], want: Sequence[Told]) -> None:
        module = load(self.kind)
        case = PROGRAMS.pop(module.__name__)[self.name]()
        try:
            with anyshape.config.patch(**case.settings):
                self._call(case, Eye(module.__name__), steps(case), want)
        finally:
            if case.cleanup is not None:
                case.cleanup()

    def _call(self, case: Case, eye: Eye, steps: Sequence[Step], want: Sequence[Told]) -> None:
        with Heard().listen():
            self.compiled = fn = self.make(case)
        results = []
        for i, step in enumerate(steps):
            if step.change is not None:
                step.change()
            made = step.make()
            call = made if isinstance(made, Call) else Call(made)
            result, error, heard = None, None, Heard()
            with heard.listen():
                try:
                    if case.drive is not None:
                        result = case.drive(fn, *call.args, **call.kwargs)
                    else:
                        result = fn(*call.args, **call.kwargs)
                except (Exception, SystemExit, GeneratorExit) as e:
                    error = e
            self.warned |= heard.warned()
            random, process = dice(), modes()
            torch.set_grad_enabled(True)
            self.errors.append(error)
            self.listed.append(getattr(fn, "stale", []))
            results.append(result)
            arguments = eye.look((call.args, call.kwargs))
            leaves = list(eye.leaves)
            shown = eye.look(result)
            state = eye.look((case.fn, case.looks_at))
            gradients = self._gradients(result, [*leaves, *eye.leaves], case)
            self.told.append(
                Told(
                    _described(eye, error),
                    shown,
                    arguments,
                    state,
                    heard.said(),
                    eye.look(gradients),
                    random,
                    process,
                )
            )
            if want and isinstance(error, AnyshapeError) and not _stands_for(error, want[i]):
                return
        if not results:
            return
        last = self.told[-1]
        self.told.append(last._replace(result=eye.look(results), error=None))
        self.errors.append(None)
        self.listed.append([listed for call in self.listed for listed in call])

    def _gradients(self, result: Any, leaves: list[Any], case: Case) -> Any:
        """Of the weighted sum of all outputs, for each leaf that the call could see."""
        outs = [t for t in pytree.tree_leaves(result) if type(t) in TENSORS]
        outs = [t for t in outs if t.requires_grad and t.layout is torch.strided]
        total = sum(((t.double() * (i + 2)).sum() for i, t in enumerate(outs)), torch.zeros(()))
        if not outs or not leaves:
            return None
        try:
            if case.backward:
                total.backward(retain_graph=self.retain)
                return [t.grad for t in leaves]
            return torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=self.retain)
        except RuntimeError as e:
            return str(e)[:40]


def _stop(signum: int, frame: Any) -> None:
    raise Hangs(f"more than {SECONDS} s, or {BUSY} s of work")


def _described(eye: Eye, error: BaseException | None) -> Any:
    if error is None:
        return None
    if isinstance(error, RecursionError):
        return eye.name(type(error)), "", None  # where it stops is not the program's
    cause = type(error.__cause__).__name__ if error.__cause__ is not None else None
    return eye.name(type(error)), eye.text(str(error)), cause


# ---------------------------------------------------------------------- comparison


@functools.cache
def eagerly(kind: str, name: str, steps: Callable[[Case], Sequence[Step]]) -> list[Told]:
    """What eager execution does in these calls."""
    told = Execution(kind, name, lambda case: case.fn).follow(steps).told
    _executed.add((kind, name))
    return told


_STEPS = operator.attrgetter("steps")
_FEW = operator.attrgetter("few")
_SIZES = operator.attrgetter("sizes")  # of an exported program, which holds the outside as it was


def run(kind: str, name: str, mode: str, stand_in: Callable[..., Any] | None = None) -> Outcome:
    """The outcome of a program in a mode; `stand_in` replaces `anyshape.compile`."""
    try:
        if kind == "exports":
            return _promised(kind, name)
        if mode == "export":
            return _exported(kind, name)
        return _compiled(kind, name, mode, stand_in or anyshape.compile)
    except Hangs as e:
        return Outcome("crash", f"hangs: {e}")
    except Exception as e:
        if (kind, name) not in _executed:
            raise  # the program itself is wrong
        return Outcome("crash", f"{type(e).__name__}: {e}")


@functools.cache
def _warm_up(backend: str) -> None:
    """Let torch import what a backend needs, which warns, before anything is heard."""
    with put_back(), Heard().listen():
        anyshape.compile(lambda x: x * 2, backend=backend)(torch.ones(2))


def _compiled(kind: str, name: str, mode: str, compile_: Callable[..., Any]) -> Outcome:
    steps = _FEW if mode == "aot_eager" else _STEPS
    want = eagerly(kind, name, steps)
    _warm_up(MODES[mode].get("backend", "eager"))

    def execute(**more: Any) -> Execution:
        options = {"recompile_limit": LIMIT, **MODES[mode], **more}
        make = lambda case: compile_(case.fn, **{**case.options, **options})  # noqa: E731
        return Execution(kind, name, make).follow(steps, want)

    done = execute()
    outcome = _judged(done, want)
    if outcome.kind in SILENT and mode == "unbacked" and _deviations(done.compiled):
        again = _judged(execute(on_deviation="raise"), want)
        if again.kind not in SILENT:
            return Outcome("deviates", outcome.about)
    if outcome.kind == "same" and _ran_eagerly(done.compiled):
        return Outcome("eager", str(done.compiled.eager_because))
    return outcome


class Exported:
    """An exported program that tells at each call what it lists and is no longer so."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.stale: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.stale = [str(c) for c in self.program.constants if c.is_stale]
        return self.program(*args, **kwargs)


def _exported(kind: str, name: str) -> Outcome:
    """First sizes change and the outside does not; then the outside changes, too."""
    outcome = _export(kind, name, _SIZES)
    if outcome.kind == "same":
        changed = _export(kind, name, _STEPS)
        return changed if changed.kind != "refused" else outcome
    return outcome


def _export(kind: str, name: str, steps: Callable[[Case], Sequence[Step]]) -> Outcome:
    want = eagerly(kind, name, steps)
    if not want or want[0].error is not None:
        return Outcome("same", "nothing to export")

    def execute(**options: Any) -> Execution:
        def make(case: Case) -> Any:
            made = steps(case)[0].make()
            call = made if isinstance(made, Call) else Call(made)
            tensors = lambda x: dict.fromkeys(range(x.dim()), anyshape.Dim.AUTO)  # noqa: E731
            try:
                spec = pytree.tree_map_only(torch.Tensor, tensors, call.args)
            except RecursionError:  # a container that contains itself, which export refuses
                spec = None
            options["allow_partial"] = True
            return Exported(
                anyshape.export(case.fn, call.args, call.kwargs, dynamic_shapes=spec, **options)
            )

        return Execution(kind, name, make).follow(steps, want)

    try:
        done = execute()
    except AnyshapeError as e:
        return Outcome("refused", str(e))
    except Hangs:
        raise
    except Exception as e:
        return Outcome("crash", f"export: {type(e).__name__}: {e}")
    outcome = _judged(done, want)
    if outcome.kind in SILENT and done.compiled.program.deviations:
        again = _judged(execute(on_deviation="raise"), want)
        if again.kind not in SILENT:
            return Outcome("deviates", outcome.about)
    return outcome


def _promised(kind: str, name: str) -> Outcome:
    """A check of the corpus, which asks only where the function is not the program's own."""
    want = eagerly(kind, name, _STEPS)
    done = Execution(kind, name, lambda case: functools.partial(case.fn))
    return _judged(done.follow(_STEPS, want), want)


def _judged(done: Execution, want: list[Told]) -> Outcome:
    """Compare call by call; the first difference counts that nothing listed accounts for."""
    excused = ""
    for i, told in enumerate(zip(done.errors, done.told, want, strict=False)):
        where = "at the end" if i == len(want) - 1 else f"call {i}"
        outcome = _compared(where, *told, strictly=not excused)
        if outcome.kind in SILENT and done.listed[i]:
            excused = excused or f"{outcome.about}; listed: {done.listed[i][0]}"
        elif outcome.kind != "same":
            return outcome
    return Outcome("deviates", excused) if excused else Outcome("same")


def _compared(
    where: str, error: BaseException | None, a: Told, b: Told, *, strictly: bool
) -> Outcome:
    """Compare one call; not `strictly` after one that differed, whose state and objects remain."""
    if isinstance(error, AnyshapeError) and (error.is_refusal or not _stands_for(error, b)):
        if isinstance(error, ShapeError) and b.error is None:
            return Outcome("DIFFERENT", f"{where}: a shape error where eager has none: {error}")
        return Outcome("refused", f"{where}: {error}")
    if a.error != b.error and not isinstance(error, AnyshapeError):
        kind = "crash" if b.error is None else "DIFFERENT"
        return Outcome(kind, f"{where}: raises {a.error} for {b.error}")
    for field in Told._fields[1:] if strictly else ("result", "output"):
        got, wanted = getattr(a, field), getattr(b, field)
        if not strictly:
            got, wanted = unnumbered(got), unnumbered(wanted)
        wrong_at = contrast(got, wanted)
        if wrong_at and isinstance(error, ConstraintError):  # inputs that a contract excludes
            return Outcome("refused", f"{where}: {error}")
        if wrong_at:
            return Outcome("DIFFERENT", f"{where}: {field}{wrong_at}")
    return Outcome("same")


def _stands_for(error: BaseException, want: Told) -> bool:
    """Whether an error of ours is one of the kind that eager raises."""
    kinds = [f"builtins.{kind.__name__}" for kind in type(error).__mro__]
    return want.error is not None and want.error[0] in kinds


def _deviations(compiled: Any) -> bool:
    return any(entry.captured.deviations for entry in getattr(compiled, "entries", ()))


def _ran_eagerly(compiled: Any) -> bool:
    stats = getattr(compiled, "stats", None)
    return stats is not None and (stats.eager > 0 or compiled.eager_because is not None)
