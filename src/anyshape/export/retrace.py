"""A call of an exported program inside an export: its calls become those of the other program.

The guards were asked about the inputs of the call, so they are guards of the trace. The graph is
traced as the code of its fx module, with its asserts; a variant that branches on data as the module
of its program of torch, where branches are `torch.cond`. What the program says and assigns besides
cannot be repeated, and is refused.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from anyshape.errors import UnsupportedError
from anyshape.export.state.hierarchy import ProgramModule
from anyshape.export.torch_program.source_map import SourceMap
from anyshape.interop.fx_graph import LEFT_OUT, to_fx
from anyshape.refusal import refused
from anyshape.tensor.current import current, enter, is_tracing, leave
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace import tree
from anyshape.trace.graph.module_call import ModuleCall

if TYPE_CHECKING:
    from torch.fx import GraphModule

    from anyshape.export.program import ExportedProgram
    from anyshape.trace.capture import Captured
    from anyshape.trace.tracer import Tracer

_modules: weakref.WeakKeyDictionary[Captured, tuple[GraphModule, SourceMap]] = (
    weakref.WeakKeyDictionary()
)


def is_exporting() -> bool:
    """Whether an export runs in this thread. A compiled function watches what it reads, and a
    program does not say where its tensors come from: it runs there as code of a library.
    """
    return is_tracing() and bool(current().options.is_export)


def retraced(program: ExportedProgram, variant: Captured, flat: list[Any]) -> tuple[list[Any], Any]:
    """The results of a variant for inputs of the trace that runs, which it serves, and the
    structure that they are in.
    """
    tracer = current()
    _need_traceable(program, variant)
    known = _modules.get(variant)
    if known is None:
        known = _modules[variant] = _made(program, variant)
    module, lines = known
    first = len(tracer.graph.nodes)
    forward = tracer.recorder.hooks.ready(type(module).forward)
    tracer.recorder.outside(module)
    if len(variant.parts) > 1:
        args, kwargs = tree.unflatten_arguments(flat, variant.inputs.spec)
        leaves, spec = tree.flatten(forward(module, *args, **kwargs))
    else:
        leaves, spec = list(forward(module, *flat)), variant.out_spec
    _name_calls(tracer, lines, first)
    return leaves, spec


def _name_calls(tracer: Tracer, lines: SourceMap, first: int) -> None:
    """Give the nodes that were recorded from number `first` on the calls of modules that those of
    the program are part of, where the module that is called has modules at their paths.
    """
    around = tracer.module_call
    owner = None if around is None else around.module
    if around is None or owner is None:
        return
    counts, before = tracer.module_calls, dict(tracer.module_calls)
    placed: dict[int, ModuleCall] = {}

    def place(call: ModuleCall | None) -> ModuleCall:
        if call is None or not call.path:
            if call is not None and isinstance(owner, ProgramModule):
                around.kind = call.kind
            return around
        known = placed.get(id(call))
        if known is None:
            outer = place(call.outer)
            try:
                module = owner.get_submodule(call.path)
            except AttributeError:
                return outer
            key = id(module)
            number = before.get(key, -1) + 1 + call.number
            counts[key] = max(counts.get(key, -1), number)
            known = placed[id(call)] = ModuleCall(module, outer, number)
            known.kind = call.kind
        return known

    for node in tracer.graph.nodes[first:]:
        call = lines.call_of(node)
        if call is not None:
            node.module_call = place(call)


def _made(program: ExportedProgram, variant: Captured) -> tuple[GraphModule, SourceMap]:
    """The module of a variant and its lines, made outside the trace that runs."""
    before = enter(None)
    try:
        with DisableTorchFunction():
            if len(variant.parts) > 1:
                number = program.variants.index(variant)
                module: Any = program.to_torch(variant=number).module()
            else:
                names = {id(tensor): name for name, tensor in program.state.items()}
                calls = program.module_calls
                root = next((c.class_name for c in calls if c.path == ""), "")
                module = to_fx(variant, names=names, root=root)
            return module, SourceMap(module)
    finally:
        leave(before)


def _need_traceable(program: ExportedProgram, variant: Captured) -> None:
    for node in [node for part in variant.parts for node in part.graph.nodes]:
        if node.func in LEFT_OUT:
            raise refused(
                UnsupportedError,
                f"{program.name} is called inside a trace, and has effects",
                why=f"{node.func.__name__} at {node.site}",
                fix="export what it was exported from",
            )
