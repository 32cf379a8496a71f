"""`capture` traces a call of a program on symbolic inputs; `Captured` is the traced program."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from functools import cached_property
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from anyshape.env.fact import CHECK, Fact
from anyshape.env.obligation import Obligation
from anyshape.errors import shortened
from anyshape.events import TraceEnd, TraceStart, emit, listeners
from anyshape.expr.boolean import negate
from anyshape.refusal import need_none_swallowed
from anyshape.tensor import current
from anyshape.trace import tree
from anyshape.trace.argument.argument_tree import build_call
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.call_structure import flatten_call
from anyshape.trace.argument.input_contract import InputContract
from anyshape.trace.argument.inputs import Inputs
from anyshape.trace.argument.size_chooser import BACKED, as_chooser
from anyshape.trace.argument.wrapper import drop_unused, given_wrapper, is_held
from anyshape.trace.autograd.autograd_function import need_remembered
from anyshape.trace.error_place import add_place
from anyshape.trace.escape import escapes_named
from anyshape.trace.graph.codegen import Program
from anyshape.trace.graph.literal import need_unwritten
from anyshape.trace.mode.trace_mode import TraceMode
from anyshape.trace.options import REPLAYED
from anyshape.trace.output import need_plain, results_of
from anyshape.trace.record.call.cached_call import need_unchanged
from anyshape.trace.record.hooks import recorder_for
from anyshape.trace.state.process_state import quietly
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import torch

    from anyshape.domain import Interval
    from anyshape.env import Env
    from anyshape.events import Deviation
    from anyshape.expr import Expr
    from anyshape.trace.argument.attribute import Attribute
    from anyshape.trace.argument.size_chooser import Chosen, SizeChooser, Spot
    from anyshape.trace.graph.graph import Graph
    from anyshape.trace.record.recorder import Recorder

    Call: TypeAlias = Callable[["Captured", list[Any]], Sequence[Any]]


class Captured:
    """A traced program. Call it like the function; it checks its inputs first.

    If it is `widened`, its guards allow more sizes than the facts of its trace.
    """

    def __init__(
        self, tracer: Tracer, inputs: Inputs, out_spec: Any, graph: Graph | None = None
    ) -> None:
        self.tracer = tracer
        self.inputs = inputs
        self.out_spec = out_spec
        self.graph = tracer.graph if graph is None else graph  # the calls in order
        self.tracers = [tracer]
        self.raises_on_deviation = False
        self.widened = False

    @cached_property
    def deviations(self) -> list[Deviation]:
        """Where the program may differ from eager execution."""
        return self.tracer.deviations

    @cached_property
    def guards(self) -> list[Obligation]:
        """Conditions on the backed inputs under which the program is valid."""
        return self.tracer.env.guards

    @cached_property
    def ranges(self) -> dict[str, Interval]:
        """The range of each size and integer among the inputs, by the name of its symbol."""
        env = self.tracer.env
        return {bind.name: env.range_of(env.symbols[bind.name].expr) for bind in self.inputs.sizes}

    @property
    def replacements(self) -> dict[str, Expr]:
        """The symbols that are known to equal an expression of older ones, for all sizes."""
        found = self.tracer.env.replacements
        return {n: e for n, e in found.items() if not (self.widened and n in self.ranges)}

    @cached_property
    def runtime_asserts(self) -> list[Obligation]:
        """Conditions that the program checks when it runs."""
        env = self.tracer.env
        if not self.raises_on_deviation:
            return env.runtime_asserts
        return env.runtime_asserts + [as_assert(d, env) for d in self.deviations]

    @cached_property
    def program(self) -> Program:
        """The generated code."""
        slots = {leaf.value: i for i, leaf in enumerate(self.inputs.leaves) if leaf.value}
        program = Program(self.graph, self.inputs.named, slots)
        program.write(self.runtime_asserts)
        return program

    @property
    def code(self) -> str:
        """The text of the generated code."""
        return self.program.text

    def __repr__(self) -> str:
        calls = sum(len(part.graph.nodes) for part in self.parts)
        names = ", ".join(leaf.name for leaf in self.inputs.leaves)
        return shortened(f"<traced program of ({names}): {calls} calls>")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Check the inputs and run the generated code."""
        flat = flatten_call(self.inputs.spec, args, kwargs, "the program")
        self.contract.need(flat)
        return tree.unflatten(self.program.function()(flat), self.out_spec)

    def run(self, flat: list[Any], call: Call | None = None) -> tuple[Sequence[Any], Any]:
        """The outputs for flat inputs that were checked, and the structure that they are in.

        Each of the `parts` that runs is run by `call` if that is given.
        """
        out = self.program.function()(flat) if call is None else call(self, flat)
        return out, self.out_spec

    @property
    def parts(self) -> list[Captured]:
        """The traced programs that it consists of."""
        return [self]

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Captured:
        """The same program over other constants, which are given by the ids of those here."""
        made, asked = copy.copy(self), self.tracer
        made.tracer = copy.copy(self.tracer)
        made.tracer.graph = self.tracer.graph.rebound(tensors)
        made.tracer.observations = self.tracer.observations.rebound(tensors)
        made.graph = self.graph.rebound(tensors)
        if "program" in vars(self):
            made.program = self.program.rebound(tensors)
        if asked.observations.has_tensors or asked.asked_layout or asked.asked_grad:
            vars(made).pop("contract", None)
        return made

    def outline(self) -> list[str]:
        """How its parts follow each other, as text; of one part there is nothing to say."""
        return []

    @cached_property
    def contract(self) -> InputContract:
        """What the inputs must be."""
        return InputContract(self.inputs, self.guards, self.tracer)


