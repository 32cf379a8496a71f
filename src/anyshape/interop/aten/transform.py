"""Calls of the functions of `torch.func`, as the ops that remain of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.errors import UnsupportedError
from anyshape.interop.aten.symbols import refuse
from anyshape.trace.graph.graph import Name, Value, names_object, op_name

if TYPE_CHECKING:
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Node


def write_transform(writer: AtenWriter, step: Node) -> None:
    """Write what a call does: it is made over fake tensors, and its bodies with it."""
    args, guards = writer.arg(step.args), writer.symbols.shape_env.guards
    count = len(guards)
    try:
        with writer.transforming():
            made = step.func(*args)
    except UnsupportedError:
        raise
    except Exception as e:
        why = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
        raise refuse(f"{op_name(step.func)}, whose ops torch cannot tell", step, why) from e
    if len(guards) > count:
        why = f"the ops depend on sizes: they are those where {guards[count].expr}"
        raise refuse(f"{op_name(step.func)}, which has no ops for all sizes", step, why)
    for out, x in zip(step.outs, made, strict=True):
        if type(out) is Value:
            writer.bind(out, x)
        elif type(out) is Name:
            if not names_object(out):
                raise refuse(f"a number that {op_name(step.func)} gives", step)
            writer.objects[out] = x
