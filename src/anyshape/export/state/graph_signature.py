"""`GraphSignature`: the inputs and results of a program by name, in the form that torch's has.

Where torch's signature has the names of graph nodes, this one has the names of the program's code.
It is about the whole program: all variants and segments have one state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import shortened
from anyshape.export.match import ACCEPTED
from anyshape.export.state.identifier import identifiers_of
from anyshape.export.state.naming import BUFFER, CONSTANT, NON_PERSISTENT_BUFFER, PARAMETER
from anyshape.trace.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.export.state.state import State
    from anyshape.trace.capture import Captured

USER_INPUT: Final = "user_input"
_RESULT: Final = "result"


class InputSpec(NamedTuple):
    """A tensor of the state, or an input of a call.

    `kind` is a kind of the state, or "user_input"; `name` the name in the code of the program;
    `target` the qualified name, or the path of an input, as `batch['ids']`; `alias_of` the first
    name of a tied tensor; `persistent` is None for what is no buffer. `is_used`: the program
    computes with it. `is_mutated`: a run may change it.
    """

    kind: str
    name: str
    target: str
    alias_of: str | None = None
    persistent: bool | None = None
    is_used: bool = True
    is_mutated: bool = False


class OutputSpec(NamedTuple):
    """A part of the result: its path, as `result['loss']`; `target` is the tensor of the state or
    the input that is returned itself, if it is one.
    """

    name: str
    target: str | None = None


class GraphSignature(NamedTuple):
    """The state of a program, its inputs and its results."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def __repr__(self) -> str:
        parts = [f"{len(self.input_specs)} inputs", f"{len(self.output_specs)} outputs"]
        names = ", ".join([s.target for s in self.input_specs if s.target])
        return shortened(f"<GraphSignature: {', '.join(parts)}: {names}>")

    def _targets(self, *kinds: str) -> list[str]:
        return [s.target for s in self.input_specs if s.kind in kinds and s.alias_of is None]

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, each tensor once."""
        return self._targets(PARAMETER)

    @property
    def buffers(self) -> list[str]:
        """The names of the buffers, those that are not persistent too."""
        return self._targets(BUFFER, NON_PERSISTENT_BUFFER)

    @property
    def non_persistent_buffers(self) -> list[str]:
        """The names of the buffers that no state dict has."""
        return self._targets(NON_PERSISTENT_BUFFER)

    @property
    def lifted_tensor_constants(self) -> list[str]:
        """The names of the tensors that no module has registered."""
        return self._targets(CONSTANT)

    @property
    def user_inputs(self) -> list[str]:
        """The paths of the inputs of a call."""
        return self._targets(USER_INPUT)

    @property
    def user_outputs(self) -> list[str]:
        """The paths of the parts of the result."""
        return [s.name for s in self.output_specs]

    @property
    def tied(self) -> dict[str, str]:
        """The further names of tied tensors, each with the first name."""
        return {s.target: s.alias_of for s in self.input_specs if s.alias_of is not None}

    def _by_name(self, *kinds: str) -> dict[str, str]:
        found = [s for s in self.input_specs if s.kind in kinds and s.is_used]
        return {s.name: s.target for s in found if s.alias_of is None}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The parameters that the code uses: the name there, and the qualified name."""
        return self._by_name(PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The buffers that the code uses: the name there, and the qualified name."""
        return self._by_name(BUFFER, NON_PERSISTENT_BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """The other tensors that the code uses: the name there, and the qualified name."""
        return self._by_name(CONSTANT)

    def _mutated(self, *kinds: str) -> list[str]:
        return [s.target for s in self.input_specs if s.is_mutated and s.kind in kinds]

    @property
    def mutated_buffers(self) -> list[str]:
        """The buffers that a run may change. They change in place: no result has them."""
        return self._mutated(BUFFER, NON_PERSISTENT_BUFFER)

    @property
    def mutated_inputs(self) -> list[str]:
        """The inputs that a run may change."""
        return self._mutated(USER_INPUT)

    def __str__(self) -> str:
        lines = []
        for s in self.input_specs:
            tied = f", tied to {s.alias_of}" if s.alias_of else ""
            notes = tied + ", changed" * s.is_mutated + ", unused" * (not s.is_used)
            lines.append(f"{s.kind} {s.target}{notes}")
        for o in self.output_specs:
            lines.append(f"output {o.name}" + (f" is {o.target}" if o.target else ""))
        return "\n".join(lines)


def signature_of(variants: Sequence[Captured], state: State) -> GraphSignature:
    """The signature of a program. A part of the result that only some variants have is listed."""
    parts = [part for variant in variants for part in variant.parts]
    used = {id(tensor) for part in parts for _, tensor in part.graph.constants}
    names = identifiers_of(state)
    inputs = [
        InputSpec(
            e.kind,
            names[id(e.tensor)],
            e.name,
            e.alias_of,
            None if e.kind in (PARAMETER, CONSTANT) else e.kind == BUFFER,
            id(e.tensor) in used,
            e.name in state.mutated,
        )
        for e in state.entries
    ]
    changed = _changed_inputs(variants)
    for i, leaf in enumerate(variants[0].inputs.leaves):
        name = "" if leaf.value is None else repr(leaf.value)
        inputs.append(InputSpec(USER_INPUT, name, leaf.name, is_mutated=i in changed))
    outputs: dict[str, OutputSpec] = {}
    for part in parts:
        if part.out_spec is not None:
            for spec in _outputs(part, state):
                outputs.setdefault(spec.name, spec)
    return GraphSignature(inputs, list(outputs.values()))


def _changed_inputs(variants: Sequence[Captured]) -> set[int]:
    """The places of the inputs that a variant changes."""
    changed = set()
    for variant in variants:
        for i, leaf in enumerate(variant.inputs.leaves):
            if leaf.value is not None and leaf.value.version:
                changed.add(i)
    return changed


def _outputs(part: Captured, state: State) -> Iterator[OutputSpec]:
    tensors = {id(value): tensor for value, tensor in part.graph.constants}
    given = {id(leaf.value): leaf.name for leaf in part.inputs.leaves if leaf.value is not None}
    for path, x in zip(paths_of(part.out_spec), part.graph.outputs, strict=True):
        target = None
        if type(x) is Value:
            tensor = tensors.get(id(x))
            target = given.get(id(x)) if tensor is None else state.entry_of(tensor).name
        yield OutputSpec(path, target)


def paths_of(spec: Any, path: str = _RESULT) -> Iterator[str]:
    """How Python writes the way to each leaf of a structure."""
    if spec.is_leaf():
        yield path
        return
    for key, child in zip(ACCEPTED.keys(spec), spec.children(), strict=True):
        step = f".{key}" if type(key) is str and spec.type is not dict else f"[{key!r}]"
        yield from paths_of(child, path + step)
