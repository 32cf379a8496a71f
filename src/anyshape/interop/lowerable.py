"""Programs that torch's compilers would run differently from eager execution: refused, kept alive.

They trace a graph into ops on tensors. What a call does to the autograd graph, to the modes of the
process or to a random generator happens once, when they trace, and never again.
"""

from __future__ import annotations

import dis
import itertools
import types
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.env.site import in_package
from anyshape.errors import BackendError
from anyshape.interop.exact_float import has_inexact_float
from anyshape.interop.kernel_warning import may_warn
from anyshape.refusal import refused
from anyshape.rules.dispatch.table import RANDOM
from anyshape.rules.generator import STATE_CHANGES
from anyshape.tensor.observed import OF_LAYOUTS
from anyshape.torch_compat.aten_op import DATA
from anyshape.trace.autograd.autograd_function import Applied
from anyshape.trace.birth import make_leaf, make_parameter
from anyshape.trace.graph.assert_order import is_order_seen
from anyshape.trace.graph.graph import (
    INPUT,
    SYMBOLIC,
    Graph,
    Node,
    Value,
    leaves,
    op_name,
    values_in,
)
from anyshape.trace.higher_order.runtime import RUNNERS
from anyshape.trace.mode.execution_modes import (
    casts_kept,
    leave_modes,
    need_flag,
    set_autocast,
    set_flag,
    set_inference,
    set_saved_hooks,
)
from anyshape.trace.opaque_call import OpaqueCall
from anyshape.trace.record.read.read import is_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.env import Obligation
    from anyshape.trace.tracer import Tracer

_EAGER_ONLY: Final = frozenset(
    (
        make_leaf,
        make_parameter,
        set_inference,
        set_saved_hooks,
        set_flag,
        need_flag,
        leave_modes,
        torch.set_default_dtype,
        *STATE_CHANGES,
    )
)
_REPEATING: Final = ("expand", "expand_as", "broadcast_to", "as_strided", "unfold")
_DROPOUTS: Final = frozenset((F.dropout, torch.dropout, torch.dropout_))
_RESIZES: Final = frozenset(
    (torch.Tensor.resize_, torch.Tensor.resize_as_, torch.Tensor.as_strided_, torch.as_strided_)
)
_ABOUT_LEAVES: Final = (torch.Tensor.requires_grad_, torch.Tensor.detach_)


def need_order(asserts: Sequence[Obligation], graph: Graph, bound: set[str]) -> None:
    """Raise if the program changes tensors from outside before an assert: compilers do it last."""
    if is_order_seen(asserts, graph, bound):
        raise _refusal("a tensor from outside changes before a runtime assert, which may fail")


def need_plain_tensors(tracer: Tracer) -> None:
    """Raise if the program has tensors of other classes, for which plain ones would stand."""
    if tracer.wrappers:
        kind = type(next(iter(tracer.wrappers.values()))[0]).__name__
        raise _refusal(f"a {kind} decides itself what an op does to it")


def need_plain_memory(graph: Graph, flat: Sequence[Any]) -> None:
    """Raise if a tensor from outside has a conjugation or a negation pending, which the memory that
    compiled kernels read does not show. Guards on dispatch keep such tensors from other programs.
    """
    for t in (*flat, *[tensor for _, tensor in graph.constants]):
        if isinstance(t, torch.Tensor) and (t.is_conj() or t.is_neg()):
            raise _refusal("a tensor from outside has a conjugation or a negation pending")


def need_lowerable(graph: Graph) -> None:
    """Raise if a compiler of torch would drop what a call does besides computing its result."""
    if any(type(x) is slice and values_in((x,), {}) for x in graph.outputs):
        raise _refusal("the program returns a slice of tensors")
    _need_exact_floats(graph)
    _need_silent(graph)
    _need_seen_changes(graph)
    _need_sizes(graph)
    _need_memory_of_its_own(graph)
    for node in graph.nodes:
        func = node.func
        if func in OF_LAYOUTS:
            raise _refusal("the program reads a layout that only the run knows")
        if any(map(_is_array, leaves((*node.args, *node.kwargs.values())))):
            raise _refusal(f"{op_name(func)} is given an array or truth value of NumPy")
        if type(func) is OpaqueCall:
            raise _refusal(f"{op_name(func)} is called as it is, by torch.compiler.allow_in_graph")
        if func in RUNNERS:
            raise _refusal(f"{op_name(func)} is a call with bodies, which runs as it is")
        if func in _EAGER_ONLY or (func in _ABOUT_LEAVES and _changes_leaf(node)):
            raise _refusal(f"{op_name(func)} has an effect that they do not see")
        if func in _DROPOUTS and _probability(node) == 1:
            raise _refusal(f"{op_name(func)} of all elements draws no random numbers")
        if "alpha" in node.kwargs and any(type(a) in SYMBOLIC for a in node.args):
            raise _refusal(f"they drop the factor alpha of {op_name(func)} with a symbolic number")
        out = node.kwargs.get("out")
        if type(out) is Value and any(type(n) is int and n == 0 for n in out.meta.shape):
            raise _refusal(f"{op_name(func)} makes its empty output larger")
        if node.kwargs.get("requires_grad"):
            raise _refusal(f"{op_name(func)} makes a leaf that gradients flow into")
        _need_plain_backward(func)


def _need_plain_backward(func: Any) -> None:
    """Refuse an autograd.Function that is more than a function of tensors."""
    if type(func) is Applied:
        name = func.__self__.__name__
        raise _refusal(
            f"{name} is applied to, or gives, more than tensors, or changes one it keeps"
        )
    backward = getattr(getattr(func, "__self__", None), "backward", None)
    if isinstance(backward, types.FunctionType):
        name = next(_read_outside(backward), None)
        if name is not None:
            raise _refusal(f"{backward.__qualname__} reads {name}, which may change")


