"""One face for every engine: a `Session` is one environment of one engine.

Numbers of a session are the engine's own objects; `a + b` and `a - b` are its own operators.
Everything else is written once, as Python text, and compiled for the engine by `compiled`, outside
the measured time. In such a text lower-case names are symbolic and UPPER-CASE names are plain
integers; `and`, `or`, `max` and `min` are symbolic.

What an engine cannot express raises `Unsupported`; the table then has a dash.
"""

from __future__ import annotations

import ast
import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENGINES = ("ours", "symint", "torch_env", "sympy_", "symengine_", "jax_", "tvm_")


class Unsupported(Exception):
    """The engine has no way to state this."""


class Session(ABC):
    """One environment. Methods that only some engines have raise `Unsupported` by default."""

    title: ClassVar[str]

    @abstractmethod
    def unbacked(self) -> Any:
        """A new integer of which nothing is known."""

    @abstractmethod
    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        """A new unbacked integer with a known range."""

    def backed(self, hint: int) -> Any:
        """A new size with a hint, at least 2; without hints, just a size."""
        return self.size(2)

    def learn(self, condition: Any) -> None:
        """Take the condition for true from now on."""
        raise Unsupported

    @abstractmethod
    def holds(self, condition: Any) -> object:
        """Something truthy exactly when the condition is proved to hold always."""

    def question(self, text: str, names: str) -> Callable[..., object]:
        """A function of the named numbers that asks whether the relation in `text` holds."""
        build, holds = self.compiled(text, names), self.holds
        return lambda *values: holds(build(*values))

    def fails(self, condition: Any) -> object:
        """Something truthy exactly when the condition is proved to hold never."""
        raise Unsupported

    def guard_or_false(self, condition: Any) -> bool:
        """The truth of a condition if it is known, else False."""
        return bool(self.holds(condition))

    def reread(self, number: Any) -> Any:
        """The number in its present spelling, after what was learnt."""
        raise Unsupported

    def replace(self, name: str, by: Any, numbers: Mapping[str, Any]) -> None:
        """Learn that the number called `name` equals `by`."""
        self.learn(self.compiled("a == b", "a b")(numbers[name], by))

    def world(self, kinds: Mapping[str, str], facts: tuple[str, ...]) -> dict[str, Any]:
        """New symbols by name (`backed`, `unbacked`, `size`, `lo..hi`) for which the facts hold."""
        numbers = {name: self.of_kind(kind) for name, kind in kinds.items()}
        for fact in facts:
            self.learn(self.compiled(fact, " ".join(numbers))(*numbers.values()))
        return numbers

    def of_kind(self, kind: str) -> Any:
        """A new symbol of the kind that `world` names."""
        if kind == "backed":
            return self.backed(64)
        if kind == "unbacked":
            return self.unbacked()
        if kind == "size":
            return self.size()
        lo, _, hi = kind.partition("..")
        return self.size(int(lo), int(hi) if hi else None)

    def compiled(self, text: str, names: str) -> Callable[..., Any]:
        """The text as a function of the names, in calls and operators of the engine."""
        tree = Connectives().visit(ast.parse(text, mode="eval"))
        source = f"lambda {', '.join(names.split())}: {ast.unparse(tree)}"
        function: Callable[..., Any] = eval(source, self.vocabulary())
        return function

    def vocabulary(self) -> dict[str, Any]:
        """The functions that compiled text calls: all_of, any_of, max, min, and `abs`."""
        raise Unsupported


class Connectives(ast.NodeTransformer):
    """`x and y` becomes `all_of(x, y)`, `x or y` becomes `any_of(x, y)`."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Rewrite one `and` or `or`."""
        self.generic_visit(node)
        name = "all_of" if isinstance(node.op, ast.And) else "any_of"
        return ast.Call(ast.Name(name, ast.Load()), node.values, [])


def load(name: str) -> type[Session]:
    """The session class of an engine; ImportError when it is not installed."""
    session: type[Session] = importlib.import_module(f"benchmarks.adapters.{name}").Adapter
    return session
