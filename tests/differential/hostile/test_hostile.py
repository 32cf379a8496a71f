"""The programs of the corpus in modes by turns: as eager, or eagerly, or refused.

`known.json` lists the programs that still differ. It must be exact: a program that differs and is
not listed fails, and so does one that is listed and does not differ.
"""

from __future__ import annotations

import pytest

from tests.differential.hostile.known import read
from tests.differential.hostile.run import MODES, SILENT, classes, modes_of, names, run
from tests.differential.hostile.threads import CHECKS

KNOWN = read()
PROGRAMS = [(kind, name) for kind in classes() for name in names(kind)]


ALWAYS = ("None", "export")
TURNS = 3


def _modes(kind: str, name: str) -> tuple[str, ...]:
    """The modes in which a program runs here: those of `ALWAYS`, and a third of the others.

    Neighbours in a class take turns, so that every class runs in all modes. `make hostile` runs all
    programs in all modes.
    """
    found = modes_of(kind)
    turn = names(kind).index(name) % TURNS
    others = [mode for mode in found if mode not in ALWAYS][turn::TURNS]
    return tuple(mode for mode in found if mode in ALWAYS or mode in others)


@pytest.mark.parametrize(("kind", "name"), PROGRAMS, ids=[f"{k}/{n}" for k, n in PROGRAMS])
def test_it_does_what_eager_does(kind: str, name: str) -> None:
    known = KNOWN.get(f"{kind}/{name}", [])
    wrong = []
    for mode in _modes(kind, name):
        outcome = run(kind, name, mode)
        if (outcome.kind in SILENT) != (mode in known):
            wrong.append(f"{mode}: {outcome.kind} {outcome.about}")
    hint = "python -m tests.differential.hostile --write removes known differences that are gone"
    assert not wrong, "\n".join([*wrong, hint])


def test_known_differences_are_of_programs_that_exist() -> None:
    programs = {f"{kind}/{name}" for kind, name in PROGRAMS}
    assert set(KNOWN) <= programs | {f"threads/{name}" for name in CHECKS}
    assert {mode for modes in KNOWN.values() for mode in modes} <= {*MODES, "threads"}


def test_the_corpus_is_large() -> None:
    assert len(PROGRAMS) >= 450


@pytest.mark.parametrize("kind", classes())
def test_a_class_runs_in_all_modes(kind: str) -> None:
    ran = {mode for name in names(kind) for mode in _modes(kind, name)}
    assert len(names(kind)) < TURNS or ran == set(modes_of(kind))
