"""What the engines are measured on. Each workload yields figures for one engine.

A figure is the thread CPU time of one operation: the best of several runs, each in an environment
of its own, so that no run profits from what another one interned or cached. Setting up is not
measured. Workloads (a)-(g) are those of the study that the engine's design rests on; (h)-(k) are
where existing engines explode or give up.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import accumulate
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

from benchmarks.adapters import Session, Unsupported
from benchmarks.patterns import MUST_STAY_OPEN, PATTERNS, Pattern
from benchmarks.random_questions import Question, questions


class Plan(NamedTuple):
    """How much to do."""

    quick: bool
    sizes: tuple[int, ...]
    repeats: int
    limits: dict[str, int]  # the engine's own sizes of the workloads that explode


class Figure(NamedTuple):
    """One row of the table for one engine: seconds per operation, and what to say beside it."""

    row: str
    seconds: float | None
    note: str = ""
    share: float | None = None


Engine = type[Session]
Figures = Iterator[Figure]


class Workload(NamedTuple):
    """One letter of the table."""

    letter: str
    about: str
    measure: Callable[[Engine, Plan], Figures]


def _best(run: Callable[[], float], plan: Plan) -> float:
    """The best of the repeats; a run that takes long is not repeated."""
    best = run()
    for _ in range(plan.repeats - 1):
        if best > 1.0:
            break
        best = min(best, run())
    return best


def _total(session: Session, count: int, lo: int = 0, hi: int | None = None) -> Any:
    numbers = [session.size(lo, hi) for _ in range(count)]
    return sum(numbers[1:], start=numbers[0])


def _rate(ask: Callable[[list[Any]], list[object]], items: list[Any]) -> tuple[float, bool]:
    """Seconds per item, and whether all were answered with yes; fewer items when it is slow."""
    start = thread_time()
    answers = ask(items[:2])
    pace = (thread_time() - start) / 2
    count = max(2, min(len(items) - 2, int(0.5 / max(pace, 1e-9))))
    start = thread_time()
    answers += ask(items[2 : 2 + count])
    return (thread_time() - start) / count, all(answers)


def _best_rate(run: Callable[[], tuple[float, bool]], plan: Plan, row: str) -> Figure:
    """The best of the repeats of a run that `_rate` measured."""
    try:
        best, proved = run()
        for _ in range(plan.repeats - 1):
            if best > 0.02:
                break
            best = min(best, run()[0])
    except Unsupported:
        return Figure(row, None)
    return Figure(row, best) if proved else Figure(row, None, "cannot")


# ---------------------------------------------------------------------- sums: a to d


def create_learn_query(engine: Engine, plan: Plan) -> Figures:
    count = 500 if plan.quick else 1000
    best: list[float] = []
    for _ in range(plan.repeats):
        session = engine()
        unbacked = session.unbacked
        start = thread_time()
        numbers = [unbacked() for _ in range(count)]
        times = [thread_time() - start]
        try:
            compare = session.compiled("u >= 0", "u")
            learn, holds = session.learn, session.holds
            start = thread_time()
            for u in numbers:
                learn(compare(u))
            times.append(thread_time() - start)
            start = thread_time()
            for u in numbers:
                holds(compare(u))
            times.append(thread_time() - start)
        except Unsupported:
            pass
        best = times if not best else [min(a, b) for a, b in zip(best, times, strict=True)]
    for row, seconds in zip(("create", "learn u >= 0", "query u >= 0"), best, strict=False):
        yield Figure(row, seconds / count)


def incremental_add(engine: Engine, plan: Plan) -> Figures:
    for n in plan.sizes:

        def run(n: int = n) -> float:
            session = engine()
            first, *rest = [session.size() for _ in range(n + 1)]
            start = thread_time()
            total = first
            for u in rest:
                total = total + u
            return (thread_time() - start) / n

        yield Figure(f"s = s + u, N={n}", _best(run, plan))


def sum_against_constant(engine: Engine, plan: Plan) -> Figures:
    """A fresh constant for each question, so that no answer is one that was given before."""
    for sizes in (plan.sizes[:3], plan.sizes[3:]):
        for n in sizes:
            yield _against(engine, plan, f"sum >= -k, N={n}", n, "a >= -K")
        if 256 in sizes:
            row = "sum >= -k asked again, N=256"
            yield _against(engine, plan, row, 256, "a >= -K", again=True)
        for n in sizes:
            row = f"sum <= 1000N, u in [2, 1000], N={n}"
            yield _against(engine, plan, row, n, "a <= K", hi=1000)
        for n in sizes:
            yield _open(engine, plan, n)


def _against(
    engine: Engine,
    plan: Plan,
    row: str,
    n: int,
    text: str,
    *,
    hi: int | None = None,
    again: bool = False,
) -> Figure:
    def run() -> tuple[float, bool]:
        session = engine()
        total = _total(session, n, 2 if hi else 0, hi)
        compare, holds = session.compiled(text, "a K"), session.holds
        first = 1000 * n if hi else 0
        constants = list(range(first, first + 256))

        def ask(ks: list[int]) -> list[object]:
            return [holds(compare(total, k)) for k in ks]

        if again:
            _rate(ask, constants)
        return _rate(ask, constants)

    return _best_rate(run, plan, row)


def _open(engine: Engine, plan: Plan, n: int) -> Figure:
    """Questions that nothing decides; the first makes the terms, the later ones find them."""

    def run() -> tuple[float, bool]:
        session = engine()
        total = _total(session, n)
        equal, holds = session.compiled("a == K", "a K"), session.holds
        holds(equal(total, 10**6))
        return _rate(lambda ks: [not holds(equal(total, k)) for k in ks], list(range(1, 257)))

    return _best_rate(run, plan, f"sum == k, open, N={n}")


def shuffled_equality(engine: Engine, plan: Plan) -> Figures:
    """Sums of N + 1 that share no order; each question is about another pair of sums."""
    for n in plan.sizes:

        def run(n: int = n) -> tuple[float, bool]:
            session = engine()
            numbers = [session.size() for _ in range(n)]
            more = [session.size() for _ in range(34)]
            total = sum(numbers[1:], start=numbers[0])
            random.Random(0).shuffle(numbers)
            other = sum(numbers[1:], start=numbers[0])
            pairs = [(total + v, v + other) for v in more]
            equal, holds = session.compiled("a == b", "a b"), session.holds
            return _rate(lambda items: [holds(equal(a, b)) for a, b in items], pairs)

        yield _best_rate(run, plan, f"same sum in another order, N={n}")


# ---------------------------------------------------------------------- questions: e to g


def patterns(engine: Engine, plan: Plan) -> Figures:
    times = []
    decided = 0
    for pattern in PATTERNS:
        seconds, answer = _ask_pattern(engine, plan, pattern)
        decided += answer
        if seconds is not None:
            times.append(seconds)
    yield Figure(
        "28 patterns, median", median(times) if times else None, f"{decided}/28", decided / 28
    )
    wrong = 0
    times = []
    for pattern in MUST_STAY_OPEN:
        seconds, answer = _ask_pattern(engine, plan, pattern)
        wrong += answer
        if seconds is not None:
            times.append(seconds)
    note = f"{wrong} WRONG" if wrong else "both open"
    yield Figure("2 that must stay open", max(times) if times else None, note)


def _ask_pattern(engine: Engine, plan: Plan, pattern: Pattern) -> tuple[float | None, bool]:
    """The time to build the question and ask it, and whether it was proved."""
    best = None
    answers: list[object] = []
    for _ in range(plan.repeats):
        jobs = []
        try:
            for _ in range(plan.limits["batch"]):
                session = engine()
                numbers = session.world(pattern.kinds, pattern.facts)
                ask = session.compiled(pattern.question, " ".join(numbers))
                jobs.append((session.holds, ask, tuple(numbers.values())))
            start = thread_time()
            answers = [holds(ask(*values)) for holds, ask, values in jobs]
            seconds = (thread_time() - start) / len(jobs)
        except Unsupported:
            return None, False
        best = seconds if best is None else min(best, seconds)
    return best, all(answers)


def learn_and_reread(engine: Engine, plan: Plan) -> Figures:
    def run() -> float:
        session = engine()
        s0 = session.backed(64)
        us = [session.size() for _ in range(102)]
        offset = session.compiled("s + 3", "s")(s0)
        numbers = [us[5] + us[i % 100 + 1] + us[(7 * i + i // 100) % 101 + 1] for i in range(1000)]
        session.replace("u5", offset, {"u5": us[5]})
        reread = session.reread
        start = thread_time()
        for e in numbers:
            reread(e)
        return (thread_time() - start) / len(numbers)

    try:
        yield Figure("re-read after u5 == s0 + 3", _best(run, plan))
    except Unsupported:
        yield Figure("re-read after u5 == s0 + 3", None)


def prefix_at_most_total(engine: Engine, plan: Plan) -> Figures:
    for n in plan.sizes[:3]:

        def run(n: int = n) -> tuple[float, bool]:
            session = engine()
            prefixes = list(accumulate(session.size() for _ in range(n)))
            compare, holds = session.compiled("a <= b", "a b"), session.holds
            total = prefixes[-1]
            sample = prefixes[:: max(1, n // 64)]
            random.Random(0).shuffle(sample)
            return _rate(lambda items: [holds(compare(p, total)) for p in items], sample)

        yield _best_rate(run, plan, f"prefix <= total, N={n}")


# ---------------------------------------------------------------------- where engines explode: h to k


def check_prefixes(engine: Engine, plan: Plan) -> Figures:
    n = plan.limits["prefixes"]

    def run() -> float:
        session = engine()
        m = session.unbacked()
        prefixes = list(accumulate(session.size() for _ in range(n)))
        compare, learn = session.compiled("a <= b", "a b"), session.learn
        start = thread_time()
        for prefix in prefixes:
            learn(compare(prefix, m))
        return thread_time() - start

    yield from _whole("check(prefix <= m), all", f"n={n}", run, plan)


def check_or_of_ands(engine: Engine, plan: Plan) -> Figures:
    k = plan.limits["ands"]

    def run() -> float:
        session = engine()
        numbers = [session.unbacked() for _ in range(2 * k)]
        names = [f"v{i}" for i in range(2 * k)]
        text = " or ".join(f"({a} == 1 and {b} == 2)" for a, b in _pairs(names))
        build = session.compiled(text, " ".join(names))
        start = thread_time()
        session.learn(build(*numbers))
        return thread_time() - start

    yield from _whole("check of an OR of ANDs", f"k={k}", run, plan)


def product_of_sums(engine: Engine, plan: Plan) -> Figures:
    k = plan.limits["sums"]

    def run() -> float:
        session = engine()
        numbers = [session.size() for _ in range(2 * k)]
        names = [f"v{i}" for i in range(2 * k)]
        text = " * ".join(f"({a} + {b})" for a, b in _pairs(names))
        build = session.compiled(f"{text} >= 7", " ".join(names))
        start = thread_time()
        session.guard_or_false(build(*numbers))
        return thread_time() - start

    yield from _whole("guard_or_false(product of sums >= 7)", f"k={k}", run, plan)


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return list(zip(names[::2], names[1::2], strict=True))


def _whole(row: str, note: str, run: Callable[[], float], plan: Plan) -> Figures:
    try:
        yield Figure(row, _best(run, plan), note)
    except Unsupported:
        yield Figure(row, None)


def random_boxes(engine: Engine, plan: Plan) -> Figures:
    """Random questions on finite boxes: how many of the decidable ones are decided, how fast."""
    decided = asked = wrong = 0
    seconds = 0.0
    for seed in range(plan.limits["seeds"]):
        for question in questions(seed):
            try:
                right, missed, spent = _ask_question(engine, question)
            except Unsupported:
                yield Figure("random questions on boxes", None)
                return
            asked += 1
            decided += right
            wrong += missed
            seconds += spent
    note = f"{100 * decided / asked:.1f}% of {asked}" + (f", {wrong} WRONG" if wrong else "")
    yield Figure("random questions on boxes", seconds / asked, note, decided / asked)


def _ask_question(engine: Engine, question: Question) -> tuple[bool, bool, float]:
    """Whether the truth was proved, whether its opposite was, and the time."""
    session = engine()
    numbers = session.world(question.kinds, ())
    build = session.compiled(question.text, " ".join(numbers))
    values = tuple(numbers.values())
    right, opposite = session.holds, session.fails
    if not question.truth:
        right, opposite = opposite, right
    start = thread_time()
    condition = build(*values)
    answer = bool(right(condition))
    spent = thread_time() - start
    return answer, not answer and bool(opposite(condition)), spent


def own_fuzzer(engine: Engine, plan: Plan) -> Figures:
    """The project's soundness fuzzer on finite boxes, without facts; for the bare engine only."""
    from anyshape.env import Env
    from tests.soundness import fuzz

    prove = Env.prove
    spent = asked = 0

    def timed(self: Env, p: Any) -> Any:
        nonlocal spent, asked
        start = thread_time()
        verdict = prove(self, p)
        spent += thread_time() - start
        asked += 1
        return verdict

    tally = fuzz.Tally()
    Env.prove = timed
    try:
        for seed in range(30 if plan.quick else 150):
            fuzz.run(seed, tally, facts=False)
    finally:
        Env.prove = prove
    share = tally.decided / tally.decidable
    note = f"{100 * share:.1f}% of {tally.decidable}"
    if tally.unsound:
        note += f", {len(tally.unsound)} WRONG"
    yield Figure("tests/soundness/fuzz.py on boxes", spent / asked, note, share)


WORKLOADS = (
    Workload("a", "create a symbol, learn u >= 0, ask u >= 0", create_learn_query),
    Workload("b", "add one more symbol to a sum", incremental_add),
    Workload("c", "compare a sum of N with a constant", sum_against_constant),
    Workload("d", "equality of one sum built in two orders", shuffled_equality),
    Workload("e", "28 patterns of shape code", patterns),
    Workload("f", "learn an equality, read 1000 expressions again", learn_and_reread),
    Workload("g", "each prefix is at most the total", prefix_at_most_total),
    Workload("h", "check(prefix <= m) for every prefix", check_prefixes),
    Workload("i", "check an OR of two-term ANDs", check_or_of_ands),
    Workload("j", "guard_or_false of a product of sums", product_of_sums),
    Workload("k", "random questions on finite boxes", random_boxes),
)
OWN = Workload("k", "the project's own fuzzer", own_fuzzer)
