"""Equalities in solved form: an atom and the equal expression of older atoms that replaces it.

`form(e)` is the spelling of `e` under the replacements. A node is never rewritten in place: others
may share it. The spelling is remembered with the length of the log of replacements, and is looked
at again only when a later replacement concerns one of its atoms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import SYMBOL
from anyshape.expr.rebuild import rebuild, rebuild_bool, rebuild_real
from anyshape.expr.terms import add_into, from_terms, terms
from anyshape.expr.traverse import atoms_below, nodes_below

if TYPE_CHECKING:
    from anyshape.env.knowledge import Knowledge
    from anyshape.expr.real import Real


def form(k: Knowledge, e: Expr) -> Expr:
    """The spelling of `e` in which nothing that has a replacement is left."""
    now = len(k.log)
    if not now:
        return e
    known = k.forms.get(e)
    if known is not None and known[0] == now:
        return known[1]
    for atom in atoms_below(e) if _is_deep(e) else ():
        if atom.op is not SYMBOL:
            _atom_form(k, atom)
    return _form(k, e)


def _is_deep(e: Expr) -> bool:
    return any(a.op is not SYMBOL for a in terms(e))


def _form(k: Knowledge, e: Expr) -> Expr:
    """`form`, given that the forms of all non-symbols below are at hand."""
    now = len(k.log)
    start = e
    while True:
        since, spelling = k.forms.get(e, (0, e))
        if since != now and spelling is e:
            spelling = _step(k, e, since)
            k.forms[e] = (now, spelling)
        if spelling is e:
            break
        e = spelling
    if start is not e:
        k.forms[start] = (now, e)
    return e


def _step(k: Knowledge, e: Expr, since: int) -> Expr:
    """`e` with each atom replaced once, where a replacement after number `since` concerns it."""
    of_e = terms(e)
    new = k.log[since:]
    hit = any(a in of_e for a in new) or any(
        a.op is not SYMBOL and _atom_form(k, a) is not a.node for a in of_e
    )
    if not hit:
        return e
    out: dict[Atom, int] = {}
    c = e.c
    for atom, coefficient in of_e.items():
        by = _atom_form(k, atom)
        c += coefficient * by.c
        add_into(out, terms(by), coefficient)
    return from_terms(k.pool, out, c)


def _atom_form(k: Knowledge, atom: Atom) -> Expr:
    """The spelling of one atom; recursion goes down by one level at most, see `form`."""
    by = k.replacements.get(atom)
    if by is not None:
        return _form(k, by)
    if atom.op is SYMBOL:
        return atom.node
    now = len(k.log)
    known = k.atom_forms.get(atom)
    if known is not None and known[0] == now:
        return known[1]
    operands = [_operand_form(k, a) for a in atom.args]
    same = all(a is b for a, b in zip(operands, atom.args, strict=True))
    result = atom.node if same else rebuild(atom, operands)
    k.atom_forms[atom] = (now, result)
    return result


def _operand_form(k: Knowledge, operand: Any) -> Any:
    if type(operand) is Expr:
        return _form(k, operand)
    if type(operand) is Bool:
        return form_bool(k, operand)
    return _form_real(k, operand)


def form_bool(k: Knowledge, b: Bool) -> Bool:
    """The spelling of a condition under the replacements."""
    if not k.log:
        return b
    made = _forms_below(k, b)
    result: Bool = made[b]
    return result


def _form_real(k: Knowledge, r: Real) -> Real:
    result: Real = _forms_below(k, r)[r]
    return result


def _forms_below(k: Knowledge, top: Bool | Real) -> dict[object, Any]:
    made: dict[object, Any] = {}
    for node in nodes_below((top,)):
        if type(node) is Atom:
            _atom_form(k, node)
            continue
        operands = [
            _form(k, a) if type(a) is Expr else made[a]
            for a in node.args
            if not isinstance(a, str | float)
        ]
        made[node] = (
            rebuild_bool(node, operands) if type(node) is Bool else rebuild_real(node, operands)  # type: ignore[arg-type]
        )
    return made


def solvable(e: Expr) -> Atom | None:
    """The symbol to solve `e == 0` for: unit coefficient, in no other atom; unbacked, newest."""
    of_e = terms(e)
    inside = set(atoms_below(*(arg for a in of_e for arg in a.args)))
    best: Atom | None = None
    for atom, coefficient in of_e.items():
        free = coefficient in (1, -1) and atom.op is SYMBOL and atom not in inside
        if free and (best is None or _order(atom) > _order(best)):
            best = atom
    return best


def _order(atom: Atom) -> tuple[bool, int]:
    return atom.hint is None, atom.index


def solve_for(e: Expr, atom: Atom) -> Expr:
    """The expression that `atom` equals where `e == 0`; its coefficient is 1 or -1."""
    of_e = dict(terms(e))
    coefficient = of_e.pop(atom)
    return from_terms(e.pool, {a: -v * coefficient for a, v in of_e.items()}, -e.c * coefficient)
