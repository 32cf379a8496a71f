"""The door of an entry as one generated function over the arguments of a call.

`check(args, kwargs)` gives the flat list of inputs, or the number of the first condition that does
not hold; `Check.conditions` says what each was about.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.fact import RULE
from anyshape.expr.op import power_of
from anyshape.expr.python import source
from anyshape.expr.traverse import names_of
from anyshape.rules.autocast import autocast_state
from anyshape.tensor.size import text
from anyshape.trace.codegen import Same, defined, fail, guard_function, truth
from anyshape.trace.door import same, same_layout
from anyshape.trace.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.env.obligation import Obligation
    from anyshape.trace.attribute import Attribute
    from anyshape.trace.capture import Captured
    from anyshape.trace.inputs import Bind, Leaf
    from anyshape.trace.state.outside import Outside

_PLAIN: Final = (int, bool, str, type(None), bytes)


class Condition(NamedTuple):
    """What a line of the check is about: one of an input, a guard, or something outside."""

    about: str
    leaf: Leaf | None = None
    place: int = -1
    dim: int | None = None
    guard: Obligation | None = None
    exact: bool = False  # where it fails, only a trace at exactly these sizes tells what is right


class GuardFunction:
    """The check of one entry: its text, its conditions, and `run`.

    The inputs must have been released: nothing here holds on to the tensors of a call.
    """

    def __init__(
        self,
        captured: Captured,
        attributes: Sequence[Attribute],
        outside: Outside,
        *,
        layouts: bool,
        exact: Sequence[Obligation],
    ) -> None:
        self.conditions: list[Condition] = []
        self.scope: dict[str, Any] = {
            "torch": torch,
            "math": math,
            "power_of": power_of,
            "defined": defined,
            "same": same,
            "same_layout": same_layout,
            "flatten": flatten,
            "grad_enabled": torch.is_grad_enabled,
            "inference": torch.is_inference_mode_enabled,
            "autocast": torch._C._is_any_autocast_enabled,
            "autocast_state": autocast_state,
            "default_dtype": torch.get_default_dtype,
            "Tensor": torch.Tensor,
        }
        self._lines: list[str] = []
        self._temporaries = 0
        self._captured = captured
        self.layouts = layouts or captured.tracer.asked_layout
        self._exact = exact
        self._write(attributes, outside)

    def _name(self, value: Any) -> str:
        """A name for an object in the text."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def _dtype(self, dtype: torch.dtype) -> str:
        """The name of a dtype in the text."""
        name = str(dtype).replace(".", "_")
        self.scope[name] = dtype
        return name

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def _need(self, condition: str, about: Condition) -> None:
        """A line that gives the number of the condition where it is false."""
        self._lines.append(f"if not ({condition}): return {len(self.conditions)}")
        self.conditions.append(about)

    def _write(self, attributes: Sequence[Attribute], outside: Outside) -> None:
        inputs = self._captured.inputs
        count = len(inputs.leaves) - len(attributes)
        flat = self._structure(inputs.spec)
        assert len(flat) == count
        for a in attributes:
            name = f"x{len(flat)}"
            self._lines.append(f"{name} = {self._name(a.owner)}[{a.key!r}]")
            flat.append(name)
        sizes = [self._leaf(i, leaf, flat) for i, leaf in enumerate(inputs.leaves)]
        self._distinct(inputs.leaves, flat)
        self._bind(inputs.binds, flat, sizes)
        for i, dim, n in inputs.relations:
            actual = flat[i] if dim is None else f"{sizes[i]}[{dim}]"
            wanted = source(n.expr, Same())
            about = Condition(f"it must be {text(n)}", inputs.leaves[i], i, dim)
            self._need(f"{actual} == {wanted}", about)
        for o in self._captured.guards:
            self._need(truth(o), Condition(o.text, guard=o))
        for o in (*expected(self._captured), *self._exact):
            self._need(truth(o), Condition(o.text, guard=o, exact=True))
        self._modes()
        for condition, what in outside.conditions(self._name):
            self._need(condition, Condition(what))
        body = "\n".join(f"        {line}" for line in self._lines)
        self.text = (
            f"def check(args, kwargs):\n    try:\n{body}\n        return [{', '.join(flat)}]\n"
            "    except (KeyError, AttributeError, IndexError, TypeError, ValueError):\n"
            f"        return {len(self.conditions)}\n"
        )
        self.conditions.append(Condition("something that the function reads is not there"))
        exec(self.text, self.scope)  # our own text
        self.run: Callable[[Any, Any], list[Any] | int] = self.scope["check"]

    def _bind(self, binds: Sequence[Bind], flat: list[str], sizes: list[str]) -> None:
        """Give the symbols their values; a shape whose sizes are all symbols is unpacked."""
        by_leaf: dict[int, list[Bind]] = {}
        for bind in binds:
            by_leaf.setdefault(bind.leaf, []).append(bind)
        for i, found in by_leaf.items():
            leaf = self._captured.inputs.leaves[i]
            plain = all(b.factor == 1 and not b.constant for b in found)
            if plain and found[0].dim == 0 and len(found) == len(leaf.shape):
                self._lines.append(f"{', '.join(b.name for b in found)}, = {sizes[i]}")
            else:
                self._lines += [f"{b.name} = {_bound(b, flat, sizes)}" for b in found]

    # ------------------------------------------------------------------ structure

    def _structure(self, spec: Any) -> list[str]:
        """Take the arguments apart; the names of the leaves."""
        flat: list[str] = []
        args, kwargs = spec.children()
        about = Condition("the arguments have another structure")
        self._part("args", args, flat, about)
        if kwargs.num_leaves or kwargs.num_children:
            self._part("kwargs", kwargs, flat, about)
        else:
            self._need("not kwargs", about)
        return flat

    def _part(self, x: str, spec: Any, flat: list[str], about: Condition) -> None:
        if spec.is_leaf():
            name = f"x{len(flat)}"
            flat.append(name)
            self._lines.append(f"{name} = {x}")
        elif spec.type in (tuple, list):
            parts = [self._temporary() for _ in spec.children()]
            kind = spec.type.__name__
            self._need(f"type({x}) is {kind} and len({x}) == {len(parts)}", about)
            if parts:
                self._lines.append(f"{', '.join(parts)}, = {x}")
            for part, child in zip(parts, spec.children(), strict=True):
                self._part(part, child, flat, about)
        elif spec.type is dict:
            keys = list(spec.context)
            self._need(f"type({x}) is dict and list({x}) == {self._name(keys)}", about)
            for key, child in zip(keys, spec.children(), strict=True):
                part = self._temporary()
                word = repr(key) if type(key) in _PLAIN else self._name(key)
                self._lines.append(f"{part} = {x}[{word}]")
                self._part(part, child, flat, about)
        else:
            leaves, found = self._temporary(), self._temporary()
            self._lines.append(f"{leaves}, {found} = flatten({x})")
            self._need(f"{found} == {self._name(spec)}", about)
            names = [f"x{len(flat) + i}" for i in range(spec.num_leaves)]
            flat += names
            if names:
                self._lines.append(f"{', '.join(names)}, = {leaves}")

    # ------------------------------------------------------------------ leaves

    def _leaf(self, i: int, leaf: Leaf, flat: list[str]) -> str:
        """Check one input; the name of its shape."""
        x = flat[i]
        if leaf.twin is not None:
            twin = self._captured.inputs.leaves[leaf.twin].name
            about = Condition(f"it was the same tensor as {twin}", leaf, i)
            self._need(f"{x} is {flat[leaf.twin]}", about)
            return ""
        if leaf.value is None:
            self._number(i, leaf, x)
            return ""
        example = leaf.example
        kind = "Tensor" if example.kind is torch.Tensor else self._name(example.kind)
        shape = f"z{i}"
        cpu = example.device.type == "cpu"
        where = f"{x}.is_cpu" if cpu else f"{x}.device == {self._name(example.device)}"
        self._need(
            f"type({x}) is {kind} and {x}.dtype is {self._dtype(example.dtype)} and {where}"
            f" and len({shape} := {x}.shape) == {example.dim()}",
            Condition("it is another kind of tensor", leaf, i),
        )
        for dim, n in enumerate(leaf.shape):
            if type(n) is int:
                self._need(f"{shape}[{dim}] == {n}", Condition(f"it was {n}", leaf, i, dim))
        about = Condition(f"requires_grad was {example.requires_grad}", leaf, i)
        self._need(f"{x}.requires_grad is {example.requires_grad}", about)
        if self.layouts:
            about = Condition("its strides or offset are others", leaf, i)
            self._need(f"same_layout({self._name(leaf)}, {x})", about)
        return shape

    def _number(self, i: int, leaf: Leaf, x: str) -> None:
        example = leaf.example
        kind = type(example)
        name = kind.__name__ if kind in (int, float, bool, str) else self._name(kind)
        bound = any(b.leaf == i and b.dim is None for b in self._captured.inputs.binds)
        if bound:
            self._need(f"type({x}) is {name}", Condition(f"it was {kind.__name__}", leaf, i))
            return
        about = Condition(f"it was {example!r:.80}", leaf, i)
        if example is None:
            self._need(f"{x} is None", about)
        elif kind in _PLAIN:
            self._need(f"{x} == {example!r} and type({x}) is {name}", about)
        else:
            self._need(f"type({x}) is {name} and same({x}, {self._name(example)})", about)

    def _distinct(self, leaves: Sequence[Leaf], flat: list[str]) -> None:
        tensors = [x for x, leaf in zip(flat, leaves, strict=True) if leaf.value is not None]
        if len(tensors) == 2:
            self._need(f"{tensors[0]} is not {tensors[1]}", Condition("two inputs are one tensor"))
        elif len(tensors) > 2:
            ids = ", ".join(f"id({x})" for x in tensors)
            about = Condition("two inputs are one tensor")
            self._need(f"len({{{ids}}}) == {len(tensors)}", about)

    def _modes(self) -> None:
        tracer = self._captured.tracer
        grad, inference, autocast, dtype = tracer.started_in
        self._need(f"grad_enabled() is {grad}", Condition(f"gradients were {_on(grad)}"))
        self._need(f"inference() is {inference}", Condition(f"inference was {_on(inference)}"))
        if autocast:
            state = self._name(autocast)
            self._need(f"autocast_state() == {state}", Condition("autocast was another"))
        else:
            self._need("not autocast()", Condition("autocast was off"))
        about = Condition(f"the default dtype was {dtype}")
        self._need(f"default_dtype() is {dtype}", about)


def expected(captured: Captured) -> list[Obligation]:
    """What ops need of the inputs alone: where it does not hold, the call may still be right."""
    bound = {bind.name for bind in captured.inputs.binds}
    asserts = [o for o in captured.runtime_asserts if o.origin == RULE]
    return [o for o in asserts if bound.issuperset(names_of(o.condition))]


def need_expected(captured: Captured, flat: list[Any]) -> None:
    """Raise if a call does not have what the ops of its own trace need of the inputs."""
    needed = expected(captured)
    binds = captured.inputs.binds
    failed = guard_function(needed, [b.name for b in binds])(*[b.read(flat) for b in binds])
    if failed >= 0:
        fail(needed[failed])


def _on(state: bool) -> str:
    return "on" if state else "off"


def _bound(bind: Bind, flat: list[str], sizes: list[str]) -> str:
    x = flat[bind.leaf] if bind.dim is None else f"{sizes[bind.leaf]}[{bind.dim}]"
    if bind.factor == 1 and not bind.constant:
        return x
    return f"({x} - {bind.constant}) // {bind.factor}"