def _is_array(x: Any) -> bool:
    """An array of NumPy, or a truth value, which torch takes for a float; its numbers are plain."""
    return is_array(x) and (type(x).__hash__ is None or x.dtype.kind == "b")


def _refusal(why: str) -> BackendError:
    """A refusal: no compiler was asked, and the program can run as it is."""
    return refused(BackendError, "the program is not one for torch's compilers", why=why)


def _need_exact_floats(graph: Graph) -> None:
    if has_inexact_float(graph):
        raise _refusal("a float is computed from integers that float64 would round")


def _need_seen_changes(graph: Graph) -> None:
    """Refuse a change through `.data` where gradients flow. A backward in eager execution finds the
    new data; which ones compilers save depends on how they reorder the program.
    """
    changed = [n for n in graph.nodes if n.func is DATA and _changes_after(n)]
    sources = [*graph.inputs, *[value for value, _ in graph.constants]]
    if changed and any(value.meta.requires_grad for value in sources):
        raise _refusal("a tensor is changed through .data, which autograd must not notice")


def _need_sizes(graph: Graph) -> None:
    """Refuse a call that gives a tensor another size in place: compilers keep that inside."""
    for node in graph.nodes:
        if node.func in _RESIZES:
            raise _refusal(f"{op_name(node.func)} changes the size of a tensor in place")


def need_fresh_casts(graph: Graph, outer: tuple[Any, ...]) -> None:
    """Refuse a program to which it matters that autocast keeps its casts of leaves: one changes, or
    is cast to a second dtype. Compilers cast at every use. `outer` is the caller's autocast.
    """
    blocks = [outer, *[n.args[0] for n in graph.nodes if n.func is set_autocast]]
    settings = [casts_kept(setting) for setting in blocks]
    pairs = {pair for setting in settings for pair in setting.items()}
    sources = [*graph.inputs, *[value for value, _ in graph.constants]]
    kept = [v for v in sources if v.meta.requires_grad and v.meta.dtype is torch.float32]
    is_second = len(pairs) > len({device for device, _ in pairs})
    if pairs and kept and (is_second or any(v.root.version for v in kept)):
        raise _refusal("autocast keeps a cast of a tensor, which changes or is cast otherwise")


def _need_memory_of_its_own(graph: Graph) -> None:
    """Refuse a write to memory that another operand views, or that a view repeats. The kernels of
    eager execution check that, or write one operand after the other; compilers write to copies.
    """
    for node, after in itertools.zip_longest(graph.nodes, graph.nodes[1:]):
        if after is not None and after.epoch == node.epoch:  # it changes nothing
            continue
        lists = [values_in(a, {}) for a in node.args if type(a) in (list, tuple)]
        single = set(values_in(node.args, node.kwargs)).difference(*lists)
        operands = [*single, *itertools.chain(*lists)]  # one of a list may be there twice
        written = [v for v in operands if v.root.version > node.epoch]
        if len({v.root for v in written}) < len(written):
            raise _refusal(f"{op_name(node.func)} writes to memory that another operand views")
        if any(map(_repeats, written)):
            raise _refusal(f"{op_name(node.func)} writes to a view that may repeat its memory")


def _repeats(value: Value) -> bool:
    """Whether a view may have several elements in one place."""
    while value.node is not None and value.root is not value:
        if op_name(value.node.func).removeprefix("Tensor.") in _REPEATING:
            return True
        (value, *_) = values_in(value.node.args, value.node.kwargs)
    return False


def _changes_after(node: Node) -> bool:
    return type(node.outs) is Value and node.outs.root.version > node.epoch


def _need_silent(graph: Graph) -> None:
    for node in filter(may_warn, graph.nodes):
        raise _refusal(f"{op_name(node.func)} may warn, which they do not repeat on every run")


def _probability(node: Node) -> Any:
    return node.args[1] if len(node.args) > 1 else node.kwargs.get("p")


def _changes_leaf(node: Node) -> bool:
    """Whether a call turns a tensor into a leaf that gradients flow into, or changes an input."""
    x = node.args[0]
    of_input = type(x) is Value and x.root.kind == INPUT
    on = node.func is torch.Tensor.requires_grad_ and (len(node.args) == 1 or bool(node.args[1]))
    return of_input or on


def _read_outside(function: types.FunctionType) -> Iterator[str]:
    """The globals and cells of a function, parts of torch and plain functions aside."""
    names = {i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"}
    for name in sorted(names):
        if name in function.__globals__ and not _is_fixed(function.__globals__[name]):
            yield name
    yield from function.__code__.co_freevars


def _is_fixed(x: Any) -> bool:
    fixed = types.ModuleType | types.BuiltinFunctionType
    return isinstance(x, fixed) or in_package(getattr(x, "__module__", None), "torch")


def unused_draws(graph: Graph) -> list[Value]:
    """The results of random ops that no output depends on. Compilers drop such calls; eager
    execution draws.
    """
    needed = {leaf for leaf in leaves(graph.outputs) if type(leaf) is Value}
    unused: list[Value] = []
    for node in reversed(graph.nodes):
        made = [leaf for leaf in leaves(node.outs) if type(leaf) is Value]
        draws = node.func in RANDOM
        if draws and not any(value in needed for value in made):
            unused += made[:1]
        if draws or not made or any(value in needed for value in made):
            needed.update(values_in(node.args, node.kwargs))
    return unused
