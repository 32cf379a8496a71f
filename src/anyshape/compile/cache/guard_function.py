"""The guard function of an entry: its input contract and its reads as one generated function.

`run(args, kwargs)` returns the flat list of inputs, or the number of the first condition that does
not hold; `explain` says how a call violates that condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.compile.cache.object_identity import Apart, DistinctObjects, SameObject
from anyshape.env.fact import BY_RULE, CHECK, Fact
from anyshape.env.obligation import Obligation
from anyshape.errors import RuntimeAssertError
from anyshape.expr.boolean import negate
from anyshape.expr.traverse import names_of, symbols_of
from anyshape.torch_compat.dynamo import tensor_guards
from anyshape.trace.argument.argument_tree import Again, flatten_call, is_mutable, parts_of
from anyshape.trace.argument.attribute import entry, has_own_items, values_of
from anyshape.trace.argument.call_structure import Structure
from anyshape.trace.argument.condition import (
    FUNCTION_MODES,
    LITERAL,
    Condition,
    Holds,
    RequiresGrad,
    StaticSize,
    TensorKind,
    Violation,
)
from anyshape.trace.argument.input_contract import CheckWriter, InputContract
from anyshape.trace.graph.codegen import fail, guard_function
from anyshape.trace.record.read.exact_equality import same
from anyshape.trace.record.read.read import FAILED, MISSING
from anyshape.trace.tree import Members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.argument.attribute import Attribute, Places
    from anyshape.trace.argument.condition import Scope
    from anyshape.trace.argument.inputs import Inputs, Leaf
    from anyshape.trace.capture import Captured
    from anyshape.trace.record.owner import Identity
    from anyshape.trace.record.read.watch import Watch

_OF_TENSORS: Final = (TensorKind, StaticSize, RequiresGrad)
_MISSING = "something that the function reads is missing"


class Outside(NamedTuple):
    """Everything outside the arguments is what the trace read."""

    watch: Watch

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"{scope.name(self.watch)}()"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        read = self.watch.failing()
        if read is None:
            return Violation(_MISSING, sentence=_MISSING)
        place, now = self.watch.label(read), read.now()
        if now is MISSING:
            return Violation(place, described(read.value), "missing")
        if read.value is MISSING:
            return Violation(place, "missing", described(now))
        if type(now) is tuple or described(now) == described(read.value):
            return Violation(place, sentence=f"{place} changed")
        return Violation(place, described(read.value), described(now))


class Present(NamedTuple):
    """Everything that the function reads is there."""

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return "True"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(_MISSING, sentence=_MISSING)


class TensorTest(NamedTuple):
    """One call in C++ for what tensors among the inputs must be: `test` of the leaves `places`.

    If it succeeds, the `TensorKind`, `StaticSize` and `RequiresGrad` conditions on these leaves
    hold. It also looks at the state of the thread, so they may hold where it fails.
    """

    places: list[int]
    test: Callable[..., bool]


def tensor_test(inputs: Inputs) -> TensorTest | None:
    """The test for the tensors of the call that was traced, which it does not keep alive."""
    fit = [i for i, leaf in enumerate(inputs.leaves) if leaf.value is not None and _is_fit(leaf)]
    if not fit:
        return None
    leaves = [inputs.leaves[i] for i in fit]
    sizes = [[n if type(n) is int else None for n in leaf.shape] for leaf in leaves]
    free = [[None] * len(leaf.shape) for leaf in leaves]
    return TensorTest(fit, tensor_guards([leaf.example for leaf in leaves], sizes, free).check)


def _is_fit(leaf: Leaf) -> bool:
    t = leaf.example
    plain = type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout is torch.strided
    return plain and t.dim() == len(leaf.shape)


class GuardFunction:
    """The guard function of one entry: its text, its conditions, and `run`.

    The inputs must have been released: nothing here holds on to the tensors of a call.
    """

    def __init__(
        self,
        captured: Captured,
        places: Places,
        watch: Watch,
        identity: Identity,
        tensors: TensorTest | None,
        *,
        layouts: bool,
        exact: Sequence[Obligation],
    ) -> None:
        self._attributes, self._held = attributes, held = places
        self._spec = captured.inputs.spec
        self._temporaries = 0
        self._writer = writer = CheckWriter()
        writer.scope.objects["parts_of"] = parts_of
        inputs = captured.inputs
        contract = InputContract(
            inputs, captured.guards, captured.tracer, strict=True, layouts=layouts
        )
        self.layouts = contract.layouts
        self._containers: list[tuple[str, Any]] = []  # by number, with their kinds
        if held:
            named = [f"{a.name!r}: {self._value(a)}" for a in held]
            writer.lines.append(f"kwargs = {{**kwargs, {', '.join(named)}}}")
        self._take_apart(inputs.spec)
        for a in attributes:
            name = f"x{len(writer.scope.inputs)}"
            writer.lines.append(f"{name} = {self._value(a)}")
            writer.scope.inputs.append(name)
        writer.scope.inputs += [name for name, _ in self._containers]
        assert len(writer.scope.inputs) == len(inputs.leaves)
        self._tell_apart(identity, watch)
        first = [c for c in contract.modes if c[:2] == FUNCTION_MODES]
        writer.need_all(first)  # before anything that such a mode would see
        conditions = contract.conditions
        if tensors is not None:
            conditions = self._test_tensors(tensors, conditions)
        writer.need_all(conditions)
        writer.bind(inputs)
        writer.need_all(contract.relations)
        writer.need_all(contract.guards)
        for o in (*expected(captured), *exact):
            writer.need(Holds(o, contract.describe, exact=True))
        writer.need_all([c for c in contract.modes if c not in first])
        self._watch(watch)
        self.run: Callable[[Any, Any], list[Any] | int] = self._function()
        self.text = writer.text
        self.conditions = writer.conditions

    def _value(self, a: Attribute) -> str:
        """The source of what is at a place."""
        scope = self._writer.scope
        key = repr(a.key) if type(a.key) in LITERAL else scope.name(a.key)
        owner = scope.name(a.owner)
        if has_own_items(a.owner):
            return f"{scope.fixed('entry', entry)}({owner}, {key})"
        return f"{owner}[{key}]"

    def _test_tensors(
        self, tensors: TensorTest, conditions: Sequence[Condition]
    ) -> list[Condition]:
        """Write the conditions that the test of the tensors covers; the others are returned."""
        writer = self._writer
        before, writer.lines = writer.lines, []
        others = []
        for c in conditions:
            if type(c) in _OF_TENSORS and c.place in tensors.places:  # type: ignore[attr-defined]
                writer.need(c)
            else:
                others.append(c)
        names = [writer.scope.inputs[i] for i in tensors.places]
        call = f"{writer.scope.fixed('tensors', tensors.test)}({', '.join(names)})"
        # torch's test ends the process at a nested tensor
        call = " and ".join([*[f"getattr({x}, 'is_nested', 1) is False" for x in names], call])
        shapes = [
            f"{writer.scope.shape(i)} = {writer.scope.inputs[i]}.shape" for i in tensors.places
        ]
        writer.lines = [
            *before,
            f"if {call}:",
            *[f"    {line}" for line in shapes],
            "else:",
            *[f"    {line}" for line in writer.lines],
        ]
        return others

    def _watch(self, watch: Watch) -> None:
        """Write out a call of the watch, whose tests may grow in number."""
        writer = self._writer
        scope, number = writer.scope, len(writer.conditions)
        writer.conditions.append(Outside(watch))
        writer.lines += [
            "try:",
            f"    for test in {scope.fixed('watch', watch)}.tests:",
            f"        if not test(): return {number}",
            f"except {scope.fixed('FAILED', FAILED)}:",
            f"    return {number}",
        ]

    def explain(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Violation:
        """How a call violates the condition with this number."""
        condition = self.conditions[number]
        kwargs = {**kwargs, **values_of(self._held)}
        pairs, spec, containers, _ = flatten_call(args, kwargs)
        if type(condition) is Structure or spec != self._spec:  # a container in place of a leaf
            return Structure(self._spec).violation((args, kwargs))
        leaves = [leaf for _, leaf in pairs] + [a.value for a in self._attributes]
        return condition.violation([*leaves, *containers])

    def _function(self) -> Callable[[Any, Any], list[Any] | int]:
        writer = self._writer
        missing = len(writer.conditions)
        writer.conditions.append(Present())
        return writer.function(
            "check(args, kwargs)",
            [
                "try:",
                *[f"    {line}" for line in writer.lines],
                f"    return [{', '.join(writer.scope.inputs)}]",
                "except (LookupError, AttributeError, TypeError, ValueError, RuntimeError):",
                f"    return {missing}",
            ],
        )

    # ------------------------------------------------------------------ structure

    def _take_apart(self, spec: Any) -> None:
        """Name the leaves and the containers of the arguments."""
        args, kwargs = spec.children()
        condition = Structure(spec)
        self._sequence("args", args, condition)
        if kwargs.num_children:
            self._mapping("kwargs", kwargs, condition)
        else:
            self._writer.need(condition, "not kwargs")

    def _part(self, x: str, spec: Any, condition: Condition) -> None:
        writer = self._writer
        flat, lines, name = writer.scope.inputs, writer.lines, writer.scope.name
        if spec.is_leaf():
            lines.append(f"x{len(flat)} = {x}")
            flat.append(f"x{len(flat)}")
            return
        if spec.type is Again:
            writer.need(condition, f"{x} is {self._containers[spec.context][0]}")
            return
        self._containers.append((x, spec.type))
        if spec.type in (tuple, list):
            self._sequence(x, spec, condition)
        elif spec.type is dict:
            self._mapping(x, spec, condition)
        elif spec.type is Members and not _has_slots(spec.context[0]):
            cls, names = spec.context
            own = self._temporary()
            writer.need(condition, f"type({x}) is {name(cls)}")
            lines.append(f"{own} = {x}.__dict__")
            writer.need(condition, f"list({own}) == {name(list(names))}")
            self._items(own, spec, names, condition)
        else:
            parts = [self._temporary() for _ in spec.children()]
            found = self._temporary()
            lines.append(f"try: {found} = parts_of({x}, {name(spec)})")
            lines.append(f"except LookupError: return {len(writer.conditions)}")
            writer.conditions.append(condition)
            self._unpack(parts, found, spec, condition)

    def _sequence(self, x: str, spec: Any, condition: Condition) -> None:
        parts = [self._temporary() for _ in spec.children()]
        kind = spec.type.__name__
        self._writer.need(condition, f"type({x}) is {kind} and len({x}) == {len(parts)}")
        self._unpack(parts, x, spec, condition)

    def _unpack(self, parts: list[str], x: str, spec: Any, condition: Condition) -> None:
        if parts:
            self._writer.lines.append(f"{', '.join(parts)}, = {x}")
        for part, child in zip(parts, spec.children(), strict=True):
            self._part(part, child, condition)

    def _mapping(self, x: str, spec: Any, condition: Condition) -> None:
        name = self._writer.scope.name
        keys = list(spec.context)
        test = f"type({x}) is dict and list({x}) == {name(keys)}"
        if not all(type(key) is str for key in keys):  # equal keys may differ
            test += f" and all(map({name(same)}, {x}, {name(keys)}))"
        self._writer.need(condition, test)
        self._items(x, spec, keys, condition)

    def _items(self, x: str, spec: Any, keys: Sequence[Any], condition: Condition) -> None:
        for key, child in zip(keys, spec.children(), strict=True):
            part = self._temporary()
            word = repr(key) if type(key) in LITERAL else self._writer.scope.name(key)
            self._writer.lines.append(f"{part} = {x}[{word}]")
            self._part(part, child, condition)

    def _tell_apart(self, identity: Identity, watch: Watch) -> None:
        """Need containers to be the objects that they were: different ones, unless the structure
        says otherwise, and those from outside that the program compared them with.
        """
        writer = self._writer
        changing = [(name, kind) for name, kind in self._containers if is_mutable(kind)]
        first = len(writer.scope.inputs) - len(self._containers)
        for number, other, is_same in identity.compared:
            writer.need(SameObject(first + number, other, is_same))
        if not changing or not identity.apart:
            return
        for kind in {kind: None for _, kind in changing}:
            names = [name for name, other in changing if other is kind]
            if len(names) > 1:
                writer.need(DistinctObjects(tuple(names)))
        writer.need(Apart(watch, tuple([name for name, _ in changing])))

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"


def _has_slots(cls: type) -> bool:
    return any("__slots__" in vars(base) for base in cls.__mro__[:-1])


def described(value: Any) -> str:
    """A value that a function read, in words."""
    if type(value) in (*LITERAL, float):
        return f"{value!r:.80}"
    name = getattr(value, "__qualname__", None)
    return str(name) if name is not None else f"an object of class {type(value).__name__}"


def expected(captured: Captured) -> list[Obligation]:
    """What ops need of the inputs alone: where it does not hold, the call may still be right."""
    bound = {bind.name for bind in captured.inputs.binds}
    asserts = [o for o in captured.runtime_asserts if o.origin in BY_RULE]
    return [o for o in asserts if bound.issuperset(names_of(o.condition))]


def need_expected(captured: Captured, flat: list[Any], *, exact: bool) -> None:
    """Raise if a call does not have what the ops of its own trace need of the inputs; if `exact`,
    also where its trace would deviate from eager execution.
    """
    needed = expected(captured)
    strict = exact_conditions(captured) if exact else []
    values = {b.name: b.read(flat) for b in captured.inputs.binds}
    failed = guard_function([*needed, *strict], list(values))(*values.values())
    if failed >= len(needed):
        raise RuntimeAssertError(f"{strict[failed - len(needed)].text} is needed", by_rule=True)
    if failed >= 0:
        fail(needed[failed], values)


def exact_conditions(captured: Captured) -> list[Obligation]:
    """The conditions under which the program does not deviate from eager execution.

    Those that the inputs do not decide are asserted when the program runs.
    """
    knowledge = captured.tracer.env.knowledge
    bound = {bind.name for bind in captured.inputs.binds}
    found = []
    for d in captured.deviations:
        if not {s.name for s in symbols_of(d.condition)} <= bound:
            captured.raises_on_deviation = True
            continue
        fact = Fact(negate(d.condition), CHECK, d.site, d.about)
        found.append(Obligation(fact, knowledge))
    return found
