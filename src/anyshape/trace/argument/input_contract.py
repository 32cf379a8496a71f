"""The input contract of a traced program: which inputs it accepts, as a list of conditions.

Always part of it: types, dtypes, ranks, devices, static sizes, numbers and other plain values,
which inputs are one tensor, the default dtype. Part of it where the program asked while tracing:
layouts and `requires_grad`. Guards over the symbols come last. A `strict` contract also fixes the
classes of tensors, `requires_grad`, which tensors are distinct, and the modes of torch.

`CheckWriter` renders the conditions as one generated function; a condition that does not hold
explains itself.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from anyshape.errors import ArgumentError, ConstraintError
from anyshape.expr.text.python import function
from anyshape.expr.traverse import names_of
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.argument.condition import (
    AUTOCAST,
    AUTOCAST_CACHE,
    DEFAULT_DEVICE,
    DEFAULT_DTYPE,
    FUNCTION_MODES,
    GRAD_MODE,
    INFERENCE_MODE,
    Condition,
    DistinctTensors,
    Holds,
    Mode,
    Related,
    RequiresGrad,
    SameLayout,
    SameTensor,
    SameType,
    SameValue,
    Scope,
    Setting,
    StaticSize,
    TensorKind,
)
from anyshape.trace.argument.inputs import OWNED
from anyshape.trace.argument.wrapper_form import HasForm
from anyshape.trace.graph.codegen import guard_function
from anyshape.trace.record.read.read import is_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.env import Obligation
    from anyshape.errors import AnyshapeError
    from anyshape.trace.argument.inputs import Bind, Inputs, Leaf
    from anyshape.trace.tracer import Tracer


class InputContract:
    """What the inputs of one program must be.

    `conditions` need no symbol; `relations` and `guards` are over the symbols that the inputs bind.
    """

    def __init__(
        self,
        inputs: Inputs,
        guards: Sequence[Obligation],
        tracer: Tracer,
        *,
        strict: bool = False,
        layouts: bool = False,
    ) -> None:
        self.inputs = inputs
        self.tracer = tracer
        self.strict = strict
        self.layouts = layouts or tracer.asked_layout
        self.gradients = strict or tracer.asked_grad
        self.names = [bind.name for bind in inputs.binds]
        self.conditions: list[Condition] = list(self._leaves())
        self.relations: list[Condition] = [
            Related(i, inputs.leaves[i], dim, size, self._evaluator(size))
            for i, dim, size in inputs.relations
        ]
        self.guards = [Holds(o, self.describe) for o in guards]
        self.modes = [Mode(*mode) for mode in self._modes()]
        self.settings = [Setting(*read) for read in tracer.read_places.items()]
        self._check: Callable[[Sequence[Any]], int] | None = None
        self._numbered: list[Condition] = []
        self._guards = guard_function(guards, self.names)

    # ------------------------------------------------------------------ conditions

    def _leaves(self) -> Iterator[Condition]:
        inputs = self.inputs
        places = [(b.leaf, b.dim) for b in inputs.binds] + [r[:2] for r in inputs.relations]
        symbolic = {leaf for leaf, dim in places if dim is None}
        for i, leaf in enumerate(inputs.leaves):
            if leaf.twin is not None:
                yield SameTensor(i, leaf, inputs.leaves[leaf.twin])
            elif leaf.value is not None:
                yield from self._tensor(i, leaf)
            elif leaf.example is not OWNED:
                is_same = self.strict and _can_change(leaf.example)
                yield SameType(i, leaf) if i in symbolic else SameValue(i, leaf, is_same)
        tensors = [(i, leaf.name) for i, leaf in enumerate(inputs.leaves) if leaf.value is not None]
        if (self.strict or self.tracer.asked_identity) and len(tensors) > 1:
            yield DistinctTensors(*zip(*tensors, strict=True))
        yield from self.tracer.observations.conditions(self.tracer, inputs.leaves)

    def _tensor(self, i: int, leaf: Leaf) -> Iterator[Condition]:
        yield TensorKind(i, leaf, exact=self.strict or self.tracer.asked_class)
        if self.strict and i in self.inputs.forms:
            yield HasForm(i, leaf.name, self.inputs.forms[i])
        for dim, n in enumerate(leaf.shape):
            if type(n) is int:
                yield StaticSize(i, leaf, dim, n)
        if self.gradients:
            yield RequiresGrad(i, leaf)
        if self.layouts:
            yield SameLayout(i, leaf)

    def _modes(self) -> Iterator[tuple[str, Callable[[], Any], Any]]:
        grad, inference, autocast, dtype, depth = self.tracer.started_in
        if self.strict:
            yield *GRAD_MODE, grad
            yield *INFERENCE_MODE, inference
            yield *AUTOCAST, autocast
            yield *FUNCTION_MODES, depth
            if depth:  # one of the modes stands for the default device
                yield *DEFAULT_DEVICE, self.tracer.device
        elif self.tracer.asked_device:
            yield *DEFAULT_DEVICE, self.tracer.device
        if self.tracer.uses_autocast or autocast:
            yield *AUTOCAST_CACHE, self.tracer.outer_cache
        yield *DEFAULT_DTYPE, dtype

    def _evaluator(self, size: Any) -> Callable[[Sequence[Any]], Any]:
        evaluate = function([size.expr], self.names)
        return lambda flat: evaluate(*self.values(flat))[0]

    # ------------------------------------------------------------------ a call

    def values(self, flat: Sequence[Any]) -> list[Any]:
        """The values of the symbols that the inputs bind, in order."""
        return [bind.read(flat) for bind in self.inputs.binds]

    def describe(self, flat: Sequence[Any], guards: Sequence[Obligation]) -> str:
        """The values of the symbols in some guards, by the user's names."""
        sources = self.tracer.env.sources
        asked = {name for o in guards for name in names_of(o.condition)}
        pairs = zip(self.names, self.values(flat), strict=True)
        shown = [f"{sources.get(name, name)} = {value}" for name, value in pairs if name in asked]
        return ", ".join(shown)

    def violated(self, flat: Sequence[Any]) -> Condition | None:
        """The first condition, guards aside, that the inputs violate."""
        if self._check is None:
            self._check, self._numbered = self._written()
        try:
            number = self._check(flat)
        except RuntimeError as e:  # a nested tensor has no sizes
            raise ArgumentError(f"the inputs have no sizes: {e}") from e
        return None if number < 0 else self._numbered[number]

    def failed_guard(self, flat: Sequence[Any]) -> Obligation | None:
        """The first guard that does not hold; for inputs that violate no other condition."""
        number = self._guards(*self.values(flat))
        return None if number < 0 else self.guards[number].guard

    def need_inputs(self, flat: Sequence[Any]) -> None:
        """Raise if the inputs violate a condition, guards aside."""
        condition = self.violated(flat)
        if condition is not None:
            with DisableTorchFunction():  # as in `_written`
                error = _error(condition, flat)
            raise error

    def need(self, flat: Sequence[Any]) -> None:
        """Raise unless the program accepts the inputs."""
        self.need_inputs(flat)
        guard = self.failed_guard(flat)
        if guard is not None:
            raise ConstraintError(
                f"a guard fails: {guard.text}", why=guard.describe(), code="AS202"
            )

    def _written(self) -> tuple[Callable[[Sequence[Any]], int], list[Condition]]:
        with DisableTorchFunction():  # the examples are no values of a trace that calls this one
            return flat_check(
                self.inputs, [*self.modes, *self.settings, *self.conditions], self.relations
            )


