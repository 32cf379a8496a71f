"""The stream of events: who hears what, and that nobody who listens disturbs what he hears."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest

from anyshape import events
from anyshape.env import Env
from anyshape.errors import ArgumentError, ConstraintError
from anyshape.events import (
    KINDS,
    Answer,
    Assert,
    Guard,
    Phase,
    Replacement,
    Specialization,
    SymbolCreation,
    emit,
    listeners,
    phase,
    subscribe,
)
from anyshape.expr import eq0, ge0, multiply


@pytest.fixture(autouse=True)
def nobody_listens() -> Any:
    assert listeners == {}
    yield
    assert listeners == {}


def work() -> Env:
    env = Env()
    s, t = env.backed(7, source="x.size(0)", min=0), env.backed(7, min=0)
    u = env.unbacked(source="mask.sum()", size=True)
    assert env.guard(ge0(s.shift(-3)))
    env.assume(ge0(s - u))
    env.assume(eq0(s - t))
    env.learn(eq0(u.shift(-4)))
    env.prove(ge0(s.shift(-9)))
    return env


def heard(*kinds: type) -> list[Any]:
    found: list[Any] = []
    with subscribe(found.append, *kinds):
        work()
    return found


def test_the_kinds_are_all_classes_of_events() -> None:
    records = {c for c in vars(events).values() if inspect.isclass(c) and issubclass(c, tuple)}
    assert records == set(KINDS)
    assert len(KINDS) == len(set(KINDS))


def test_an_environment_tells_what_happens() -> None:
    found = heard()
    symbols = [e for e in found if type(e) is SymbolCreation]
    assert [(e.name, e.kind, e.source, e.hint) for e in symbols] == [
        ("s0", "backed", "x.size(0)", 7),
        ("s1", "backed", "", 7),
        ("u0", "unbacked", "mask.sum()", None),
    ]
    guards = [e for e in found if type(e) is Guard]
    assert [(e.text, e.origin) for e in guards][2:] == [
        ("3 <= x.size(0)", "guard"),
        ("x.size(0) == s1", "check"),
    ]
    assert [e.text for e in found if type(e) is Assert] == ["mask.sum() <= x.size(0)"]
    assert [(e.name, str(e.by)) for e in found if type(e) is Replacement] == [("s1", "s0")]
    assert [(e.name, e.value) for e in found if type(e) is Specialization] == [("u0", 4)]
    answers = [e for e in found if type(e) is Answer]
    assert [(e.verb, e.value) for e in answers] == [
        ("guard", True),
        ("assume", None),
        ("assume", None),
        ("learn", None),
        ("prove", None),
    ]
    assert all(e.nanoseconds > 0 for e in answers)
    assert [e.start for e in answers] == sorted(e.start for e in answers)


def test_every_event_has_the_line_of_the_user() -> None:
    first = inspect.getsourcelines(work)[1]
    for event in heard():
        assert event.site.file == __file__
        assert first < event.site.line <= first + 9
        assert event.site.text
        assert f"test_events.py:{event.site.line} in work" in str(event)


def test_an_equality_of_what_is_no_symbol_is_no_event() -> None:
    env = Env()
    u, v = env.unbacked(size=True), env.unbacked(size=True)
    found: list[Any] = []
    with subscribe(found.append, Replacement, Specialization):
        env.assume(eq0(multiply(u, v).shift(-12)))
    assert env.prove(eq0(multiply(u, v).shift(-12))).name == "YES"
    assert found == []


def test_a_refused_fact_is_no_event_and_its_question_is() -> None:
    env = Env()
    u = env.unbacked(size=True)
    found: list[Any] = []
    with subscribe(found.append), pytest.raises(ConstraintError):
        env.assume(ge0((-u).shift(-1)))
    assert [(type(e), e.verb, e.value) for e in found] == [(Answer, "assume", None)]


def test_only_the_named_kinds_are_heard() -> None:
    assert {type(e) for e in heard(Guard, Assert)} == {Guard, Assert}


def test_events_do_not_change_what_is_recorded() -> None:
    plain = work()
    with subscribe(lambda _: None):
        observed = work()
    for name in ("guards", "runtime_asserts", "replacements"):
        assert str(getattr(plain, name)) == str(getattr(observed, name))


def test_what_is_no_kind_is_refused() -> None:
    with pytest.raises(ArgumentError, match="not a kind of event"):
        subscribe(print, int)


# ---------------------------------------------------------------------- contexts


def test_another_thread_is_not_heard_unless_everywhere() -> None:
    here: list[Any] = []
    all_: list[Any] = []
    with subscribe(here.append), subscribe(all_.append, everywhere=True):
        other = threading.Thread(target=work)
        other.start()
        other.join()
        assert here == []
        count = len(all_)
        work()
    assert count > 0
    assert len(all_) == 2 * count
    assert len(here) == count


def test_a_task_that_is_started_inside_is_heard() -> None:
    found: list[Any] = []

    async def main() -> None:
        with subscribe(found.append, Guard):
            await asyncio.create_task(asyncio.to_thread(work))

    asyncio.run(main())
    assert found


def test_listeners_nest_and_closing_twice_does_no_harm() -> None:
    outer: list[Any] = []
    inner: list[Any] = []
    first = subscribe(outer.append, Phase)
    with subscribe(inner.append, Phase) as second:
        emit(Phase("a", 0, 1))
        second.close()
        emit(Phase("b", 0, 1))
    first.close()
    first.close()
    emit(Phase("c", 0, 1))
    assert [e.name for e in outer] == ["a", "b"]
    assert [e.name for e in inner] == ["a"]


def test_threads_subscribe_at_the_same_time() -> None:
    barrier = threading.Barrier(8)
    counts: list[int] = []

    def run() -> None:
        for _ in range(100):
            found: list[Any] = []
            barrier.wait()
            with subscribe(found.append, Phase):
                emit(Phase("a", 0, 1))
            counts.append(len(found))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1] * 800


# ---------------------------------------------------------------------- listeners that misbehave


def test_a_listener_that_raises_is_reported_and_closed(caplog: pytest.LogCaptureFixture) -> None:
    found: list[Any] = []

    def fails(event: Any) -> None:
        raise ValueError(event.name)

    with subscribe(fails, SymbolCreation), subscribe(found.append, SymbolCreation):
        work()
    assert [e.name for e in found] == ["s0", "s1", "u0"]
    (report,) = caplog.records
    assert report.name == "anyshape.events"
    assert "SymbolCreation" in report.message
    assert report.exc_info is not None
    assert str(report.exc_info[1]) == "s0"


def test_what_a_listener_does_is_no_event() -> None:
    found: list[Any] = []

    def asks(event: Any) -> None:
        found.append(event)
        event.env.prove(event.condition)

    with subscribe(asks, Guard, Answer):
        work()
    assert [type(e) for e in found] == [type(e) for e in heard(Guard, Answer)]


def test_a_phase_is_told_also_if_it_raises() -> None:
    found: list[Any] = []
    with subscribe(found.append, Phase):
        with phase("a"):
            pass
        with pytest.raises(KeyError), phase("b"):
            raise KeyError
    assert [e.name for e in found] == ["a", "b"]
    with phase("nobody listens"):
        pass


def test_a_real_symbol_is_told() -> None:
    env = Env()
    found: list[Any] = []
    with subscribe(found.append, SymbolCreation):
        env.real(2.5, source="scale")
        env.real()
    assert [(e.name, e.kind, e.source, e.hint) for e in found] == [
        ("f0", "backed", "scale", 2.5),
        ("f1", "unbacked", "", None),
    ]


def test_questions_of_every_verb_are_answers() -> None:
    env = Env()
    u = env.unbacked()
    found: list[Any] = []
    with subscribe(found.append, Answer):
        assert env.decide(ge0(u)) is None
        assert env.guard_or(ge0(u), True) is True
    assert [(e.verb, e.value) for e in found] == [("decide", None), ("guard_or", True)]
