"""`to_torch`: an exported program as one of torch.

A program of torch has one graph. Of several variants, one can stand for all if the others serve
nothing but sizes of 0 and 1: torch's own exports take such sizes to be covered by the graph of all
others. What it does there is the general case, and a deviation, which is announced by a warning.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import ConstantArgument, SymBoolArgument, SymFloatArgument

from anyshape.domain import Interval
from anyshape.env.fact import DECLARED
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, ArgumentError
from anyshape.export.branches.branching import Branching
from anyshape.export.state.graph_signature import paths_of
from anyshape.interop.fx_graph import warn_of_outlets
from anyshape.public_call import need_number
from anyshape.torch_compat.call_frame import APPLY
from anyshape.trace.graph.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.export import ExportedProgram as TorchProgram

    from anyshape.export.program import ExportedProgram
    from anyshape.trace.capture import Captured


def to_torch(program: ExportedProgram, variant: int | None) -> TorchProgram:
    """A program, or one variant of it, as a `torch.export.ExportedProgram`."""
    # Not at the top: it imports torch's compilers.
    from anyshape.interop.aten.program import NamedTensor, to_exported_program  # noqa: PLC0415

    chosen = _general(program) if variant is None else _numbered(program, variant)
    for part in chosen.parts:
        warn_of_outlets(part.graph)
    _warn_of_functions(chosen)
    tensors = [
        NamedTensor(e.name, e.kind, e.tensor, e.alias_of is not None) for e in program.state.entries
    ]
    segments = chosen.segments if isinstance(chosen, Branching) else ()
    made = to_exported_program(chosen, tensors, _class_name(program), segments)
    _warn_of_unsaved(made)
    return made


def _warn_of_unsaved(made: TorchProgram) -> None:
    """Tell what `torch.export.save` refuses, or writes so that `torch.export.load` fails."""
    signature = made.graph_signature
    found = [
        f"{spec.arg.name} is a float that varies"
        for spec in signature.input_specs
        if type(spec.arg) is SymFloatArgument
    ]
    spec_of_results = made.module_call_graph[0].signature.out_spec
    for path, result in zip(paths_of(spec_of_results), signature.output_specs, strict=True):
        if type(result.arg) is SymBoolArgument:
            found.append(f"{path} is a truth value that varies")
        elif type(result.arg) is ConstantArgument and type(result.arg.value) is str:
            found.append(f"{path} is the text {result.arg.value!r}")
    if found:
        warn(
            AnyshapeWarning(
                "torch cannot save and load this program of torch",
                why="; ".join(found),
                fix="save what it is made of, with program.save, or keep these out of it",
                code="AS715",
            )
        )


def _warn_of_functions(chosen: Captured) -> None:
    """Tell which functions with a backward of their own become the ops of their forward: a program
    of torch has no place for another gradient.
    """
    steps = [step for part in chosen.parts for step in part.graph.nodes]
    applied = [step for step in steps if getattr(step.func, "__func__", None) is APPLY]
    if applied:
        said = [f"{step.func.__self__.__name__}.backward at {step.site}" for step in applied]
        warn(
            AnyshapeWarning(
                "the program of torch has the gradients of the ops in forward, and not"
                f" {'; '.join(dict.fromkeys(said))}",
                fix="make it an op with torch.library.custom_op and register_autograd",
                code="AS713",
            )
        )


def _class_name(program: ExportedProgram) -> str:
    """The qualified name of the class of the module that was exported.

    The calls of modules know it where the module is gone, or is one that torch has generated.
    """
    for call in program.module_calls:
        if call.path == "":
            return call.class_name
    is_module = isinstance(program.function, torch.nn.Module)
    kind = type(program.function) if is_module else torch.nn.Module
    return f"{kind.__module__}.{kind.__qualname__}"


def _numbered(program: ExportedProgram, variant: int) -> Captured:
    need_number("variant", variant, len(program.variants))
    return program.variants[variant]


def _general(program: ExportedProgram) -> Captured:
    """The only variant, or the one that stands for all."""
    variants = program.variants
    if len(variants) == 1:
        return variants[0]
    general = [v for v in variants if not _is_small(v)]
    if len(general) > 1:
        listed = [f"{i}: {_applies(v)}" for i, v in enumerate(variants)]
        raise ArgumentError(
            f"{program.name} has {len(variants)} variants, and a program of torch has one graph",
            why="; ".join(listed),
            fix="choose one, as in to_torch(variant=0)",
        )
    chosen = general[0] if general else variants[0]
    others = [v for v in variants if v is not chosen]
    small = " or ".join(_applies(v) for v in others)
    warn(
        AnyshapeWarning(
            f"where {small}, the program of torch does what {program.name} does where"
            f" {_applies(chosen)}",
            fix=f"to_torch(variant={variants.index(chosen)}) refuses these sizes",
            code="AS714",
        )
    )
    return _widened(chosen, others)


def _is_small(variant: Captured) -> bool:
    """Whether a variant serves some size only where it is 0 or 1."""
    sizes = [bind.name for bind in variant.inputs.sizes if bind.dim is not None]
    return any(variant.ranges[name].hi <= 1 for name in sizes)


def _widened(chosen: Captured, others: list[Captured]) -> Captured:
    """A variant that serves the sizes of others too."""
    names = [bind.name for bind in chosen.inputs.binds]
    served = [_hints(v) for v in others]
    made = copy.copy(chosen)
    made.guards = [
        o
        for o in chosen.guards
        if o.origin == DECLARED or not any(_fails(o, names, values) for values in served)
    ]
    made.ranges = {
        name: Interval(
            min([r.lo, *[v.ranges[name].lo for v in others]]),
            max([r.hi, *[v.ranges[name].hi for v in others]]),
        )
        for name, r in chosen.ranges.items()
    }
    return made


def _hints(variant: Captured) -> dict[str, Any]:
    symbols = variant.tracer.env.symbols
    return {
        b.name: symbols[b.name].hint if b.name in symbols else 1.0 for b in variant.inputs.binds
    }


def _fails(o: Any, names: list[str], values: Mapping[str, Any]) -> bool:
    return bool(guard_function([o], names)(*[values[n] for n in names]) >= 0)


def _applies(variant: Captured) -> str:
    found = [o.text for o in variant.guards if o.origin != DECLARED]
    return " and ".join(found) or "every size is allowed"
