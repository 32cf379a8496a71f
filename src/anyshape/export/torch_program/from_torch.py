"""`from_torch`: a `torch.export.ExportedProgram` as a program of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.config import config
from anyshape.errors import ArgumentError, UnsupportedError
from anyshape.export.export import Request, build
from anyshape.export.torch_program.declared_size import DeclaredSizes
from anyshape.export.torch_program.example import example_of
from anyshape.export.torch_program.kept_signature import keep_signatures, name_signatures
from anyshape.export.torch_program.source_map import SourceMap, root_class
from anyshape.public_call import public
from anyshape.torch_compat.torch_program import has_levels, module_with_guards, without_levels
from anyshape.trace.argument.arguments import Arguments

if TYPE_CHECKING:
    import os

    from anyshape.export.program import ExportedProgram


@public
def from_torch(
    program: torch.export.ExportedProgram,
    *,
    on_deviation: str = "follow",
    allow_partial: bool = False,
    profile: str | os.PathLike[str] | None = None,
) -> ExportedProgram:
    """The program that `torch.export` made, as one of ours.

    It takes the inputs that torch's program declares: its static sizes, its symbols by their `Dim`
    names (or as torch calls them, where a file has no names) with their ranges, its relations. What
    torch's program refuses, this one refuses. It holds the same parameters and buffers under the
    same names, and its nodes know their modules and the user's lines. Signatures of calls of
    modules are kept. The graph of torch's program
    is the one that is traced: what torch has specialized stays specialized.

    `on_deviation`, `allow_partial` and `profile` are those of `export`.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        raise ArgumentError(
            f"from_torch takes a torch.export.ExportedProgram, not {type(program).__name__}",
            fix="read a file with torch.export.load first; export takes functions and modules",
        )
    if has_levels(program):
        program = _without_levels(program)
    values = _values(program)
    sizes = DeclaredSizes(program, values)
    args, kwargs = example_of(program, values, sizes.example())
    module = module_with_guards(program, (args, kwargs))
    _register_unused(module, program)
    keep_signatures(program, module)
    spec = sizes.spec(Arguments.of(module, args, kwargs).names)
    name = root_class(program.graph.nodes) or type(module).__name__
    lines = SourceMap(module)
    request = Request(name, on_deviation=on_deviation, allow_partial=allow_partial, profile=profile)
    request.need_valid()
    with config.patch(do_not_emit_stack_traces=False):  # modules are found by the lines
        made = build(module, args, kwargs, spec, request)
    lines.name_calls(made.variants)
    name_signatures(made.variants, lines)
    made.state.training = None  # torch's programs do not say
    return made


def _without_levels(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with the ops that functions of `torch.func` give."""
    try:
        return without_levels(program)
    except Exception as e:
        raise UnsupportedError(
            "a program of torch with a function of torch.func in it, which torch cannot decompose",
            why=f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:200]}",
            fix="export the model itself with anyshape.export",
            code="AS404",
        ) from e


def _register_unused(module: torch.nn.Module, program: torch.export.ExportedProgram) -> None:
    """Register the tensors of torch's program that its graph does not take, under their names:
    further names of tied ones.
    """
    known = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    known |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    for name, tensor in program.state_dict.items():
        if name in known:
            continue
        *path, last = name.split(".")
        owner = module
        for part in path:
            if not hasattr(owner, part):
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        if isinstance(tensor, torch.nn.Parameter):
            owner.register_parameter(last, tensor)
        else:
            owner.register_buffer(last, tensor)


def _values(program: torch.export.ExportedProgram) -> list[Any]:
    """What stands for each of the user's inputs in torch's graph: fakes, symbols and constants."""
    names = [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT
    ]
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return [nodes[name].meta.get("val") for name in names]
