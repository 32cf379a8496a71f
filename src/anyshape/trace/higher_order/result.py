"""What a higher-order call gives, from what its bodies returned."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NoReturn

from anyshape.errors import UnsupportedError
from anyshape.expr.boolean import disj, ge0
from anyshape.expr.traverse import names_of
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Defined, Many
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import larger, smaller, surely_equal
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.graph.graph import SYMBOLIC, Name, leaves, operand_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.trace.higher_order.body import Traced
    from anyshape.trace.tracer import Tracer

_KINDS: Final = {SymInt: int, SymFloat: float, SymBool: bool}


def record(tracer: Tracer, func: Any, args: tuple[Any, ...], parts: Iterable[Any]) -> list[Any]:
    """Record a call; what it gives, flat."""
    made: list[Any] = tracer.record(func, args, {}, Many(parts, list))
    return made


def names_in(*traced: Traced) -> set[str]:
    """The names of the symbols that only the bodies know: their results and own parameters."""
    found: set[str] = set()
    for body, captures, _, _ in traced:
        own = body.parameters[: len(body.parameters) - len(captures)]
        outs = [leaf for node in body.graph.nodes for leaf in leaves(node.outs)]
        found.update([str(x) for x in (*own, *outs) if type(x) is Name])
    return found


class Joined:
    """Results of bodies as results of the call; `inner` are the symbols that only bodies know."""

    def __init__(self, tracer: Tracer, inner: set[str]) -> None:
        self._tracer = tracer
        self._inner = inner

    def size(self, sizes: list[Any]) -> Any:
        """A size that stands for several: itself where they are equal, else a new one.

        The new one is between the least and the greatest of them, and equal to one of them.
        """
        first = sizes[0]
        are_known = not any(self._is_inner(n) for n in sizes)
        if are_known and all(surely_equal(first, n) for n in sizes[1:]):
            return first
        made = self._tracer.fresh_size()
        if are_known:
            env = self._tracer.env
            is_one_of = [made == n for n in sizes]
            least, most = functools.reduce(smaller, sizes), functools.reduce(larger, sizes)
            for difference in (made - least, most - made):
                env.learn(ge0(env.simplify(difference.expr)))
            env.learn(disj(env.pool, [p.condition for p in is_one_of]))
        return made

    def _is_inner(self, n: Any) -> bool:
        return type(n) in SYMBOLIC and not self._inner.isdisjoint(names_of(operand_of(n)))

    def tensor(self, tensors: list[SymTensor], *, is_layout_known: bool = True) -> Meta:
        """The tensor that stands for several of one rank, dtype and device."""
        metas = [t._meta for t in tensors]
        first = metas[0]
        shape = tuple(
            [self.size(list(sizes)) for sizes in zip(*[m.shape for m in metas], strict=True)]
        )
        layout = first.layout.found()
        dense = all(m.layout.found().dense for m in metas) and is_layout_known
        same = dense and all(m.layout.found().order == layout.order for m in metas)
        return Meta(
            shape,
            first.dtype,
            Layout(order=layout.order) if same else unsure(CONTIGUOUS),
            first.device,
            any(m.requires_grad for m in metas),
        )

    def number(self, numbers: list[Any]) -> Any:
        """The number that stands for several: itself where they are equal, else a new one."""
        first = numbers[0]
        symbolic = any(type(n) in SYMBOLIC for n in numbers)
        if not symbolic and all(type(n) is type(first) and n == first for n in numbers):
            return first
        kinds = {_KINDS.get(type(n), type(n)) for n in numbers}
        if kinds not in ({int}, {float}):
            refuse_results("returns numbers that differ", numbers)
        are_known = not any(self._is_inner(n) for n in numbers)
        env = self._tracer.env
        if kinds == {float}:
            operands = [operand_of(n) if type(n) is SymFloat else n for n in numbers]
            if symbolic and are_known and all(r is operands[0] for r in operands):
                return first
            return Defined(SymFloat(env.real(), env))
        if are_known and all(surely_equal(first, n) for n in numbers):
            return first
        return Defined(SymInt(env.unbacked(), env))

    def part(self, leaves_: list[Any]) -> Any:
        """A result that stands for one result of each body."""
        tensors = [x for x in leaves_ if type(x) is SymTensor]
        if not tensors:
            return self.number(leaves_)
        if len(tensors) != len(leaves_):
            refuse_results("returns a tensor on one side and a number on the other", leaves_)
        metas = [t._meta for t in tensors]
        for what, of in (
            ("dtype", lambda m: m.dtype),
            ("device", lambda m: m.device),
            ("number of dimensions", lambda m: len(m.shape)),
        ):
            if any(of(m) != of(metas[0]) for m in metas):
                refuse_results(f"returns tensors that differ in {what}", [of(m) for m in metas])
        return self.tensor(tensors)


def refuse_results(what: str, found: list[Any]) -> NoReturn:
    """Raise for results that one program cannot give."""
    raise refused(
        UnsupportedError,
        f"a function that a call such as torch.cond gets {what}: {' and '.join(map(str, found))}",
        why="the results of the call must have one type, whichever function runs",
        fix="let all functions return the same: containers, dtypes, devices and dimensions",
        code="AS116",
    )
