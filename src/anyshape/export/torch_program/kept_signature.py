"""Signatures of calls of modules that a program of torch keeps, in the program that it becomes.

A signature names nodes of torch's graph. A call at the end of the graph gets them all, so that the
trace sees what they are; it leaves nothing in the traced graph.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.current import current
from anyshape.trace.graph.call_signature import CallSignature
from anyshape.trace.graph.module_call import ModuleCall
from anyshape.trace.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.export import ExportedProgram
    from torch.fx import GraphModule, Node

    from anyshape.export.torch_program.source_map import SourceMap
    from anyshape.trace.capture import Captured


class _Kept(NamedTuple):
    """The name of a call, `path` or `path@number`, and the structures of what it gets and gives."""

    name: str
    in_spec: Any
    out_spec: Any


def keep_signatures(program: ExportedProgram, module: GraphModule) -> None:
    """Let a trace of the module of a program note the signatures that the program keeps."""
    entries = [e for e in program.module_call_graph if e.fqn and e.signature is not None]
    if not entries:
        return
    nodes = {node.name: node for node in module.graph.nodes}
    (output,) = module.graph.find_nodes(op="output")
    with module.graph.inserting_before(output):
        for entry in entries:
            given = entry.signature
            note = functools.partial(_note, _Kept(entry.fqn, given.in_spec, given.out_spec))
            functools.update_wrapper(note, _note)
            sides = [
                [_operand(a, nodes, entry.fqn) for a in x] for x in (given.inputs, given.outputs)
            ]
            module.graph.call_function(note, (*sides,))
    module.recompile()


def _operand(argument: Any, nodes: dict[str, Node], name: str) -> Any:
    if hasattr(argument, "value"):
        return argument.value
    if argument.name not in nodes:
        raise UnsupportedError(
            f"the signature of {name} names {argument.name}, which is not in the graph",
            fix="export the model without preserve_module_call_signature",
        )
    return nodes[argument.name]


def _note(kept: _Kept, inputs: list[Any], outputs: list[Any]) -> None:
    """Note a signature in the trace that runs."""
    tracer = current()
    if tracer.bodies:
        raise refused(UnsupportedError, f"the signature of {kept.name} in a function of torch")
    sides = [list(Scan(tracer).args(tuple(x))) for x in (inputs, outputs)]
    call = ModuleCall.saved(None, kept.name, 0, None)
    signature = CallSignature(call, sides[0], kept.in_spec, sides[1], kept.out_spec)
    tracer.graph.signatures.append(signature)


def name_signatures(variants: Sequence[Captured], lines: SourceMap) -> None:
    """Give the signatures the calls that the nodes are part of."""
    for part in [part for variant in variants for part in variant.parts]:
        part.graph.signatures = [
            s._replace(call=lines.named(str(s.call.kind))) for s in part.graph.signatures
        ]
