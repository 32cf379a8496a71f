"""Neighbouring compiled parts as one function of autograd.

The forward calls the compiled forwards of the parts in order, the backward their compiled backwards
in reverse. Between the parts there is nothing of autograd's, and none of the wrappers that torch
puts around compiled code; gradients of a tensor that several parts use are added up here.

The two are generated Python. In the forward a value has its name in the graph, and a number that of
its symbol, which has no double underscore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.torch_compat.compiled_halves import (
    Halves,
    check_backward,
    keep,
    kept,
    lay_out,
    plain_tangent,
)
from anyshape.trace.graph.graph import Value, leaves, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.interop.regions.part import Part
    from anyshape.trace.graph.graph import Name

_TWICE: Final = "a compiled function has no second derivative: compute it without the compiler"


class Link(NamedTuple):
    """A part and its compiled halves."""

    part: Part
    halves: Halves


class Chain:
    """The function of some neighbouring parts, of which `needed` is used after them.

    `ins` are its arguments, and `outs` what it returns a tuple of.
    """

    def __init__(self, links: Sequence[Link], needed: set[Value]) -> None:
        self._links = links
        made: set[Any] = set()
        ins: dict[str | Value, None] = {}
        self.outs: list[Value | Name] = []
        for part, _ in links:
            ins.update({name: None for name in part.symbols if name not in made})
            ins.update({v: None for v in part.ins if v not in made})
            made.update(part.outs)
            self.outs += [x for x in part.outs if type(x) is not Value or x in needed]
        self.ins = list(ins)
        self._metas: dict[Any, Any] = {  # of the tangents of differentiable values
            part.outs[place]: meta for part, halves in links for place, meta in halves.tangents
        }
        self._scope: dict[str, Any] = {
            "check_backward": check_backward,
            "keep__": keep,
            "kept": kept,
            "lay_out": lay_out,
            "len__": len,
            "plain_tangent": plain_tangent,
            "plus": _plus,
            "zeros": torch.zeros,
        }

    def function(self) -> Callable[..., Any]:
        """The function of `ins`."""
        exec("\n    ".join(self._forward()), self._scope)  # our own text
        exec("\n    ".join(self._backward()), self._scope)
        backward = _once(self._scope["backward"])
        members = {"forward": staticmethod(self._scope["forward"]), "backward": backward}
        made: Any = type("CompiledParts", (torch.autograd.Function,), members)
        apply: Callable[..., Any] = made.apply
        return apply

    def _forward(self) -> list[str]:
        lines = [f"def forward(ctx__, {_listed(self.ins)}):"]
        later: list[set[Any]] = [set(self.outs)]  # what is used after each part, from the end
        for part, _ in reversed(self._links):
            later.append(later[-1] | set(part.ins))
        given = set(self.ins)
        for i, (part, halves) in enumerate(self._links):
            self._scope[f"forward__{i}"] = halves.forward
            lines.append(f"r__ = forward__{i}([{_listed((*part.symbols, *part.ins))}])")
            lines += [f"{_name(leaf)} = r__[{place}]" for place, leaf in enumerate(part.outs)]
            lines.append(f"tensors__{i} = r__[{_slice(halves.tensors)}]")
            lines.append(f"numbers__{i} = r__[{_slice(halves.numbers)}]")
            differentiable = [_name(part.outs[place]) for place, _ in halves.tangents]
            lines += [f"shape__{v} = {v}.shape" for v in differentiable]
            used = later[-2 - i] | given
            dead = [v for v in (*part.ins, *part.outs) if type(v) is Value and v not in used]
            lines.append(f"del r__, {_listed(list(dict.fromkeys(dead)))}")
        count = range(len(self._links))
        fixed = [v for v in self.outs if type(v) is Value and v not in self._metas]
        return [
            *lines,
            f"keep__(ctx__, [{''.join([f'*tensors__{i}, ' for i in count])}], [{_listed(fixed)}])",
            f"ctx__.counts = [{', '.join([f'len__(tensors__{i})' for i in count])}]",
            f"ctx__.numbers = [{', '.join([f'numbers__{i}' for i in count])}]",
            f"ctx__.shapes = [{', '.join([f'shape__{v!r}' for v in self._metas])}]",
            f"return ({_listed(self.outs)})",
        ]

    def _backward(self) -> list[str]:
        donates = any(halves.donates for _, halves in self._links)
        lines = [
            "def backward(ctx, tangents):",
            f"check_backward({donates})",
            "counts, numbers, shapes = ctx.counts, ctx.numbers, ctx.shapes",
            "saved = kept(ctx)",
            "end = len(saved)",
        ]
        for i, (v, meta) in enumerate(self._metas.items()):
            self._scope[f"layout_{v!r}"] = meta
            self._scope[f"kind_{v!r}"] = {"dtype": v.meta.dtype, "device": v.meta.device}
            given = "None"
            if v in self.outs:
                given = f"plain_tangent(tangents[{self.outs.index(v)}], layout_{v!r})"
            lines.append(f"grad_{v!r}, shape_{v!r} = {given}, shapes[{i}]")
        lines += [f"grad_{v!r} = None" for v in self.ins if type(v) is Value]
        lines.append("del tangents")
        for i, (part, halves) in reversed(list(enumerate(self._links))):
            if halves.backward is not None:
                self._scope[f"backward__{i}"] = halves.backward
                lines += self._step(i, part, [part.outs[place] for place, _ in halves.tangents])
        grads = [f"grad_{v!r}" if type(v) is Value else "None" for v in self.ins]
        return [*lines, f"return {', '.join(grads)},"]

    def _step(self, i: int, part: Part, tangents: list[Any]) -> list[str]:
        """The backward of a part, which is left out if nobody asks for a gradient of its results.

        Of a gradient that follows from results that nobody asks for, zeros are made of None again.
        """
        zeros = "if not has_{0!r}: grad_{0!r} = zeros(shape_{0!r}, **kind_{0!r})"
        given = ", ".join([f"lay_out(grad_{v!r}, layout_{v!r})" for v in tangents])
        first = len(part.symbols)
        lines = [
            *[zeros.format(v) for v in tangents if len(tangents) > 1],
            f"args = [*numbers[{i}], *saved[end:], {given}]",
            f"del saved[end:], {', '.join([f'grad_{v!r}' for v in tangents])}",
            f"r = backward__{i}(args)",
        ]
        sources = _sources(part)
        for k, v in enumerate(part.ins):
            asked = [out for out in tangents if v in sources.get(out.root, ())]
            if asked and (v in self._metas or v in self.ins):
                line = f"grad_{v!r} = plus(grad_{v!r}, r[{first + k}])"
                some = asked if len(asked) < len(tangents) else ()
                lines.append(f"if {_any(some)}: {line}" if some else line)
        return [
            f"end -= counts[{i}]",
            *[f"has_{v!r} = grad_{v!r} is not None" for v in tangents],
            f"if {_any(tangents)}:",
            *[f"    {line}" for line in (*lines, "del r")],
            "else:",
            "    del saved[end:]",
        ]


def _any(tangents: Sequence[Value]) -> str:
    return " or ".join([f"has_{v!r}" for v in tangents])


def _sources(part: Part) -> dict[Value, set[Value]]:
    """The inputs of a part that each memory in it may have been computed from."""
    found: dict[Value, set[Value]] = {}
    for v in part.ins:
        found.setdefault(v.root, set()).add(v)
    for node in part.nodes:
        given = [v.root for v in values_in(node.args, node.kwargs)]
        sources = {v for root in given for v in found.get(root, ())}
        made = [v.root for v in leaves(node.outs) if type(v) is Value]
        for root in (*made, *[root for root in given if root.version > 0]):
            found.setdefault(root, set()).update(sources)
    return found


def _plus(a: Any, b: Any) -> Any:
    """The sum of two gradients, of which any may be missing."""
    if a is None:
        return b
    return a if b is None else a + b


def _once(backward: Callable[[Any, list[Any]], Any]) -> staticmethod[..., Any]:
    """A backward whose results, where the graph of the backward is asked for, have a second
    derivative that raises.
    """

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, _: Any, outer: Any, *tangents: Any) -> Any:
            return backward(outer, list(tangents))

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(_TWICE)

    apply: Any = Twice.apply

    def once(ctx: Any, *tangents: Any) -> Any:
        if torch.is_grad_enabled():
            return apply(torch.empty(0, requires_grad=True), ctx, *tangents)
        return backward(ctx, list(tangents))

    return staticmethod(once)


def _name(leaf: Any) -> str:
    return repr(leaf) if type(leaf) is Value else str(leaf)


def _listed(named: Sequence[Any]) -> str:
    return "".join([f"{_name(leaf)}, " for leaf in named])


def _slice(s: slice) -> str:
    return f"{'' if s.start is None else s.start}:{'' if s.stop is None else s.stop}"
