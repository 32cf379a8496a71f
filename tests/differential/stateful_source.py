"""Random programs with state around them, as Python source.

A program is a tree of statements over one vocabulary of outside state: globals, cells, attributes,
containers, class attributes, defaults, properties, absent names. `write` gives the text of a module
in the form of the hostile corpus; `Draft.without` drops parts of it, for shrinking.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any, NamedTuple

HEAD = """
import collections
import functools
import sys
import types

import torch

from tests.differential.hostile.program import Case, program

THIS = sys.modules[__name__]

G0 = 2.0
G1 = 3
FLAG = True
LIST = [1.0, 2.0]
DICT = {"k": 2.0, "j": 1}
SET = {1, 2}
TABLE = collections.OrderedDict(k=1.0)
COUNTS = collections.Counter()
GROUPS = collections.defaultdict(list)
LOG = []
VALUES = DICT.values()
PROXY = types.MappingProxyType(DICT)
PART = functools.partial(lambda a, b=1.0: a * b, 2.0)


class Config:
    scale = 2.0
    level = 1


class Child(Config):
    pass


class Items:
    def __init__(self):
        self.rows = [1.0, 2.0, 3.0]

    def __getitem__(self, i):
        return self.rows[i] * G0

    def __len__(self):
        return len(self.rows) + G1

    def __iter__(self):
        return iter(self.rows)

    def __contains__(self, v):
        return v in self.rows

    def __bool__(self):
        return FLAG


class Obj(Child):
    def __init__(self):
        self.a = 1.0
        self.b = 2
        self.items = [1.0]
        self.last = None
        self.count = 0

    @property
    def prop(self):
        return self.a * G0

    def method(self, v):
        self.count += 1
        return v * self.scale

    def __enter__(self):
        LOG.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        LOG.append("exit" if kind is None else kind.__name__)
        return kind is LookupError


@program
def generated():
    o = Obj()
    seq = Items()
    c0 = 1.0
    c1 = [0.0]