def as_assert(d: Deviation, env: Env) -> Obligation:
    """The runtime assert that eager execution does not differ there."""
    message = f"{d.op} {d.about}, and eager execution does not"
    return Obligation(Fact(negate(d.condition), CHECK, d.site, message), env.knowledge)


def keys_of(spec: Any) -> list[str]:
    """The text among the keys of a structure."""
    own = [k for k in spec.context if isinstance(k, str)] if type(spec.context) is list else []
    return own + [key for child in spec.children() for key in keys_of(child)]


def capture(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic: str | SizeChooser | Callable[[Spot], Chosen] = BACKED,
    tracer: Tracer | None = None,
    attributes: Sequence[Attribute] = (),
) -> Captured:
    """Trace `fn` on these inputs.

    `dynamic` is "static", "backed" or "unbacked" for all sizes of all tensors, a function from a
    `Spot` to one of these or to a pair of one and a dict of `min`, `max`, or a `SizeChooser`. The
    `attributes` of modules are inputs too, after those of the call.
    """
    is_own, tracer = tracer is None, tracer or Tracer()
    owned = tracer.options.effects == REPLAYED
    arguments = Arguments.of(fn, args, kwargs or {}, attributes, owned=owned)
    captured = capture_call(fn, arguments, as_chooser(dynamic), tracer)
    if is_own:  # nobody has it to let another trace follow
        tracer.recorder.rest()
    return captured


def capture_call(
    fn: Callable[..., Any],
    arguments: Arguments,
    choose: SizeChooser,
    tracer: Tracer,
    raised: Callable[[Exception], Any] | None = None,
) -> Captured:
    """Trace a call of `fn` whose arguments are flat already, and tell those who listen."""
    with announced(fn, tracer):
        return trace_call(fn, arguments, choose, tracer, raised)


@contextmanager
def announced(fn: Any, tracer: Tracer) -> Iterator[None]:
    """Tell of the start and the end of a trace."""
    if not listeners:
        yield
        return
    name = str(getattr(fn, "__qualname__", None) or type(fn).__name__)
    emit(TraceStart(name, tracer))
    error, start = None, perf_counter_ns()
    try:
        yield
    except BaseException as e:
        error = e
        raise
    finally:
        emit(TraceEnd(name, tracer, error, start, perf_counter_ns() - start))


def trace_call(
    fn: Callable[..., Any],
    arguments: Arguments,
    choose: SizeChooser,
    tracer: Tracer,
    raised: Callable[[Exception], Any] | None = None,
) -> Captured:
    """Trace a call of `fn`. `raised` gives the result of a call that raises, or raises itself."""
    attributes, examples = arguments.attributes, arguments.flat
    inputs = Inputs(arguments.names, examples, arguments.spec)
    tracer.inputs = inputs
    stand_ins = inputs.symbolize(tracer, choose)
    count = len(stand_ins) - len(attributes)
    tracer.mode = mode = TraceMode(tracer)
    recorder = tracer.recorder = recorder_for(tracer)
    for a, stand_in in zip(attributes, stand_ins[count:], strict=True):
        recorder.replace(a.owner, a.key, stand_in)
    for leaf in examples:
        recorder.outside(leaf)
    before = current.enter(tracer)
    try:
        with quietly(), escapes_named(), mode:
            for i, example in enumerate(examples):
                if is_held(example):
                    stand_ins[i] = given_wrapper(tracer, stand_ins[i], example)
            args, kwargs = _given(recorder, inputs, arguments, stand_ins[:count])
            for a in arguments.held:
                recorder.replace(a.owner, a.key, kwargs.pop(a.name))
            try:
                result = recorder.hooks.ready(recorder.outside(fn))(*args, **kwargs)
            except Exception as e:
                add_place(e, tracer.env.symbols.values())
                if raised is None:
                    raise
                result = raised(e)
            recorder.need_closed_generators()
            need_none_swallowed(tracer)
            need_unwritten(tracer)
            recorder.need_no_effects()
            recorder.settle_changes()
            tracer.graph.outputs, out_spec = results_of(tracer, result)
            recorder.need_apart()
            need_unchanged(recorder)
            recorder.texts.drop_unused(tracer.graph, tracer._start)
            drop_unused(tracer.graph, tracer._start)
            tracer.handles_errors = recorder.catches
            tracer.settle()
            tracer.settle_modes()
        for key in keys_of(out_spec):
            need_plain(tracer, key)
    finally:
        current.leave(before)
        tracer.refusals = []  # their tracebacks hold the program's values
        recorder.close()
        tracer.close()
    need_remembered(tracer)
    tracer.graph.verify()
    return Captured(tracer, inputs, out_spec)


def _given(
    recorder: Recorder, inputs: Inputs, arguments: Arguments, stand_ins: list[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with stand-ins in place of their leaves.

    Where a program may change the containers among them, these are inputs too.
    """
    if not recorder.replays:
        args, kwargs = tree.unflatten_arguments(stand_ins, inputs.spec)
        for name, x in (*zip(arguments.heads, args, strict=True), *kwargs.items()):
            recorder.keep_argument(name, x)
        return args, kwargs
    args, kwargs, copies = build_call(stand_ins, inputs.spec)
    names = inputs.own(len(copies))
    for given in zip(copies, arguments.owners, names, strict=True):
        recorder.give(*given)
    return args, kwargs
