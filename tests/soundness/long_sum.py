"""Facts and questions about long lazy sums, some of which have their terms collected.

`Long` makes sums of up to 44 numbers in various orders: prefixes of one another, differences that
cancel, multiples, numbers that occur twice, remainders and maxima. `collect` stands for whatever
else a program may do with them, such as printing one or asking for its range.
"""

from __future__ import annotations

import contextlib
import random
from itertools import accumulate
from typing import TYPE_CHECKING

from anyshape.env import Env, Fact
from anyshape.env.learning.learn import learn
from anyshape.errors import ConstraintError
from anyshape.expr import eq0, floordiv, ge0, maximum, modulo, ne0
from anyshape.expr.terms import refresh, terms

if TYPE_CHECKING:
    from anyshape.expr import Bool, Expr


class Long:
    """Long sums over 49 symbols; `order` chooses what is collected, and when."""

    def __init__(self, seed: int, order: random.Random | None = None) -> None:
        self.rng = random.Random(seed)
        self.order = order
        self.env = Env()
        self.symbols = [self.env.unbacked(size=self.rng.random() < 0.7) for _ in range(12)]
        self.most = self.env.unbacked(size=True)
        self.symbols += [self.env.unbacked(size=self.rng.random() < 0.7) for _ in range(36)]
        self.sums: list[Expr] = []
        self.told: list[Expr] = []
        self.grow()

    def grow(self) -> None:
        """Make some more sums."""
        rng = self.rng
        some = rng.sample(self.symbols, rng.randint(10, 44))
        kind = rng.randrange(4)
        if kind == 1:
            some.sort(key=lambda e: e.oldest)
        elif kind == 2:
            some = [x.scale(2) for x in some]
        elif kind == 3:
            some = [self.number() for _ in some]
        longest = len(some) - 3
        prefixes = enumerate(accumulate(some))
        self.sums += [e for i, e in prefixes if i >= longest or rng.random() < 0.1]

    def number(self) -> Expr:
        """A symbol, or a small expression of two."""
        x, y = self.rng.sample(self.symbols, 2)
        two = x.pool.const(2)
        rare = [x.scale(3), -x, modulo(x, two.scale(2)), floordiv(x, two), maximum([x, y]), x - y]
        return self.rng.choice([x] * 6 + rare)

    def sum(self) -> Expr:
        """A sum, or a combination of two."""
        rng = self.rng
        a, b = rng.choice(self.sums), rng.choice(self.sums)
        x = rng.choice(self.symbols)
        ways = [a, a + b, a - b, a - b, a + x, a - x, self.most - a, self.most - a.scale(2)]
        e = rng.choice([*ways, a.scale(2), a.scale(-3) + b])
        if rng.random() < 0.3:
            self.sums.append(e)
        return e

    def relation(self, e: Expr) -> Bool:
        """A relation of a sum with a constant."""
        near = self.rng.random() < 0.3
        e = e.shift(self.rng.randint(-3, 12) if near else self.rng.randint(-30, 200))
        return self.rng.choice([ge0, ge0, ge0, ge0, ne0])(e)

    def tell(self) -> None:
        """Bound half of the symbols and some sums; facts that contradict others are refused."""
        rng = self.rng
        self.told += [self.sum() for _ in range(5)]
        facts = [self.relation(e) for e in self.told[-5:]]
        facts += [ge0((-x).shift(rng.randint(0, 5))) for x in rng.sample(self.symbols, 25)]
        if rng.random() < 0.5:
            x, y = rng.sample(self.symbols, 2)
            facts.append(eq0(x - y))
        rng.shuffle(facts)
        for condition in facts:
            self.collect()
            with contextlib.suppress(ConstraintError):
                learn(self.env.knowledge, Fact(condition, "check"))
        self.grow()

    def questions(self) -> list[Bool]:
        """Relations of sums, also of those that facts are about, and bounds of single symbols."""
        rng = self.rng
        found = []
        for _ in range(20):
            e = rng.choice(self.told) if rng.random() < 0.4 else self.sum()
            e = rng.choice([e, e, e.scale(2), -e, e.scale(-2), e + rng.choice(self.symbols)])
            found.append(self.relation(rng.choice([e, -e])))
        return found + [ge0((-x).shift(rng.randint(0, 6))) for x in rng.sample(self.symbols, 5)]

    def collect(self) -> None:
        """Collect the terms of some nodes, and refresh the bounds of others."""
        if self.order is not None:
            nodes = list(self.env.pool.nodes.values())
            for e in self.order.sample(nodes, min(len(nodes), 5)):
                self.order.choice([terms, refresh])(e)
