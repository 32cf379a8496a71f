"""Equalities in solved form: an atom and the equal expression of older atoms that replaces it.

`form(e)` is the spelling of `e` under the replacements. A node is never rewritten in place: others
may share it. The spelling is remembered with the length of the log of replacements, and is looked
at again only when a later replacement concerns one of its atoms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr.boolean import RELATIONS, Bool, relation
from anyshape.expr.node import Atom, Expr
from anyshape.expr.real import Real
from anyshape.expr.rebuild import rebuild, rebuild_bool, rebuild_real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import add_into, from_terms, terms
from anyshape.expr.traverse import atoms_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr.node import Operand


def form(k: Knowledge, e: Expr) -> Expr:
    """The spelling of `e` in which nothing that has a replacement is left."""
    now = len(k.log)
    if not now:
        return e
    known = k.forms.get(e)
    if known is not None and known[0] == now:
        return known[1]
    of_e = terms(e)
    if len(of_e) == 1:
        (atom,) = of_e
        if atom.op is SYMBOL and atom not in k.replacements:
            return e
    for atom in _unspelt(k, of_e):
        _atom_form(k, atom)
    return _form(k, e)


def _unspelt(k: Knowledge, atoms: Iterable[Atom]) -> list[Atom]:
    """The atoms whose spelling the given ones need and that is not at hand, in order of need."""
    order: list[Atom] = []
    seen: set[Atom] = set()
    stack = [(a, False) for a in atoms]
    now = len(k.log)
    while stack:
        atom, finished = stack.pop()
        if finished:
            order.append(atom)
            continue
        by = k.replacements.get(atom)
        if by is None and atom.op is SYMBOL:
            continue
        known = k.forms.get(by) if by is not None else k.atom_forms.get(atom)
        if atom in seen or (known is not None and known[0] == now):
            continue
        seen.add(atom)
        stack.append((atom, True))
        below = (by,) if by is not None else atom.args
        stack.extend((a, False) for operand in below for a in _atoms_in(operand))
    return order


def _atoms_in(operand: Operand) -> Iterator[Atom]:
    """The atoms that an operand is made of, without what is inside those atoms."""
    if type(operand) is Expr:
        yield from terms(operand)
        return
    for node in _connectives(operand):
        for arg in node.args:
            if type(arg) is Expr:
                yield from terms(arg)


def _connectives(top: Operand) -> list[Bool | Real]:
    """The conditions and reals that an operand is made of, down to integers, operands first."""
    found: set[Bool | Real] = set()
    stack: list[object] = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, Bool | Real) and node not in found:
            found.add(node)
            stack.extend(node.args)
    return sorted(found, key=lambda node: node.index)


def _form(k: Knowledge, e: Expr) -> Expr:
    """`form`, given that the forms of all atoms below are at hand."""
    now = len(k.log)
    start = e
    while True:
        since, spelling = k.forms.get(e, (0, e))
        if since != now and spelling is e:
            spelling = _step(k, e, since)
            k.keep(k.forms, e, (now, spelling))
        if spelling is e:
            break
        e = spelling
    if start is not e:
        k.keep(k.forms, start, (now, e))
    return e


def _step(k: Knowledge, e: Expr, since: int) -> Expr:
    """`e` with each atom replaced once, where a replacement after number `since` concerns it."""
    of_e = terms(e)
    if len(k.log) - since < len(of_e):
        replaced = any(a in of_e for a in k.log[since:])
    else:
        replaced = any(a in k.replacements for a in of_e)
    if not replaced and all(a.op is SYMBOL or _atom_form(k, a) is a.node for a in of_e):
        return e
    out: dict[Atom, int] = {}
    c = e.c
    for atom, coefficient in of_e.items():
        by = _atom_form(k, atom)
        c += coefficient * by.c
        add_into(out, terms(by), coefficient)
    return from_terms(k.pool, out, c)


def _atom_form(k: Knowledge, atom: Atom) -> Expr:
    """The spelling of one atom; recursion goes down by one level at most, see `_unspelt`."""
    by = k.replacements.get(atom)
    if by is not None:
        return _form(k, by)
    if atom.op is SYMBOL:
        return atom.node
    now = len(k.log)
    known = k.atom_forms.get(atom)
    if known is not None and known[0] == now:
        return known[1]
    result = _respelt(k, atom)
    k.keep(k.atom_forms, atom, (now, result))
    return result


def respelt(k: Knowledge, atom: Atom) -> Expr:
    """The spelling of an atom from its operands, also when it was itself replaced by its value."""
    for below in _unspelt(k, (a for operand in atom.args for a in _atoms_in(operand))):
        _atom_form(k, below)
    return _respelt(k, atom)


def _respelt(k: Knowledge, atom: Atom) -> Expr:
    operands = [_operand_form(k, a) for a in atom.args]
    same = all(a is b for a, b in zip(operands, atom.args, strict=True))
    return atom.node if same else rebuild(atom, operands)


def _operand_form(k: Knowledge, operand: Operand) -> Any:
    """The spelling of an operand, given that the forms of all atoms below are at hand."""
    if type(operand) is Expr:
        return _form(k, operand)
    made: dict[object, Any] = {}
    for node in _connectives(operand):
        operands = [
            _form(k, a) if type(a) is Expr else made[a]
            for a in node.args
            if not isinstance(a, str | float)
        ]
        build: Any = rebuild_bool if type(node) is Bool else rebuild_real
        made[node] = build(node, operands)
    return made[operand]


def form_bool(k: Knowledge, b: Bool) -> Bool:
    """The spelling of a condition under the replacements."""
    if not k.log:
        return b
    if b.op in RELATIONS:
        spelt = form(k, b.expr)
        return b if spelt is b.expr else relation(b.op, spelt)
    for atom in _unspelt(k, _atoms_in(b)):
        _atom_form(k, atom)
    result: Bool = _operand_form(k, b)
    return result


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