"""


class Block(NamedTuple):
    """A compound statement: clauses of a header and a body."""

    clauses: tuple[tuple[str, tuple[Any, ...]], ...]


class Draft(NamedTuple):
    """A program: bodies of its functions, changes of the outside, and its calls."""

    functions: tuple[tuple[str, tuple[Any, ...]], ...]  # header and body; the last is the program
    changes: tuple[tuple[str, ...], ...]
    calls: tuple[tuple[int, int], ...]  # change, or -1, and size
    grad: bool


NUMBERS = (
    "1", "2.0", "3", "0.5", "-1", "0", "G0", "G1", "o.a", "o.b", "o.scale", "Config.level",
    "o.prop", 'DICT["k"]', 'DICT.get("z", 1.5)', "len(LIST)", "LIST[0]", "sum(LIST)", "len(SET)",
    "c0", "c1[0]", "n", "n // 2", "n * 2 + 1", "k", 'getattr(o, "late", 2.0)', "seq[0]",
    "len(seq)", "sum(seq)", 'TABLE["k"]', 'COUNTS["hits"]', "len(GROUPS)", "o.count",
    "len(o.items)", "o.items[-1]", "float(FLAG)", "len(LOG)", "max(o.b, G1)", "Child.scale",
    "helper.__defaults__[0]", "x.dim()", 'len(DICT)', "next(iter(LIST))", 'globals()["G0"]',
    "x.numel()", "int(n / 2)", "min(n, 2)", "THIS.G0", 'vars(THIS)["G1"]', 'vars(o)["a"]',
    'Config.__dict__["scale"]', "super(Obj, o).scale", "len(VALUES)", 'PROXY["k"]', "PART()",
    "[v * 2 for v in LIST][0]", "max(LIST, default=0)", "(lambda: c0 + G0)()",
    "next((v for v in LIST if v > 1), 0.5)", "sorted(SET)[0] if SET else 1",
    'getattr(o, "fn", float)(2)', 'getattr(o, "peer", o).a', 'sum(GROUPS["a"])', "len(o.items)",
    "(c0 if n > 2 else c1[0])", "sum(v for v in o.items)", "len({*LIST, *SET})",
)  # fmt: skip
CONDITIONS = (
    "FLAG", "LIST", '"z" in DICT', 'hasattr(o, "late")', "n > 2", "n == 1", "not FLAG", "seq",
    "1.0 in seq", "isinstance(k, float)", "type(n) is int", "o.last is None", "3 in SET", "n % 2",
    "o.b > G1", "c0 > 1", "COUNTS", "x.sum() > 3", "(x > 1).any()", "k", 'DICT.get("z") is None',
    "len(LOG) % 2", "isinstance(x, torch.Tensor)", "type(x) is torch.Tensor", "o.scale == 2.0",
    "n in SET", "x.requires_grad", "n", "k == G0", "k is None", '"z" in PROXY', "2.0 in VALUES",
    "any(v > 1 for v in LIST)", "all(SET)", 'hasattr(THIS, "LATE")',
)  # fmt: skip
TENSORS = (
    "x", "y", "x * {n}", "y + {n}", "x + y", "torch.relu(y - {n})", "x.clone()", "y * x.sum()",
    "torch.full_like(x, {n})", "o.method(y)",
    "torch.zeros_like(x) + {n}", "torch.cat([x, y])[:n]", "torch.tensor({n}) + y", "y.flip(0)",
    "torch.where(y > {n}, x, y)", "torch.arange(n) * 1.0 + y", "torch.stack([x, y]).sum(0)",
    "y.cumsum(0)", "x[:n] - y", "torch.ones(n) * {n}", "sum([x, y], torch.zeros(n))",
    "y / 2",
)  # fmt: skip
CALLS = ("helper(y)", "helper(x, {n})", "other(y)")  # each function calls those before it
WRITES = (
    "o.a = ({n}) % 7", "o.b += 1", "o.count += 1", "o.last = y", 'DICT["k"] = ({n}) % 7',
    'DICT["z"] = ({n}) % 5', 'DICT.pop("z", None)', "LIST.append(({n}) % 5)",
    "SET.add(int({n}) % 4)", "LIST[0] = ({n}) % 5", "o.items.append(n)", "o.late = ({n}) % 3",
    "Config.scale = ({n}) % 4 + 1", 'TABLE["k"] = ({n}) % 6', 'COUNTS["hits"] += 1',
    "GROUPS[n].append(1)", 'LOG.append(("at", n))', "c1[0] = ({n}) % 5", "c0 = ({n}) % 4 + 1",
    "G0 = ({n}) % 4 + 1", "G1 = int({n}) % 4", "FLAG = not FLAG", "print('k', k)", "print(n, o.b)",
    "x.add_(1)", "x.foo = n", "del LIST[1:]", "LIST.reverse()", "SET.discard(2)",
    "DICT.update(j=n)", "seq.rows[0] = ({n}) % 5", "setattr(o, 'b', int({n}) % 5)",
    "o.__dict__.update(a=({n}) % 3)", "LIST.extend([1.0, n])", "o.last = [y, n]",
    "TABLE.move_to_end('k')", "helper.seen = n", "vars(o).pop('late', None)",
    "THIS.G0 = ({n}) % 3 + 1", 'vars(THIS)["G1"] = int({n}) % 4', "THIS.LATE = n",
    "type.__setattr__(Config, 'level', int({n}) % 3)", "PART.keywords.update(b=({n}) % 3)",
    "DICT.__ior__({{'j': n}})", "LIST[1:1] = [({n}) % 2]", "o.items += [n]",
    "SET.symmetric_difference_update({{n % 3}})", "t = [n]; o.items = t; t.append(({n}) % 3)",
    'DICT["k"], LIST[0] = LIST[0], DICT["k"]', "a = o.items; a.append(n)", "o.items = list(LIST)",
    'GROUPS["a"] = o.items', "o.fn = lambda v, w={n}: v * w + c0", "o.peer = Obj(); o.peer.a = n",
    "LOG.append(f'{{n}} {{k}}')", "Config.level, G1 = G1, Config.level", "o.items[:] = sorted(SET)",
    "object.__setattr__(o, 'a', ({n}) % 4)", "LIST.sort()", "SET.update(range(n % 3))",
)  # fmt: skip
RISKS = (
    "k = 6 // ({n})", 'k = DICT["z"]', "k = LIST[n]", "k = 1.0 / ({n})", "y = y + x[2]",
    'raise ValueError("no")', 'raise KeyError(n)', "k = o.late", "y = y.reshape(2, -1).sum() + x",
    "assert {c}, n", "k = [1, 2, 3][n]", "y = y + torch.ones(3)", "k = {{1: 2.0}}[n]",
    'raise RuntimeError(f"{{n}}")', "k = int('a' * n)", "k = 7 % ({n})",
)  # fmt: skip
ERRORS = (
    "ZeroDivisionError", "LookupError", "Exception", "(ValueError, RuntimeError)",
    "ArithmeticError", "(KeyError, IndexError, AttributeError)", "AssertionError",
)  # fmt: skip
CHANGES = (
    ("global G0", "G0 = {v}"), ("global G1", "G1 = {i}"), ("global FLAG", "FLAG = not FLAG"),
    ("o.a = {v}",), ("o.b = {i}",), ("o.late = {v}",), ("vars(o).pop('late', None)",),
    ("Config.scale = {v}",), ("Child.scale = {v}",), ('DICT["z"] = {v}',),
    ("DICT.pop('z', None)",), ('DICT["k"] = {v}',), ("LIST.append({v})",), ("LIST[0] = {v}",),
    ("SET.add({i})",), ("SET.clear()",), ("seq.rows[0] = {v}",), ("nonlocal c0", "c0 = {v}"),
    ("c1[0] = {v}",), ("helper.__defaults__ = ({v},)",), ("Obj.method = lambda self, v: v * {v}",),
    ("LOG.clear()",), ("o.last = None",), ('TABLE["k"] = {v}',),
    ("Items.__len__ = lambda self: {i}",), ("Obj.prop = property(lambda self: {v})",),
    ("o.items.clear()", "o.items.append({v})"),
)  # fmt: skip


class Writer:
    """Draws a program from a seed. Its functions call no function that leads back to them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tensors = TENSORS

    def draft(self, calls: int) -> Draft:
        r = self.random
        helper = self.body(2, 1)
        self.tensors = TENSORS + CALLS[:2]
        other = self.body(2, 1)
        self.tensors = TENSORS + CALLS
        functions = (
            ("def helper(x, k=2.0):", helper),
            ("def other(x):", ("k = 1.5", *other)),
            ("def fn(x):", ("k = 1.0", *self.body(r.randint(2, 6), 2))),
        )
        changes = tuple(self.change() for _ in range(4))
        sizes = (3, 3, 3, 3, 2, 5, 1, 0, 4)
        plan = tuple((r.choice((-1, -1, 0, 1, 2, 3)), r.choice(sizes)) for _ in range(calls))
        return Draft(functions, changes, ((-1, 3), (-1, 3), *plan)[:calls], r.random() < 0.3)

    def fill(self, text: str) -> str:
        return text.format(n=self.number(), c=self.condition())

    def number(self) -> str:
        r = self.random
        one = r.choice(NUMBERS)
        if r.random() < 0.25:
            one = f"({one} {r.choice('+*-')} {r.choice(NUMBERS)})"
        if r.random() < 0.1:
            one = f"({one} if {r.choice(CONDITIONS)} else {r.choice(NUMBERS)})"
        return one

    def condition(self) -> str:
        r = self.random
        one = r.choice(CONDITIONS)
        if r.random() < 0.3:
            one = f"{one} {r.choice(('and', 'or'))} {r.choice(CONDITIONS)}"
        return one

    def tensor(self) -> str:
        return self.random.choice(self.tensors).format(n=self.number())

    def change(self) -> tuple[str, ...]:
        r = self.random
        v, i = r.choice(("1.0", "2", "2.5", "-0.0", "0", "True", "4")), r.choice(("0", "1", "3"))
        return tuple(line.format(v=v, i=i) for line in r.choice(CHANGES))

    def body(self, length: int, depth: int) -> tuple[Any, ...]:
        return tuple(self.statement(depth) for _ in range(length))

    def statement(self, depth: int) -> Any:
        r = self.random
        kind = r.random()
        if depth and kind < 0.3:
            return self.compound(depth - 1)
        if kind < 0.5:
            return self.fill(r.choice(WRITES))
        if kind < 0.65:
            return f"k = {self.number()}"
        if kind < 0.69:
            return Block(((f"if {self.condition()}:", ("return",)),))
        if kind < 0.73:
            return self.fill("k = sum([{n} for v in LIST])")
        if kind < 0.76:
            return self.fill("y = (lambda v: v * ({n}))(y)")
        return f"y = {self.tensor()}"

    def compound(self, depth: int) -> Block:
        r = self.random
        kind = r.random()
        inner = lambda: self.body(r.randint(1, 2), depth)  # noqa: E731
        if kind < 0.35:
            other = (("else:", inner()),) if r.random() < 0.5 else ()
            return Block(((f"if {self.condition()}:", inner()), *other))
        if kind < 0.65:
            risky = (*inner(), self.fill(r.choice(RISKS)), *inner())
            caught = (f"except {r.choice(ERRORS)}:", inner())
            last = (("finally:", inner()),) if r.random() < 0.4 else ()
            return Block((("try:", risky), caught, *last))
        if kind < 0.85:
            over = r.choice(("range(2)", "LIST[:3]", "range(n)", "list(DICT)[:2]", "seq", "(1, n)"))
            return Block(((f"for v in {over}:", inner()),))
        return Block(((r.choice(("with o:", "with torch.no_grad():")), inner()),))


