"""Random programs that branch and loop on data, as source: statements over a few tensors."""

from __future__ import annotations

import importlib.util
import random
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("a", "b", "c")
_QUESTIONS = (
    "{0}.sum() > {k}",
    "({0} > {k}).any()",
    "({0} < {k}).all()",
    "{0}.sum().item() > {1}.sum().item()",
    "{0}[{0} > {k}].numel() == 0",
    "not ({0} > {1}).any()",
    "({0} > {k}).any() and ({1} < {k}).any()",
    "({0} > {k}).any() or {1}.sum() < 0",
)
_STEPS = (
    "{0} = {1} * {k} + {2}",
    "{0} = {1} - {2}.mean()",
    "{0} = torch.where({1} > {k}, {2}, {0})",
    "{0} = {1}.flip(0)",
    "{0} = ({1} + {2}).clamp(-9, 9)",
    "{0}.mul_({k})",
    "state.add_({0}.sum().clamp(-5, 5))",
    "count = count + int(({0} > {k}).sum())",
    "t = {1} * {k}; {0} = t - {2}",
    "parts = [{0} * 2, {1}]; {2} = parts[0] + parts[1]",
    "note = ({k}, 'few')",
    "note = '{0}'",
    "h = {0}[{0} > {k}]; {1} = {1} + h.sum()",
    "d = {0}.double() if note else {0}",
    "d = {0}.unsqueeze(0)",
    "{0} = {1} + d.sum().float()",
)
_ERRORS = (
    "assert not ({0} > 8).all(), 'too large'",
    "raise ValueError(f'{{count}} of {{{0}.shape[0]}}')",
    "raise KeyError('no {0}')",
)


class Source:
    """One program, from a seed. One that `counts` has one loop, with counters of Python's; one that
    `lists` has loops over counts from data, and a list that they change.
    """

    def __init__(self, seed: int, *, counts: bool = False, lists: bool = False) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.left = 7  # branches and loops
        if counts:
            self.counted()
        elif lists:
            self.listed()
        else:
            self.block(2, 8)
        start = "    state = torch.zeros(())\n    count, note, d = 0, None, a"
        end = "    return a, b, c, state, count, note, d"
        body = "\n".join([start, *self.lines, end])
        self.text = f"def program(a, b):\n    c = a + b\n{body}\n"

    def fill(self, text: str) -> str:
        names = [self.draw.choice(_NAMES) for _ in range(3)]
        return text.format(*names, k=self.draw.choice((-1, 0, 0.5, 1, 2)))

    def block(self, depth: int, count: int) -> None:
        for _ in range(self.draw.randint(1, count)):
            self.statement(depth)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (3 - depth) + text)

    def counted(self) -> None:
        """A loop of up to 30 rounds that changes numbers, one of them on one side of a branch."""
        self.left = 0
        up, down = self.draw.choice((1, 2, 3)), self.draw.choice((1, 4))
        self.block(2, 2)
        self.put(2, f"i, j, grown = 0, {self.draw.randint(0, 9)}, c[:1]")
        self.put(2, f"while i < {30 * up} and ({self.fill(self.draw.choice(_QUESTIONS[:3]))}):")
        self.put(1, f"i, j = i + {up}, j - {down}")
        self.put(1, self.fill(self.draw.choice(_STEPS[:5])))
        self.put(1, f"if ({self.draw.choice(_NAMES)} > j).any():")
        self.put(0, self.draw.choice(("count += 1", "count -= i", "grown = torch.cat([grown, a])")))
        self.put(1, "a = a * 0.75 - j * 0.125")
        self.put(2, "c = c + grown.sum() + i + j")

    def listed(self) -> None:
        """A loop that fills a list, one that goes through a part of it, and what is left of it."""
        self.left = 0
        draw = self.draw.choice
        self.block(2, 2)
        self.put(2, f"parts = [{draw(('a.sum()', 'c.mean() * 0 + 1', 'b.sum(), a.sum()'))}]")
        self.put(2, f"k = int(({draw(_NAMES)} > 0).sum()) + {draw((0, 1, 9))}")
        self.put(2, f"for i in {draw(('range(k)', 'range(1, k, 2)', 'reversed(range(k))'))}:")
        self.put(1, self.fill(draw(_STEPS[:5])))
        self.put(1, f"if ({draw(_NAMES)} > i * 0.25).any():")
        self.put(0, f"parts.append({draw(_NAMES)}.sum() * i)")
        self.put(1, draw(("count = count + i", "count += len(parts)", "parts[0] = a.sum()")))
        self.put(1, "a = a * 0.75")
        part = draw(("parts", "parts[:k]", "parts[1:]", "parts[k:]", "parts[::-1]"))
        self.put(2, f"for p in {draw(('{}', 'reversed({})')).format(part)}:")
        self.put(1, draw(("c = c + p", "c = c * 0.5 - p", "count = count + 1")))
        self.put(2, draw(("parts.reverse()", "parts.insert(1, c.sum())", "d = parts.pop()")))
        self.put(2, "d = torch.stack([a.sum()] + parts).sum() + len(parts)")

    def statement(self, depth: int) -> None:
        kind = self.draw.random()
        if depth > 0 and self.left > 0 and kind < 0.35:
            self.left -= 1
            self.put(depth, f"if {self.fill(self.draw.choice(_QUESTIONS))}:")
            self.block(depth - 1, 2)
            if self.draw.random() < 0.2:
                self.put(depth - 1, "return c, count")
            if self.draw.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth - 1, 2)
        elif depth > 0 and self.left > 0 and kind < 0.55:
            self.left -= 1
            self.loops += 1
            budget = f"left_{self.loops}"
            self.put(depth, f"{budget} = torch.tensor({self.draw.randint(1, 3)})")
            self.put(depth, f"while {budget} > 0 and ({self.fill(self.draw.choice(_QUESTIONS))}):")
            self.put(depth - 1, f"{budget} = {budget} - 1")
            self.block(depth - 1, 2)
        elif kind < 0.63:
            self.put(depth, self.fill(self.draw.choice(_ERRORS[:1] if depth == 2 else _ERRORS)))
        else:
            self.put(depth, self.fill(self.draw.choice(_STEPS)))


def program_of(seed: int, folder: Path, *, counts: bool = False, lists: bool = False) -> Any:
    """The function of a seed, from a file, so that it has a source."""
    name = f"random_{'counts' if counts else 'lists' if lists else 'branches'}_{seed}"
    path = folder / f"{name}.py"
    text = Source(seed, counts=counts, lists=lists).text
    path.write_text(f"import torch\n\n\n{text}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.program
