"""Switch off each of the eight optimizations in turn and run a trace again.

    python benchmarks/ablation.py [--quick] [--json PATH]

The eight are those of docs/explanation/eight-optimizations.md. They are part of how the engine is
built, so there is no flag for them: each switch below replaces the function that embodies one by
what would stand there without it. Two of them, effort and sites, are settings of the engine.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from anyshape import config
from anyshape.env.knowledge import equality
from anyshape.env.ladder.question import Question
from anyshape.env.learning import lone_bound
from anyshape.expr import boolean, evaluate
from anyshape.expr.node import Expr
from anyshape.expr.terms import add_into, content, from_terms, terms
from anyshape.expr.traverse import symbols_of
from benchmarks.trace_workload import PHASES, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Switch(NamedTuple):
    """One optimization: `on` and `off` set the two sides up, `phase` is where it acts."""

    number: str
    title: str
    phase: str
    off: Callable[[], AbstractContextManager[Any]]
    on: Callable[[], AbstractContextManager[Any]] = nullcontext


# ---------------------------------------------------------------------- replacing functions


@contextmanager
def _swapped(*pairs: tuple[Any, Any]) -> Iterator[None]:
    """Replace functions wherever a module of the engine has them by name."""
    places = [
        (module, name, old, new)
        for key, module in list(sys.modules.items())
        if key.startswith("anyshape")
        for old, new in pairs
        for name, value in list(vars(module).items())
        if value is old
    ]
    for module, name, _, new in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, old, _ in places:
            setattr(module, name, old)


@contextmanager
def _both(*contexts: AbstractContextManager[None]) -> Iterator[None]:
    """Several contexts as one."""
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield


@contextmanager
def _method(owner: type, name: str, new: Any) -> Iterator[None]:
    """Replace a method or property of a class."""
    old = vars(owner)[name]
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


# ---------------------------------------------------------------------- the eight


def forget_spelling() -> AbstractContextManager[None]:
    """3: work the spelling under the replacements out each time it is read."""
    remembered = equality.form

    def form(k: Any, e: Expr) -> Expr:
        k.forms.pop(e, None)
        k.atom_forms.clear()
        return remembered(k, e)

    return _swapped((remembered, form))


def walk_for_hint() -> AbstractContextManager[None]:
    """4: the hint of a condition by collecting its symbols and evaluating it."""

    def hint(b: boolean.Bool) -> bool | None:
        values = {a.name: a.hint for a in symbols_of(b)}
        if None in values.values():
            return None
        result: bool = evaluate(b, values)
        return result

    return _method(boolean.Bool, "hint", property(hint))


def normalise_relations() -> AbstractContextManager[None]:
    """5: bring each relation to its lowest terms when it is made."""

    def primitive(e: Expr) -> Expr:
        of_e = terms(e)
        g = content((*of_e.values(), e.c)) or 1
        return from_terms(e.pool, {a: v // g for a, v in of_e.items()}, e.c // g)

    def normal(make: Callable[[Expr], boolean.Bool]) -> Callable[[Expr], boolean.Bool]:
        return lambda e: make(primitive(e))

    makers = (boolean.ge0, boolean.eq0, boolean.ne0)
    return _swapped(*((make, normal(make)) for make in makers))


def retry_hints() -> AbstractContextManager[None]:
    """6: look for the hint of a sum again where its operands have none."""
    add = Expr.__add__

    def retrying(self: Expr, other: Expr) -> Expr:
        node = add(self, other)
        if node.quick_hint is None:
            values = {a.name: a.hint for a in symbols_of(node)}
            if None not in values.values():
                node.quick_hint = evaluate(node, values)
        return node

    return _method(Expr, "__add__", retrying)


def ask_before_learning() -> AbstractContextManager[None]:
    """7: climb the whole ladder for a relation on one symbol, and learn it like any other."""

    def whole_ladder(question: Question, b: boolean.Bool, _: Any) -> bool | None:
        answer = question.sign(b.expr, b.op)
        return question.search(b) if answer is None else answer

    return _both(
        _method(Question, "_one_symbol", whole_ladder),
        _swapped((lone_bound.bound_alone, lambda *_: False)),
    )


def eager_sums() -> AbstractContextManager[None]:
    """8: make the terms of a sum, and its key from them, at each addition."""

    def add(self: Expr, other: Expr) -> Expr:
        out = terms(self).copy()
        add_into(out, terms(other), 1)
        return from_terms(self.pool, out, self.c + other.c)

    return _method(Expr, "__add__", add)


def _effort(level: int) -> Callable[[], AbstractContextManager[None]]:
    return lambda: config.patch(aggressive_guard_free_semantics=level)


def _no_sites() -> AbstractContextManager[None]:
    return config.patch(do_not_emit_stack_traces=True)


SWITCHES = (
    Switch("1", "effort of guard_or_*: ranges only", "test", _effort(0), _effort(1)),
    Switch("1", "effort of guard_or_*: replacements only", "test", _effort(0), _effort(2)),
    Switch("2", "no sites are taken", "learn", nullcontext, _no_sites),
    Switch("3", "spelling is remembered", "read", forget_spelling),
    Switch("4", "hint rides on the node", "test", walk_for_hint),
    Switch("5", "relations are not simplified", "test", normalise_relations),
    Switch("6", "no hint is final", "sum", retry_hints),
    Switch("7", "learning u >= 0 asks little", "learn", ask_before_learning),
    Switch("8", "lazy sums with an additive key", "sum", eager_sums),
)


# ---------------------------------------------------------------------- measuring


Times = dict[str, float]


def _best(setup: Callable[[], AbstractContextManager[Any]], n: int, best: Times) -> Times:
    """The trace once more; per phase the better of this run and the best so far."""
    gc.collect()
    with setup():
        times = trace(n)
    return {p: min(times[p], best.get(p, times[p])) for p in PHASES}


def measure(n: int, repeats: int) -> tuple[Times, list[tuple[Switch, Times, Times]]]:
    """The best times with all optimizations, and with and without each; runs interleaved."""
    gc.collect()
    gc.freeze()
    everything: Times = {}
    with_it: list[Times] = [{} for _ in SWITCHES]
    without: list[Times] = [{} for _ in SWITCHES]
    for _ in range(repeats):
        everything = _best(nullcontext, n, everything)
        for i, switch in enumerate(SWITCHES):
            if switch.on is not nullcontext:
                with_it[i] = _best(switch.on, n, with_it[i])
            if switch.off is not nullcontext:
                without[i] = _best(switch.off, n, without[i])
    rows = [
        (switch, with_it[i] or everything, without[i] or everything)
        for i, switch in enumerate(SWITCHES)
    ]
    return everything, rows


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="300 sizes, 3 runs")
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    n, repeats = (300, 3) if options.quick else (1000, 7)
    everything, rows = measure(n, repeats)
    print(f"A trace with {n} data-dependent sizes, thread CPU time, best of {repeats} per phase.\n")
    print("all on: " + ", ".join(f"{p} {1e3 * everything[p]:.2f}" for p in PHASES), end="")
    print(f"; together {1e3 * sum(everything.values()):.1f} ms\n")
    print(f"   {'optimization':42}{'phase':>9}{'with':>10}{'without':>11}{'factor':>8}{'trace':>9}")
    for switch, on, off in rows:
        a, b = on[switch.phase], off[switch.phase]
        whole = sum(off.values()) / sum(on.values())
        print(
            f"{switch.number}  {switch.title:42}{switch.phase:>9}{1e3 * a:>7.2f} ms"
            f"{1e3 * b:>8.2f} ms{b / a:>7.1f}x{whole:>8.2f}x"
        )
    print("\nfactor: without over with, for the phase in which it acts; trace: for all phases.")
    if options.json:
        document = [
            {
                "number": s.number,
                "title": s.title,
                "phase": s.phase,
                "with": on,
                "without": off,
            }
            for s, on, off in rows
        ]
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