# ---------------------------------------------------------------------- text


def write(draft: Draft) -> str:
    """The module of a draft."""
    lines = [HEAD]
    for header, body in draft.functions:
        lines += [f"    {header}", "        global G0, G1, FLAG", "        nonlocal c0"]
        lines += ["        n = x.shape[0]", "        y = x * 1"]
        result = "return y, k" if "fn" in header else "return y"
        lines += [re.sub(r"return$", result, line) for line in (*_lines(body, 2), "        return")]
        lines.append("")
    for i, change in enumerate(draft.changes):
        lines += [f"    def change_{i}():", *(f"        {line}" for line in change), ""]
    grad = ".requires_grad_()" if draft.grad else ""
    x = f"((torch.arange(n) + 1.0){grad},)"
    lines += ["    def at(change, n):", "        def make():", "            if change is not None:"]
    lines += ["                change()", f"            return {x}", "", "        return make", ""]
    plan = [f"({f'change_{c}' if c >= 0 else None}, {n})" for c, n in draft.calls]
    lines += [f"    plan = [{', '.join(plan)}]"]
    lines += ["    state = LIST, DICT, SET, TABLE, COUNTS, GROUPS, LOG, Config, Child, o, seq, c1"]
    lines += ["    return Case(fn, calls=[at(*step) for step in plan], looks_at=state)", ""]
    return "\n".join(lines)


