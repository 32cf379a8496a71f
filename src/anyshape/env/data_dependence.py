"""The error for a branch on a value that only the run knows: who needs it, where, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.env.obligation import unbacked_in
from anyshape.env.site import capture, user_locals
from anyshape.errors import DataDependentError
from anyshape.expr import negate
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.refusal import refused

if TYPE_CHECKING:
    from anyshape.env.env import Env
    from anyshape.expr import Bool

_SPECIALIZE = "keep it symbolic, or add torch._check(n == <value>) before if it is always the same"
_UNNAMED = (
    "give the value a name, n = tensor.item(), and add torch._check(...) of what is known of n"
    " before, or use torch.where(...), which does not branch; guard_or_false(...) is False here"
)


def data_dependent(env: Env, p: Bool, action: str = "") -> DataDependentError:
    """The error for a branch on `p`; `action` is what needs its value, if not a branch.

    Symbols without a source are called by the variables of the user that hold them.
    """
    held = _held_by_user(env)
    env.sources.update(held)
    text, opposite = env.text(p), env.text(negate(p))
    site = capture()
    names = unbacked_in(p)
    unknown = [env.sources.get(n, n) for n in names]
    for name in held:
        del env.sources[name]
    born = [
        f"{label} was made at {env.symbols[n].site}"
        for n, label in zip(names, unknown, strict=True)
        if n in env.symbols and env.symbols[n].site is not None
    ]
    return refused(
        DataDependentError,
        f"cannot {action or f'decide {text}'} while tracing" + (f" at {site}" if site else ""),
        why="; ".join([f"{', '.join(unknown)}: known only when the program runs", *born])
        if unknown
        else f"{text} has no value at the sizes seen while tracing",
        fix=_fix(text, opposite, action, named=not set(unknown) & set(names)),
        code="AS102" if action else "AS101",
    )


def _fix(text: str, opposite: str, action: str, *, named: bool) -> str:
    if action:
        return _SPECIALIZE
    if not named:
        return _UNNAMED
    return (
        f"add torch._check({text}) or torch._check({opposite}) before, or branch on"
        f" guard_or_false({text}), which is False here"
    )


def _held_by_user(env: Env) -> dict[str, str]:
    """The variables of the user's frame that hold symbols without a source, by symbol."""
    found: dict[str, str] = {}
    for variable, value in user_locals().items():
        e = env.asker.expr_of(value)
        if e is not None and e.pool is env.pool and e.width == 1 and not e.c:
            ((atom, k),) = terms(e).items()
            if k == 1 and atom.op is SYMBOL and atom.name not in env.sources:
                found.setdefault(atom.name, variable)
    return found
