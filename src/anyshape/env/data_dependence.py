"""The errors for a value that only the run knows: who needs it, where, and the fix.

The user's words come first: the condition as it is written, and the variables that hold symbols.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from anyshape.env.obligation import unbacked_in
from anyshape.env.site import capture, user_locals
from anyshape.env.written import written_condition, written_conversion
from anyshape.errors import DataDependentError
from anyshape.expr import eq0, negate
from anyshape.expr.constructor.comparison import equals
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.env.env import Env
    from anyshape.expr import Bool, Expr, Real

_SPECIALIZE = "keep it symbolic, or add torch._check({} == <value>) before if it is always the same"
_UNNAMED = (
    "give the value a name, n = tensor.item(), and add torch._check(...) of what is known of n"
    " before; guard_or_false(...) is False here"
)


def data_dependent(env: Env, p: Bool) -> DataDependentError:
    """The error for a branch on `p`."""
    site = capture()
    with _held_by_user(env):
        text, opposite = env.text(p), env.text(negate(p))
        unknown = _unknown(env, p)
    asked = written_condition(site, is_tensor=unknown.is_truth) or text
    why = "; ".join(unknown.sentences) or f"{text} has no value at the sizes seen while tracing"
    if unknown.is_named and asked != text:
        why = f"it means {text}; {why}"
    return refused(
        DataDependentError,
        f"cannot decide {asked} while tracing" + (f" at {site}" if site else ""),
        why=why,
        fix=_fix(asked, opposite, is_named=unknown.is_named, is_truth=unknown.is_truth),
    )


def without_value(env: Env, number: Expr | Real, kind: str) -> DataDependentError:
    """The error for the conversion of a number to `kind`, an int or a float."""
    site = capture()
    p = equals(number, 0.0) if kind == "a float" else eq0(number)  # type: ignore[arg-type]
    with _held_by_user(env):
        text = env.text(number)
        unknown = _unknown(env, p)
    asked = text if unknown.is_named else written_conversion(site) or text
    return refused(
        DataDependentError,
        f"cannot turn {asked} into {kind} while tracing" + (f" at {site}" if site else ""),
        why="; ".join(unknown.sentences) or f"{text} has no value at the sizes seen while tracing",
        fix=_SPECIALIZE.format(text if unknown.is_named else "n"),
        code="AS102",
    )


class _Unknown(NamedTuple):
    """The symbols of a question that have no value while tracing."""

    sentences: list[str]  # what they are and where they come from
    is_named: bool  # all of them have names that the user knows
    is_truth: bool  # the question is the truth of a tensor


def _unknown(env: Env, p: Bool) -> _Unknown:
    names = unbacked_in(p)
    labels = [env.sources.get(n, n) for n in names]
    named = [label for n, label in zip(names, labels, strict=True) if label != n]
    born = [
        f"{label} was made at {env.symbols[n].site}"
        for n, label in zip(names, labels, strict=True)
        if n in env.symbols and env.symbols[n].site is not None
    ]
    known_later = [f"{', '.join(labels)}: known only when the program runs"] if labels else []
    if names and not named:
        born = []  # the place of the question says it
        known_later = ["it depends on the data, which are known only when the program runs"]
    is_truth = len(names) == 1 and env.text(p) == f"{labels[0]} == 1" and _is_bit(env, names[0])
    return _Unknown([*known_later, *born], len(named) == len(names), is_truth)


def _is_bit(env: Env, name: str) -> bool:
    s = env.symbols.get(name)
    return s is not None and tuple(env.range_of(s.expr)) == (0, 1)


def _fix(asked: str, opposite: str, *, is_named: bool, is_truth: bool) -> str:
    if is_truth and not is_named:
        return (
            f"torch.where({asked}, a, b) does not branch, and torch.cond({asked}, f, g, (x,)) keeps"
            ' both sides; export with control_flow="tree" and compile without fullgraph follow'
            " such branches"
        )
    if not is_named:
        return _UNNAMED
    return (
        f"add torch._check({asked}) or torch._check({opposite}) before, or branch on"
        f" guard_or_false({asked}), which is False here"
    )


@contextmanager
def _held_by_user(env: Env) -> Iterator[None]:
    """Call symbols without a source by the variables of the user's frame that hold them."""
    found: dict[str, str] = {}
    for variable, value in user_locals().items():
        e = env.asker.expr_of(value)
        if e is not None and e.pool is env.pool and e.width == 1 and not e.c:
            ((atom, k),) = terms(e).items()
            if k == 1 and atom.op is SYMBOL and atom.name not in env.sources:
                found.setdefault(atom.name, variable)
    env.sources.update(found)
    try:
        yield
    finally:
        for name in found:
            del env.sources[name]
