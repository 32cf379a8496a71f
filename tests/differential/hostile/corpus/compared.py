"""Objects with an equality or a hash of the user's, where C compares: in sets, dicts, lists."""

from __future__ import annotations

import collections

from tests.differential.hostile.program import Box, Case, program


STATE = Box(k=2, log=[])


def set_(n, v):
    return lambda: setattr(STATE, n, v)


class Alike:
    """Equal to those with the same remainder, which depends on the state."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, o):
        return self.n % STATE.k == o.n % STATE.k

    def __hash__(self):
        return 1


class Counted:
    """Its hashes are counted."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, o):
        return self.n == o.n

    def __hash__(self):
        STATE.log.append(self.n)
        return hash(self.n)


OUT = [Alike(1), Alike(3), Alike(4)]
OUTSET = {Alike(1), Alike(2)}
OUTD = {Alike(1): 1.0, Alike(2): 2.0}
CHANGES = (set_("k", 3), set_("k", 1))


def compared(name, fn):
    def factory():
        return Case(fn, *CHANGES, looks_at=STATE)

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


compared("star_set", lambda x: x * len({*[Alike(1), Alike(3), Alike(4)]}))
compared("star_set_out", lambda x: x * len({*OUT}))
compared("set_call", lambda x: x * len(set([Alike(1), Alike(3), Alike(4)])))
compared("set_call_out", lambda x: x * len(set(OUT)))
compared("frozen", lambda x: x * len(frozenset(OUT)))
compared("fromkeys", lambda x: x * len(dict.fromkeys(OUT)))
compared("dictcomp", lambda x: x * len({e: 1 for e in OUT}))
compared("dictcall", lambda x: x * len(dict((e, 1) for e in OUT)))
compared("dictzip", lambda x: x * len(dict(zip(OUT, [1, 2, 3]))))
compared("display", lambda x: x * len({Alike(1), Alike(3)}))
compared("inlist", lambda x: x * 2 if Alike(3) in OUT[1:] else x)
compared("intuple", lambda x: x * 2 if Alike(5) in (Alike(1), Alike(2)) else x)
compared("inset", lambda x: x * 2 if Alike(3) in OUTSET else x)
compared("indict", lambda x: x * OUTD.get(Alike(3), 9.0))
compared("count", lambda x: x * OUT.count(Alike(5)))
compared("index", lambda x: x * OUT.index(Alike(4)))
compared("listeq", lambda x: x * 2 if OUT == [Alike(3), Alike(5), Alike(6)] else x)
compared("tupleeq", lambda x: x * 2 if (1, Alike(3)) == (1, Alike(1)) else x)
compared("dicteq", lambda x: x * 2 if {"a": Alike(3)} == {"a": Alike(1)} else x)
compared("nested", lambda x: x * 2 if [[Alike(3)]] == [[Alike(1)]] else x)
compared(
    "setops",
    lambda x: (
        x * len(OUTSET & {Alike(1), Alike(3)}) + len(OUTSET | {Alike(5)}) + len(OUTSET - {Alike(3)})
    ),
)
compared("counter", lambda x: x * len(collections.Counter(OUT)))
compared("remove", lambda x: (lambda l: (l.remove(Alike(3)), x * l[0].n))(list(OUT)))
compared("hashes", lambda x: x * len({*[Counted(1), Counted(1), Counted(2)]}) + len(STATE.log))
compared("hashes2", lambda x: x * len(set([Counted(1), Counted(x.shape[0])])))
compared("update", lambda x: (lambda s: (s.update(OUT), x * len(s)))(set()))
compared("dupdate", lambda x: (lambda s: (s.update({Alike(1): 2}), x * len(s)))({Alike(3): 1}))
compared("ordered", lambda x: x * len(collections.OrderedDict((e, 1) for e in OUT)))
compared("deque", lambda x: x * collections.deque(OUT).count(Alike(5)))
compared("unique", lambda x: x * len(list(dict.fromkeys([Alike(1), Alike(3)]))))
compared("subset", lambda x: x * 2 if {Alike(3)} <= OUTSET else x)
compared("maxkey", lambda x: x * max(OUT, key=lambda e: e.n % STATE.k).n)
compared("assertin", lambda x: x * [i for i, e in enumerate(OUT) if e in [Alike(2)]].__len__())