def _lines(body: tuple[Any, ...], depth: int) -> list[str]:
    space = "    " * depth
    found = []
    for statement in body:
        if isinstance(statement, str):
            found.append(space + statement)
            continue
        for header, inner in statement.clauses:
            found += [space + header, *_lines(inner, depth + 1)]
            if not inner:
                found.append(f"{space}    pass")
    return found


def smaller(draft: Draft) -> list[Draft]:
    """Drafts with one part less, larger parts first."""
    found = [
        draft._replace(calls=(*draft.calls[:i], *draft.calls[i + 1 :]))
        for i in reversed(range(len(draft.calls)))
        if len(draft.calls) > 1
    ]
    found += [
        draft._replace(
            calls=tuple((-1, n) if i == j else (c, n) for j, (c, n) in enumerate(draft.calls))
        )
        for i, (c, _) in enumerate(draft.calls)
        if c >= 0
    ]
    for i, (header, body) in enumerate(draft.functions):
        for less in _less(body):
            functions = (*draft.functions[:i], (header, less), *draft.functions[i + 1 :])
            found.append(draft._replace(functions=functions))
    if draft.grad:
        found.append(draft._replace(grad=False))
    return found


def _less(body: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Bodies with one statement less, or with one replaced by what is in it."""
    found = []
    for i, statement in enumerate(body):
        around = lambda *new, i=i: (*body[:i], *new, *body[i + 1 :])  # noqa: E731
        if not (isinstance(statement, str) and statement.startswith("k = 1.")):
            found.append(around())
        if isinstance(statement, Block):
            found += [around(*inner) for _, inner in statement.clauses]
            for j, (header, inner) in enumerate(statement.clauses):
                clauses = statement.clauses
                found += [
                    around(Block((*clauses[:j], (header, less), *clauses[j + 1 :])))
                    for less in _less(inner)
                ]
    return found
