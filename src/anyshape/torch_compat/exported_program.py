"""torch's exported programs: the classes that one is made of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch._dynamo.source import (
    ConstantSource,
    GetItemSource,
    LocalSource,
    TensorProperty,
    TensorPropertySource,
)
from torch._export.passes.replace_autocast_with_hop_pass import replace_autocast_with_hop_pass
from torch._export.passes.replace_set_grad_with_hop_pass import replace_set_grad_with_hop_pass
from torch._export.verifier import TrainingIRVerifier
from torch._subclasses.fake_tensor import FakeTensor
from torch.amp.autocast_mode import _enter_autocast as enter_autocast
from torch.amp.autocast_mode import _exit_autocast as exit_autocast
from torch.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.utils._sympy.value_ranges import ValueRanges

if TYPE_CHECKING:
    from torch.export.graph_signature import ExportGraphSignature

__all__ = [
    "ConstantSource",
    "ExportedProgram",
    "FakeTensor",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "TrainingIRVerifier",
    "ValueRanges",
    "enter_autocast",
    "exit_autocast",
    "forget_pending",
    "input_source",
    "name_source",
    "set_grad",
    "specialize_constants",
    "with_regions",
]

# - `TrainingIRVerifier` checks a program whose ops may change tensors; other verifiers refuse it.
# - `set_grad`, `enter_autocast` and `exit_autocast` are calls of a graph that `with_regions` turns
#   into higher-order calls, because no other form can be saved.

set_grad = torch._C._set_grad_enabled
WITH_GRAD_MODE = torch.ops.higher_order.wrap_with_set_grad_enabled


def input_source(leaf: int, dim: int | None) -> Any:
    """Where the value of a symbol comes from: an input, or a size of it. Guards that torch adds
    while it decomposes a program are checked on the inputs only if their symbols have such sources.
    """
    of_leaf = GetItemSource(LocalSource("flat_args"), leaf)
    return of_leaf if dim is None else TensorPropertySource(of_leaf, TensorProperty.SIZE, dim)


def name_source(shape_env: Any, source: Any, name: str) -> None:
    """Note how the user calls a symbol with that source, as torch's own exports do."""
    text = source.name if isinstance(source.name, str) else source.name()
    shape_env.source_name_to_debug_name[text] = name


def specialize_constants(shape_env: Any) -> None:
    """From here on, torch makes no symbol of an input that is 0 or 1, as in its own exports.

    Otherwise it fails to decompose a program with an input that is a truth value.
    """
    shape_env.settings = dataclasses.replace(shape_env.settings, specialize_zero_one=True)


def forget_pending(shape_env: Any) -> None:
    """Tell torch that all new symbols were bound, by a graph that it did not trace."""
    shape_env.pending_fresh_unbacked_symbols.clear()


def with_regions(
    module: torch.fx.GraphModule, signature: ExportGraphSignature | None
) -> tuple[torch.fx.GraphModule, Any]:
    """The module with a higher-order call for each stretch of another grad mode or autocast."""
    module, signature = replace_set_grad_with_hop_pass(module, signature)
    module, signature = replace_autocast_with_hop_pass(module, signature)
    for owner in [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]:
        for node in [n for n in owner.graph.nodes if n.target is WITH_GRAD_MODE]:
            _keep_effects(owner, node)
    return module, signature


def _keep_effects(owner: torch.fx.GraphModule, call: torch.fx.Node) -> None:
    """Put the ops of a stretch without gradients and without results in the place of its call, over
    operands that are detached. They change tensors; passes of torch take the call for one without
    effects and drop it.
    """
    enabled, graph = call.args[:2]
    assert isinstance(graph, torch.fx.Node)
    inner = owner.get_submodule(str(graph.target))
    assert isinstance(inner, torch.fx.GraphModule)
    *nodes, output = inner.graph.nodes
    if output.args[0]:
        return
    call.meta["val"] = ()
    if enabled or any(n.op == "get_attr" for n in nodes):
        return
    stands: dict[torch.fx.Node, Any] = {}
    given = iter(call.args[2:])
    with owner.graph.inserting_before(call):
        for node in nodes:
            if node.op == "placeholder":
                stands[node] = _detached(owner, next(given), call.meta)
            else:
                stands[node] = owner.graph.node_copy(node, stands.__getitem__)
    for gone in (call, graph):
        owner.graph.erase_node(gone)
    owner.delete_submodule(str(graph.target))
    owner.recompile()


def _detached(owner: torch.fx.GraphModule, node: Any, meta: dict[str, Any]) -> Any:
    val = node.meta["val"]
    if not isinstance(val, torch.Tensor):
        return node
    made = owner.graph.call_function(torch.ops.aten.detach.default, (node,))
    made.meta.update(meta, val=val)
    return made
