"""Text of values that only the run knows: it has marks in it, and the program computes it.

`str(n)` of a symbolic number is a mark, such as `⟨s0⟩`, and a node that computes the text at the
run. Text with marks may be joined and given to an outlet. Where the program looks at it, as in
`len(text)` or `table[text]`, the marks of numbers are replaced by the text of their values, which
specializes on these; text of a tensor is refused there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.symbolic.functions import hint
from anyshape.symbolic.numpy_scalar import scalar_of, value_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.trace.graph.graph import SYMBOLIC, Graph, Name, leaves, operand_of
from anyshape.trace.output import need_plain
from anyshape.trace.record.effect import effect

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder

SHOWN: Final = (SymInt, SymFloat, SymBool, SymSize, SymTensor)
_CONVERSION: Final = re.compile(r"%(\(\w*\))?[#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(.)", re.S)


class _Mark(NamedTuple):
    """The node that computes the value of a mark, and how."""

    name: Name
    value: Any
    how: str
    spec: str


class Texts:
    """The marks of one trace."""

    __slots__ = ("_marks", "_recorder")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._marks: dict[str, _Mark] = {}

    @property
    def are_used(self) -> bool:
        """Whether some text may not be what it is in eager execution."""
        return bool(self._recorder.tracer.env.asker.shown)

    def mark(self, x: Any, how: str, spec: str = "") -> str:
        """The mark of the text of a value, which the program computes here."""
        if type(x) is SymSize:
            parts = [self.mark(n, "str") if type(n) is SymInt else str(n) for n in x]
            return format(f"torch.Size([{', '.join(parts)}])", spec)
        text = f"⟨{x._value if type(x) is SymTensor else _plain(x)}{':' if spec else ''}{spec}⟩"
        if type(x) is SymInt and not spec:
            how = "str"
        known = self._marks.get(text)
        if known is not None:
            if type(x) is not SymTensor and _is_same(known, x, how):
                return text
            text = f"{text[:-1]} {len(self._marks)}⟩"
        name = self._recorder.compute(effect.show, x, how, spec)
        self._marks[text] = _Mark(name, x, how, spec)
        self._recorder.tracer.env.asker.shown.add(text)
        return text

    def deferred(self, x: Any) -> Any:
        """A value to be shown, which gives a mark if only the run knows its text.

        Scalars of NumPy are shown at their values.
        """
        if scalar_of(x):
            return value_of(x)
        return Deferred(self, x) if type(x) in SHOWN else x

    def percent(self, text: str, operand: Any) -> Any:
        """The operands of `text % operand` and the text, in which marks stand for symbolic ones."""
        parts = [m for m in _CONVERSION.finditer(text) if m[2] != "%"]
        values = list(operand) if type(operand) is tuple else [operand]
        values = [value_of(x) if scalar_of(x) else x for x in values]
        if len(values) != len(parts) or any(m[1] or "*" in m[0] for m in parts):
            return text, operand
        pieces, end, rest = [], 0, []
        for m, value in zip(parts, values, strict=True):
            is_later = type(value) in SHOWN and type(value) is not SymSize
            pieces += [text[end : m.start()], "%s" if is_later else m[0]]
            rest.append(self.mark(value, "percent", m[0]) if is_later else value)
            end = m.end()
        return "".join(pieces) + text[end:], tuple(rest)

    def whole(self, text: str) -> Any:
        """Text as an argument of an outlet."""
        found = self._found(text)
        if not found:
            need_plain(self._recorder.tracer, text)
            return text
        parts: list[Any] = []
        for i, piece in enumerate(re.split("|".join(map(re.escape, found)), text)):
            parts += [piece] if piece else []
            parts += [] if i == len(found) else [self._marks[found[i]].name]
        return parts[0] if len(parts) == 1 else self._recorder.compute(effect.join, tuple(parts))

    def settled(self, text: str) -> str:
        """Text that the program looks at: with the values of its numbers."""
        for found in dict.fromkeys(self._found(text)):
            _, value, how, spec = self._marks[found]
            if type(value) is SymTensor:
                raise self._recorder.unsupported(
                    "the text of a tensor is looked at in a traced function",
                    why="its data are known only when the program runs",
                    fix="use t.item() and a branch, or print the text",
                )
            text = text.replace(found, effect.show(_value(value), how, spec))
        need_plain(self._recorder.tracer, text)
        return text

    def spell(self, error: BaseException, *, by_name: bool) -> None:
        """Replace the marks in an error that leaves the trace: by names, or by likely values."""
        if self.are_used:
            error.args = tuple([self._spelled(x, by_name) for x in error.args])

    def _spelled(self, x: Any, by_name: bool) -> Any:
        if type(x) in SYMBOLIC:
            known = None if by_name else hint(x)
            return self._recorder.tracer.env.text(operand_of(x)) if known is None else known
        if type(x) is not str:
            return x
        for found in dict.fromkeys(self._found(x)):
            _, value, how, spec = self._marks[found]
            if type(value) is SymTensor:
                continue
            known = None if by_name else hint(value)
            named = self._recorder.tracer.env.text(operand_of(value))
            x = x.replace(found, named if known is None else effect.show(known, how, spec))
        return x

    def _found(self, text: str) -> list[str]:
        """The marks in a text, in order."""
        if not self._marks or "⟨" not in text:
            return []
        longest = sorted(self._marks, key=len, reverse=True)
        return re.findall("|".join(map(re.escape, longest)), text)

    def drop_unused(self, graph: Graph, start: int) -> None:
        """Drop what computes text that no outlet got, of the calls from `start` on."""
        if not self._marks:
            return
        kept, used = [], set()
        for node in reversed(graph.nodes[start:]):
            if node.func in effect.COMPUTED and str(node.outs) not in used:
                continue
            used |= {str(x) for x in leaves((node.args, node.kwargs)) if type(x) is Name}
            kept.append(node)
        graph.nodes[start:] = reversed(kept)


def _is_same(known: _Mark, x: Any, how: str) -> bool:
    return known.how == how and operand_of(known.value) is operand_of(x)


def is_size(x: Any) -> bool:
    """Whether a value is a shape."""
    return type(x) is SymSize or type(x) is torch.Size


class Deferred:
    """A value that is about to become text, whichever way."""

    def __init__(self, texts: Texts, x: Any) -> None:
        self._texts, self._value = texts, x

    def __str__(self) -> str:
        return self._texts.mark(self._value, "str")

    def __repr__(self) -> str:
        return self._texts.mark(self._value, "repr")

    def __format__(self, spec: str) -> str:
        return self._texts.mark(self._value, "format", spec)

    def __index__(self) -> int:
        return int(_value(self._value))

    def __float__(self) -> float:
        return float(_value(self._value))


def _plain(x: Any) -> str:
    """A symbolic number by name."""
    return str(operand_of(x))


def _value(x: Any) -> Any:
    return value_of(x)
