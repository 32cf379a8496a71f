"""What an environment tells those who listen: answers, symbols, facts, equalities.

Every function here is called behind a check that somebody listens, and changes nothing.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from anyshape.env.knowledge.equality import form
from anyshape.env.site import user_site
from anyshape.events import Answer, Replacement, Specialization, SymbolCreation, emit

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env.env import Env
    from anyshape.env.site import Site
    from anyshape.expr import Bool

P = ParamSpec("P")
T = TypeVar("T")


def timed(
    env: Env, verb: str, p: Bool, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Ask, and tell what was asked and answered; what the answer asks in turn is part of it."""
    value: Any = None
    env.is_timed = True
    start = perf_counter_ns()
    try:
        value = result = ask(*args, **kwargs)
        return result
    finally:
        spent = perf_counter_ns() - start
        env.is_timed = False
        answer = value if value is None or type(value) is bool else value.answer
        emit(Answer(env, verb, p, answer, user_site(3), start, spent))


def tell_symbol(
    env: Env, name: str, kind: str, source: str, hint: float | None, site: Site | None
) -> None:
    """Tell of a new symbol, made at a site that is looked for where it is None."""
    emit(SymbolCreation(env, name, kind, source, hint, site or user_site(3)))


def tell_equalities(env: Env, since: int, site: Site | None) -> None:
    """Tell of the symbols that a fact replaced: the entries of the log from `since` on."""
    k = env.knowledge
    for atom in k.log[since:]:
        by = form(k, atom.node)
        if not atom.name:
            continue
        if by.is_const:
            emit(Specialization(env, atom.name, by.c, site))
        else:
            emit(Replacement(env, atom.name, by, site))