def _can_change(x: Any) -> bool:
    """Whether a value is known by its identity, because what it holds may change."""
    return isinstance(x, list | dict | set | deque) or is_array(x)


def flat_check(
    inputs: Inputs, conditions: Sequence[Condition], over_symbols: Sequence[Condition]
) -> tuple[Callable[[Sequence[Any]], int], list[Condition]]:
    """A function of the flat inputs, and the conditions by number.

    It returns the number of the first condition that does not hold, or -1. Those in `over_symbols`
    are tested last and may name the symbols that the inputs bind.
    """
    writer = CheckWriter()
    writer.scope.inputs = [f"x{i}" for i in range(len(inputs.leaves))]
    if writer.scope.inputs:
        writer.lines.append(f"{', '.join(writer.scope.inputs)}, = flat")
    writer.need_all(conditions)
    if over_symbols:
        writer.bind(inputs)
        writer.need_all(over_symbols)
    writer.lines.append("return -1")
    made: Callable[[Sequence[Any]], int] = writer.function("check(flat)", writer.lines)
    return made, writer.conditions


def _error(condition: Condition, flat: Sequence[Any]) -> AnyshapeError:
    violation = condition.violation(flat)
    fix = ""
    if type(condition) is TensorKind:
        fix = condition.fix(flat[condition.place])
    elif type(condition) is StaticSize:
        dim = condition.dim
        fix = f'to let it vary, give dimension {dim} a name in dynamic_shapes, as {{{dim}: "n"}}'
    elif violation.wrong_type and violation.expected in ("int", "float", "bool"):
        fix = f"give {violation.expected}({violation.place}), or export with such an example"
    elif type(condition) is Setting:
        fix = "make it what it was, or export again where it is as it is now"
    elif type(condition) is SameValue:
        fix = f"export a program for each value of {condition.leaf.name}"
        if type(condition.leaf.example) is int:
            fix += ", or make it Dim.DYNAMIC in dynamic_shapes"
    if violation.wrong_type:
        return ArgumentError(str(violation), fix=fix, code="AS302")
    return ConstraintError(str(violation), fix=fix, code="AS202")


class CheckWriter:
    """Writes a function that returns the number of the first condition that does not hold."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.lines: list[str] = []
        self.conditions: list[Condition] = []  # by number

    def need(self, condition: Condition, test: str | None = None) -> None:
        """Test a condition; `test` is its source where the caller wrote it."""
        test = condition.source(self.scope) if test is None else test
        self.lines.append(f"if not ({test}): return {len(self.conditions)}")
        self.conditions.append(condition)

    def need_all(self, conditions: Sequence[Condition]) -> None:
        """Test conditions in order."""
        for condition in conditions:
            self.need(condition)

    def bind(self, inputs: Inputs) -> None:
        """Give the symbols their values; a shape whose sizes are all symbols is unpacked."""
        by_leaf: dict[int, list[Bind]] = {}
        for bind in inputs.binds:
            by_leaf.setdefault(bind.leaf, []).append(bind)
        for i, found in by_leaf.items():
            if not self.scope.has_shape(i) and any(b.dim is not None for b in found):
                self.lines.append(f"{self.scope.shape(i)} = {self.scope.inputs[i]}.shape")
            plain = all(b.factor == 1 and not b.constant for b in found)
            if plain and found[0].dim == 0 and len(found) == len(inputs.leaves[i].shape):
                names = ", ".join(b.name for b in found)
                self.lines.append(f"{names}, = {self.scope.shape(i)}")
            else:
                self.lines += [f"{b.name} = {b.text(self.scope.place(i, b.dim))}" for b in found]

    def function(self, signature: str, body: Sequence[str]) -> Callable[..., Any]:
        """The function with this signature and body."""
        self.text = "\n    ".join([f"def {signature}:", *body]) + "\n"
        exec(self.text, self.scope.objects)  # our own text
        made: Callable[..., Any] = self.scope.objects[signature.partition("(")[0]]
        return made
