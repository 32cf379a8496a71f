"""The trace of a draft: what only a run can tell is as at the example.

The calls so far are run on copies of the example. The answer to a question is a runtime assert of
the program and a problem of the draft, so that it goes on along the path that the example takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.random import fork_rng

from anyshape.env import Env
from anyshape.env.fact import CHECK
from anyshape.env.site import capture
from anyshape.errors import DataDependentError, MissingRuleError
from anyshape.export.branches.trace_variant import VariantTrace
from anyshape.export.draft import Problem
from anyshape.expr import eq0, negate
from anyshape.expr.constructor.comparison import equals
from anyshape.refusal import forgive
from anyshape.rules.dispatch.op_name import REFUSED
from anyshape.rules.dispatch.result import Many
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor import current
from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.aten_op import schema_of
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace import tree
from anyshape.trace.graph.codegen import Program
from anyshape.trace.graph.graph import Graph
from anyshape.trace.graph.literal import ARRAYS
from anyshape.trace.mode.execution_modes import keep_modes
from anyshape.trace.record.effect.effect import EFFECTS
from anyshape.trace.trace_asker import TraceAsker
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.expr import Bool, Expr
    from anyshape.expr.real import Real
    from anyshape.trace.argument.size_chooser import SizeChooser
    from anyshape.trace.capture import Captured
    from anyshape.trace.options import TraceOptions


def by_example(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    chooser: Callable[[], SizeChooser],
    options: TraceOptions,
) -> tuple[Captured, list[Problem]]:
    """The program that the example runs, and what it took from the example."""
    tracer = ExampleTracer(ExampleEnv(), options)
    trace = VariantTrace(fn, args, kwargs, chooser, branches=False, options=options)
    trace.tracer = tracer
    return trace.run(), tracer.problems


class ExampleEnv(Env):
    """An environment whose open questions have the answers of the example."""

    tracer: ExampleTracer  # is given once it is made

    def __init__(self) -> None:
        super().__init__(TraceAsker())
        self.problems: list[Problem] = []

    def guard(self, p: Bool) -> bool:
        """The truth of `p`: proved, guarded, or that of the example, which is asserted."""
        return bool(self._or_example(super().guard, p, SymBool(p, self)))

    def value(self, e: Expr) -> int:
        """The value of `e`: proved, guarded, or that of the example, which is asserted."""
        return int(self._or_example(super().value, e, SymInt(e, self)))

    def real_value(self, r: Real) -> float:
        """The value of `r`: guarded, or that of the example, which is asserted."""
        return float(self._or_example(super().real_value, r, SymFloat(r, self)))

    def _or_example(self, ask: Callable[[Any], Any], operand: Any, number: Any) -> Any:
        try:
            return ask(operand)
        except DataDependentError as error:
            if self.tracer.bodies or self.tracer.whole:
                raise
            forgive(error)
            answer, question = self.tracer.at_example([number])[0], self.text(operand)
            site = capture()
            place = f" at {site}" if site else ""
            self.problems.append(
                Problem(
                    f"the program depends on the value of {question}{place}",
                    f"it is {answer} for the example, and the program refuses all others",
                    error.fix,
                )
            )
        if type(number) is SymBool:
            fact = operand if answer else negate(operand)
        else:
            fact = (
                eq0(operand.shift(-answer)) if type(number) is SymInt else equals(operand, answer)
            )
        self.assume(fact, f"{question} is {answer} for the example of the draft", CHECK)
        return answer


class ExampleTracer(Tracer):
    """A tracer for drafts: what an op without a shape rule gives is found out at the example."""

    def __init__(self, env: ExampleEnv, options: TraceOptions) -> None:
        super().__init__(env, options)
        self.problems = env.problems
        env.tracer = self

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call; if no rule tells what it returns, as many tensors as at the example."""
        try:
            return super().call(func, args, kwargs)
        except MissingRuleError as error:
            if self.bodies or self.whole:
                raise
            schema = schema_of(func)
            if schema is None or schema.is_mutable:
                raise  # what it writes to, no later call may take from before
            flat, spec = tree.flatten((args, kwargs))
            frozen = [self._freeze(x) for x in flat]
            real, named = tree.unflatten_arguments(self.at_example(frozen), spec)
            with DisableTorchFunction(), torch.no_grad():
                out = func(*real, **named)
            parts = list(out) if isinstance(out, tuple | list) else [out]
            if not all(isinstance(x, torch.Tensor) for x in parts):
                raise
            forgive(error)
            self.problems.append(
                Problem(
                    error.what,
                    f"its results are like those for the example: {error.why}",
                    error.fix,
                )
            )
        metas = [self._unknown(x) for x in parts]
        is_one = isinstance(out, torch.Tensor)
        return self.record(func, args, kwargs, metas[0] if is_one else Many(metas, type(out)))

    def with_data(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The array of a tensor at the example; that the data are the same is asserted."""
        found = super().with_data(func, args, kwargs)
        if found is not NotImplemented:
            return found
        if func not in ARRAYS or self.bodies or self.whole or type(args[0]) is not SymTensor:
            return NotImplemented
        t, *rest = args
        with DisableTorchFunction():
            real = self.at_example([self._freeze(t)])[0].detach()
            known = self.recorder.outside(real.clone())
        what, fix = REFUSED[func]
        site = capture()
        place = f" at {site}" if site else ""
        why = "the program has an array of its own of the example's data, and refuses all others"
        self.problems.append(Problem(what + place, why, fix))
        before = current.enter(self)
        try:
            same = self.call(torch.equal, (t, known), {})
        finally:
            current.leave(before)
        if type(same) is SymBool:
            text = f"the data are those of the example of the draft{place}"
            self.env.assume(same.condition, text, CHECK)
        with DisableTorchFunction():
            return self.recorder.born(func(real, *rest, **kwargs))

    def _unknown(self, x: torch.Tensor) -> Meta:
        """A tensor of the same kind whose sizes only the run knows."""
        shape = tuple([self.fresh_size() for _ in range(x.dim())])
        return Meta(shape, x.dtype, unsure(CONTIGUOUS), x.device)

    def at_example(self, outputs: list[Any]) -> list[Any]:
        """What the calls so far give for values, at copies of the example and of constants."""
        traced, graph = self.graph, Graph()
        graph.nodes = [n for n in traced.nodes if n.func not in EFFECTS or n.outs is not None]
        graph.inputs, graph.outputs = traced.inputs, outputs
        slots = {leaf.value: i for i, leaf in enumerate(self.inputs.leaves) if leaf.value}
        before = current.enter(None)
        try:
            with DisableTorchFunction(), keep_modes(), torch.no_grad(), fork_rng(devices=[]):
                graph.constants = [(v, t.detach().clone()) for v, t in traced.constants]
                program = Program(graph, self.inputs.named, slots)
                program.write([])
                flat = [
                    x.detach().clone() if isinstance(x, torch.Tensor) else x
                    for x in self.inputs.examples
                ]
                return list(program.function()(flat))
        finally:
            current.leave(before)
