"""What the engines are measured on. Each workload yields figures for one engine.

Workloads (a)-(g) are those of the study that the engine's design rests on; (h)-(k) are where
existing engines explode or give up.
"""

from __future__ import annotations

import random
from itertools import accumulate
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Any

from benchmarks.adapters import Session, Unsupported
from benchmarks.patterns import MUST_STAY_OPEN, PATTERNS, Pattern
from benchmarks.random_questions import questions
from benchmarks.workload import Engine, Figure, Figures, Plan, Workload, best_of, rate, whole

if TYPE_CHECKING:
    from benchmarks.random_questions import Question

QUESTIONS = 64  # per repeat, where an engine is fast enough


def _sum(numbers: list[Any]) -> Any:
    return sum(numbers[1:], start=numbers[0])


# ---------------------------------------------------------------------- sums: a to d


def create_learn_query(engine: Engine, plan: Plan) -> Figures:
    count = plan.limits["symbols"]
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
    """Each run starts its chain with another symbol, so that all its sums are new."""
    for n in plan.sizes:
        session = engine()
        firsts = iter([session.size() for _ in range(plan.repeats)])
        rest = [session.size() for _ in range(n)]

        def run(rest: list[Any] = rest, firsts: Any = firsts) -> float:
            total = next(firsts)
            start = thread_time()
            for u in rest:
                total = total + u
            return (thread_time() - start) / len(rest)

        yield Figure(f"s = s + u, N={n}", best_of(run, plan))


def sum_against_constant(engine: Engine, plan: Plan) -> Figures:
    """A new constant for each question, so that no answer is one that was given before."""
    for sizes in (plan.sizes[:3], plan.sizes[3:]):  # what takes longest comes last
        for n in sizes:
            session = engine()
            total = _sum([session.size() for _ in range(n)])
            yield _against(session, plan, f"sum >= -k, N={n}", total, "a >= -K")
            if n == 256:
                row = f"sum >= -k asked again, N={n}"
                yield _against(session, plan, row, total, "a >= -K")
            yield _open(session, plan, f"sum == k, open, N={n}", total)
        for n in sizes:
            row = f"sum <= 1000N, u in [2, 1000], N={n}"
            try:
                session = engine()
                total = _sum([session.size(2, 1000) for _ in range(n)])
                yield _against(session, plan, row, total, "a <= K", 1000 * n)
            except Unsupported:
                yield Figure(row, None)


def _against(
    session: Session, plan: Plan, row: str, total: Any, text: str, first: int = 0
) -> Figure:
    ask = session.question(text, "a K")
    constants = list(range(first, first + plan.repeats * QUESTIONS + 1))
    return rate(row, plan, constants, lambda ks: [ask(total, k) for k in ks])


def _open(session: Session, plan: Plan, row: str, total: Any) -> Figure:
    """Questions that nothing decides; the first makes the terms, the later ones find them."""
    equal, holds = session.compiled("a == K", "a K"), session.holds
    constants = list(range(1, plan.repeats * QUESTIONS + 2))
    return rate(row, plan, constants, lambda ks: [not holds(equal(total, k)) for k in ks])


def shuffled_equality(engine: Engine, plan: Plan) -> Figures:
    """Sums of N + 1 that share no order; each question is about another pair of sums."""
    for n in plan.sizes:
        session = engine()
        numbers = [session.size() for _ in range(n)]
        more = [session.size() for _ in range(8 * plan.repeats + 1)]
        total = _sum(numbers)
        random.Random(0).shuffle(numbers)
        other = _sum(numbers)
        pairs = [(total + v, v + other) for v in more]
        equal = session.question("a == b", "a b")

        def ask(items: list[Any], equal: Any = equal) -> list[object]:
            return [equal(a, b) for a, b in items]

        yield rate(f"same sum in another order, N={n}", plan, pairs, ask)


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
        yield Figure("re-read after u5 == s0 + 3", best_of(run, plan))
    except Unsupported:
        yield Figure("re-read after u5 == s0 + 3", None)


def prefix_at_most_total(engine: Engine, plan: Plan) -> Figures:
    for n in plan.sizes[:3]:
        session = engine()
        prefixes = list(accumulate(session.size() for _ in range(n)))
        total = prefixes[-1]
        random.Random(0).shuffle(prefixes)
        try:
            compare, holds = session.compiled("a <= b", "a b"), session.holds
        except Unsupported:
            yield Figure(f"prefix <= total, N={n}", None)
            continue

        def ask(items: list[Any], total: Any = total, c: Any = compare, h: Any = holds) -> Any:
            return [h(c(p, total)) for p in items]

        yield rate(f"prefix <= total, N={n}", plan, prefixes, ask)


# ---------------------------------------------------------------------- what explodes: h to k


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

    yield from whole("check(prefix <= m), all", f"n={n}", run, plan)


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

    yield from whole("check of an OR of ANDs", f"k={k}", run, plan)


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

    yield from whole("guard_or_false(product of sums >= 7)", f"k={k}", run, plan)


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return list(zip(names[::2], names[1::2], strict=True))


def random_boxes(engine: Engine, plan: Plan) -> Figures:
    """Random questions on finite boxes: how many of the decidable ones are decided, how fast."""
    row = "random questions on boxes"
    decided = asked = wrong = 0
    seconds = 0.0
    for seed in range(plan.limits["seeds"]):
        of_seed = questions(seed)
        if not of_seed:
            continue
        session = engine()
        numbers = session.world(of_seed[0].kinds, ())
        for question in of_seed:
            right, missed, spent = _ask_question(session, numbers, question)
            asked += 1
            decided += right
            wrong += missed
            seconds += spent
    note = f"{100 * decided / asked:.1f}% of {asked}" + (f", {wrong} WRONG" if wrong else "")
    yield Figure(row, seconds / asked, note, decided / asked)


def _ask_question(
    session: Session, numbers: dict[str, Any], question: Question
) -> tuple[bool, bool, float]:
    """Whether the truth was proved, whether its opposite was, and the time."""
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
