"""Random small programs with control flow that depends on data, as text.

A program is the forward pass of a module with a parameter `w` and buffers `total` and `count`, over
two vectors of one length. It branches, loops, returns early, raises and catches, writes to inputs
and buffers, draws random numbers, switches modes, and defines functions and lists. Some calls raise
in eager execution as well, which is as good a comparison as any.
"""

from __future__ import annotations

import linecache
import random
import zlib
from typing import Any

import torch

CONTEXTS = (
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.autocast('cpu', dtype=torch.bfloat16)",
    "torch.inference_mode(False)",
)
HEAD = """\
def counter(step):
    n = 0

    def tick():
        nonlocal n
        n += step
        return n

    return tick


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([0.75]))
        self.register_buffer("total", torch.zeros(1))
        self.register_buffer("count", torch.tensor(0))
        self.steps = 0

    def forward(self, x, y):
"""


class Writer:
    """Writes the text of one program."""

    def __init__(self, seed: int, size: int = 9) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.left = size
        self.names = 0
        self.vectors = ["x", "y"]
        self.scalars: list[str] = []  # tensors
        self.numbers: list[str] = []  # Python's
        self.lists: list[str] = []
        self.loops = 0

    def text(self) -> str:
        while self.left > 0:
            self.statement(2)
        self.end(2)
        return HEAD + "\n".join(self.lines) + "\n"

    # ------------------------------------------------------------------ parts

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def one(self, *options: Any) -> Any:
        return self.random.choice(options)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def vector(self) -> str:
        return str(self.random.choice(self.vectors))

    def small(self) -> str:
        return str(self.one(-2, -1, -0.5, 0, 0.25, 0.5, 1, 2, 3))

    def number(self) -> str:
        if self.numbers and self.random.random() < 0.5:
            return str(self.random.choice(self.numbers))
        return str(self.one(self.small(), f"{self.vector()}.size(0)", f"len({self.vector()})"))

    def scalar(self) -> str:
        if self.scalars and self.random.random() < 0.5:
            return str(self.random.choice(self.scalars))
        a = self.vector()
        return str(self.one(f"{a}.sum()", f"{a}.abs().sum()", f"({a} > 0).sum()", "self.count"))

    def expression(self) -> str:
        a, b = self.vector(), self.vector()
        n, s = self.number(), self.scalar()
        return str(
            self.one(
                f"{a} + {b}",
                f"{a} - {b} * {n}",
                f"{a} * {n}",
                f"{a}.relu() + {n}",
                f"{a} * self.w",
                f"torch.where({a} > {b}, {a}, {n})",
                f"{a}.flip(0)",
                f"{a} + {s}",
                f"{a}.cumsum(0)",
                f"{a}.clone()",
                f"{a}.view(-1)",
                f"{a}[:]",
                f"{a}.detach()",
                f"{a} / (1 + {s}.abs())",
                f"{a} + torch.rand({a}.size(0))",
                f"{a} + torch.rand_like({b})",
                f"{a}.clamp(-9, 9)",
                f"torch.nn.functional.dropout({a}, 0.5)",
                f"{a} + self.total",
                f"{a}.sort()[0]",
                f"torch.full_like({a}, {n})",
                f"torch.cat([{a}, {b}])[: {a}.size(0)]",
                f"{a}.float()",
                f"torch.zeros({a}.size(0)) + {b}",
                f"({a}, {b})[{a}.size(0) > 1]",
                f"({a} if {b}.sum() > 0 else {b})",
                f"max({a}, {b}, key=lambda v: v.sum())",
                f"sum([v for v in ({a}, {b}) if v.sum() < {n}], {a})",
                f"torch.stack([{a}, {b}]).t().sum(1)",
                f"torch.stack([{a}, {b}])[{s}.long() % 2]",
                f"next(v * 2 for v in ({a}, {b}, {a}) if v is {a} or v.sum() > 0)",
                f"{a} + {b}[: max(int({s}.nan_to_num()), 0)].sum()",
                f"(lambda v: v if v.sum() > 1 else v + 1)({a})",
                f"{a}.index_put((({a} > 0).nonzero().view(-1),), torch.tensor({self.small()}))",
            )
        )

    def condition(self) -> str:
        a, n = self.vector(), self.number()
        simple = self.one(
            f"{self.scalar()} > {n}", f"{self.scalar()}.item() <= {self.small()}", f"{a}.sum() < 0",
            f"({a} > {self.small()}).any()", f"({a} > 1).all()", f"{n} > {self.number()}",
            f"{a}.size(0) > {self.one(0, 1, 2, 3)}", f"({a} > 0).sum().item() % 2 == 0",
            f"{a}.shape == {self.vector()}.shape", "torch.is_grad_enabled()", f"{a}.requires_grad",
            f"{a}[{a} > 0].numel() > 1", f"{self.scalar()} == 0", f"self.total > {self.small()}",
            "self.count.item() % 3 == 1", f"{a}.isnan().any()",
            f"any(v.sum() > 1 for v in ({a}, {self.vector()}))", f"-1 < {self.scalar()} < 2",
            f"(k := {self.scalar()}.item()) > 0 and k < 2", f"{self.scalar()}",
        )  # fmt: skip
        if self.random.random() < 0.2:
            return f"{simple} {self.one('and', 'or')} {self.condition()}"
        return f"not ({simple})" if self.random.random() < 0.1 else str(simple)

    # ------------------------------------------------------------------ statements

    def statement(self, depth: int) -> None:
        self.left -= 1
        kinds = [
            (5, self.assign), (3, self.write), (3, self.read), (2, self.extend), (1, self.pair),
            (1, self.assertion), (1, self.table), (1, self.counter),
        ]  # fmt: skip
        if depth < 5:
            kinds += [
                (6, self.branch), (2, self.wait), (2, self.count), (2, self.repeat), (2, self.mode),
                (2, self.attempt), (2, self.function), (1, self.final),
            ]  # fmt: skip
        if depth > 2:
            kinds += [(1, self.end), (1, self.fail), (1 if self.loops else 0, self.jump)]
        weights = [w for w, _ in kinds]
        self.random.choices([k for _, k in kinds], weights)[0](depth)

    def block(self, depth: int, most: int = 3) -> None:
        """Statements of their own scope: names that they make are not there afterwards."""
        kept = [list(names) for names in self._scopes()]
        for _ in range(self.random.randint(1, most)):
            self.statement(depth)
        for names, before in zip(self._scopes(), kept, strict=True):
            names[:] = before

    def _scopes(self) -> list[list[str]]:
        return [self.vectors, self.scalars, self.numbers, self.lists]

    def assign(self, depth: int) -> None:
        target = self.vector() if self.random.random() < 0.4 else self.name("v")
        self.line(depth, f"{target} = {self.expression()}")
        if target not in self.vectors:
            self.vectors.append(target)

    def write(self, depth: int) -> None:
        a, b, n = self.vector(), self.vector(), self.number()
        self.line(
            depth,
            self.one(
                f"{a}.add_({n})", f"{a}.mul_(0.5)", f"{a}[:1] = {self.small()}", f"{a} += {b}",
                f"{a}.view(-1)[1:].sub_(1)", f"self.total.add_({b}.detach().sum())", f"{a}.relu_()",
                "self.total.mul_(0.5)", "self.count += 1", "self.count.add_(1)", "y.add_(1)",
                f"{a}.copy_({b})", f"y[y > 0] = {self.small()}", f"{a}.normal_()", "x.sub_(0.5)",
                f"torch.add({a}, 1, out={b})", "self.total.data.add_(1)",
            ),
        )  # fmt: skip

    def read(self, depth: int) -> None:
        a = self.vector()
        if self.random.random() < 0.3:
            name = self.name("s")
            self.line(depth, f"{name} = {self.scalar()}")
            self.scalars.append(name)
            return
        name = self.name("n")
        self.line(
            depth,
            f"{name} = "
            + self.one(
                f"{self.scalar()}.item()", f"float({a}.sum())", f"int(({a} > 0).sum())",
                f"{a}.size(0) + {self.number()}", f"{self.number()} * 2",
                f"({a} > 0).nonzero().size(0)", f"min({a}.size(0), 2)", f"{a}.numel() // 2",
                f"max({self.scalar()}.item(), 1)",
                f"int({a}.clamp(-3, 3).nan_to_num().sum().item())", f"abs({self.scalar()}.item())",
            ),
        )  # fmt: skip
        self.numbers.append(name)

    def extend(self, depth: int) -> None:
        if self.lists and self.random.random() < 0.6:
            target = self.random.choice(self.lists)
            self.line(
                depth,
                self.one(
                    f"{target}.append({self.expression()})",
                    f"{target} += [{self.vector()}]",
                    f"{target}[-1:] = [{self.vector()}]",
                ),
            )
            return
        name = self.name("l")
        self.line(depth, f"{name} = [{self.vector()}, {self.expression()}]")
        self.lists.append(name)
        total = self.name("v")
        self.line(depth, f"{total} = sum({name})")
        self.vectors.append(total)

    def pair(self, depth: int) -> None:
        a, b = self.vector(), self.vector()
        self.line(depth, f"{a}, {b} = {self.vector()}, {self.expression()}")

    def table(self, depth: int) -> None:
        name = self.name("v")
        self.line(depth, f"d = {{'a': {self.vector()}, True: {self.expression()}}}")
        self.line(depth, f"{name} = d[bool({self.condition()})] if True in d else d['a']")
        self.line(depth, f"{name} = d.get({self.scalar()}.item() > 0, d['a'])")
        self.vectors.append(name)

    def counter(self, depth: int) -> None:
        """A function with a state that no frame holds, called in a loop."""
        tick, a = self.name("f"), self.name("v")
        self.line(depth, f"{tick} = counter({self.small()})")
        self.line(depth, f"{a} = {self.vector()}.detach().nan_to_num().clamp(-9, 9)")
        self.line(depth, f"while {a}.abs().sum() > 3:")
        self.line(depth + 1, f"{a} = {a} * 0.5 / (1 + abs({tick}()))")
        self.line(depth, f"{a} = {a} + {tick}()")
        self.vectors.append(a)

    def assertion(self, depth: int) -> None:
        self.line(depth, f"assert {self.vector()}.sum() < 40, 'too large'")

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1)
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1)

    def wait(self, depth: int) -> None:
        """A loop whose state repeats."""
        a = self.name("v")
        self.line(depth, f"{a} = ({self.expression()}).detach().nan_to_num().clamp(-9, 9)")
        condition = self.one(
            f"{a}.abs().sum() > 1", f"{a}.abs().sum().item() > 2", f"({a} > 1).any()"
        )
        self.line(depth, f"while {condition}:")
        self.line(depth + 1, f"{a} = {a} * 0.5")
        self.loops += 1
        self.block(depth + 1, 2)
        self.loops -= 1
        self.vectors.append(a)

    def count(self, depth: int) -> None:
        """A loop that counts."""
        i = self.name("n")
        self.line(depth, f"{i} = 0")
        self.line(depth, f"while {i} < 3 and ({self.condition()}):")
        self.line(depth + 1, f"{i} += 1")
        self.loops += 1
        self.block(depth + 1, 2)
        self.loops -= 1
        self.numbers.append(i)

    def repeat(self, depth: int) -> None:
        i = self.name("n")
        often = self.one("range(2)", f"range(min(int(({self.vector()} > 0).sum()), 3))", "(0.5, 1)")
        self.line(depth, f"for {i} in {often}:")
        self.numbers.append(i)
        self.loops += 1
        self.block(depth + 1, 2)
        self.loops -= 1
        self.numbers.remove(i)

    def mode(self, depth: int) -> None:
        self.line(depth, f"with {self.one(*CONTEXTS)}:")
        self.block(depth + 1)

    def attempt(self, depth: int) -> None:
        self.line(depth, "try:")
        self.block(depth + 1)
        self.line(
            depth + 1, f"if {self.condition()}: raise {self.one('ValueError', 'KeyError')}('no')"
        )
        self.line(depth, f"except {self.one('ValueError', '(KeyError, ValueError)', 'Exception')}:")
        self.block(depth + 1, 2)

    def final(self, depth: int) -> None:
        self.line(depth, "try:")
        self.block(depth + 1)
        self.line(depth, "finally:")
        self.line(depth + 1, self.one("y.add_(1)", "self.total.add_(1)", "self.count.add_(1)"))

    def function(self, depth: int) -> None:
        name = self.name("f")
        a = self.name("v")
        loops, self.loops = self.loops, 0
        self.line(depth, f"def {name}({a}, k={self.small()}):")
        self.vectors.append(a)
        kept = [list(names) for names in self._scopes()]
        inner = self.name("v")
        self.line(depth + 1, f"{inner} = {a} * k")
        self.line(depth + 1, f"if {self.condition()}: return {inner}")
        self.line(depth + 1, f"return {self.one(inner, a)} + {self.vector()}")
        for names, before in zip(self._scopes(), kept, strict=True):
            names[:] = before
        self.vectors.remove(a)
        self.loops = loops
        result = self.name("v")
        self.line(depth, f"{result} = {name}({self.vector()})")
        self.vectors.append(result)

    def end(self, depth: int) -> None:
        parts = [self.vector(), self.scalar(), self.number()][: self.random.randint(1, 3)]
        if self.lists and self.random.random() < 0.5:
            parts.append(str(self.random.choice(self.lists)))
        self.line(depth, f"return {', '.join(parts)}")

    def fail(self, depth: int) -> None:
        self.line(depth, f"if {self.condition()}: raise {self.one('ValueError', 'KeyError')}('no')")

    def jump(self, depth: int) -> None:
        self.line(depth, f"if {self.condition()}: {self.one('break', 'continue')}")


def program(seed: int, size: int = 9) -> str:
    """The text of a program."""
    return Writer(seed, size).text()


def load(text: str, name: str = "program") -> Any:
    """The module that a text defines, made anew; its source can be read, as that of a file."""
    space: dict[str, Any] = {"torch": torch, "__name__": name}
    file = f"<{name} {zlib.crc32(text.encode()):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["Program"]()


def inputs(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two vectors of one length, 0 and 1 among the lengths; the first may require gradients."""
    chance = random.Random(seed)
    n = chance.choice((0, 1, 1, 2, 3, 3, 3, 5))
    numbers = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(n, generator=numbers) * chance.choice((0.5, 2, 5)) for _ in range(2))
    if chance.random() < 0.05 and n:
        x[0] = float("nan")
    return x.requires_grad_(chance.random() < 0.3), y
