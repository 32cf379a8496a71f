"""Fake inputs of a part, and the layouts of its results as torch finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.domain import INF, NINF
from anyshape.expr.traverse import names_of
from anyshape.interop.arithmetic import compute, interpreter
from anyshape.interop.fakes import Fakes, make_symbol, new_mode, strides_in_order
from anyshape.interop.node_example import Examples
from anyshape.interop.regions.part import NoRegionsError
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat.fake_kernel import enable_python_dispatcher
from anyshape.torch_compat.fake_tensor import general_paths
from anyshape.trace.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch.fx import GraphModule

    from anyshape.env import Env
    from anyshape.interop.regions.layout import Layouts
    from anyshape.interop.regions.part import Part

_POINTS: Final = 3  # sizes at which layouts are compared


def make_part_fakes(
    part: Part, env: Env, hints: Mapping[str, Any], layouts: Layouts, grads: Sequence[bool]
) -> Fakes:
    """Fake inputs of a part; `grads` says into which of its tensors gradients flow."""
    mode = new_mode()
    numbers: dict[str, Any] = dict(part.fixed)
    names: dict[str, str] = {}
    number = interpreter(numbers.__getitem__, compute)
    for i, name in enumerate(part.symbols):
        if name in part.derived:
            numbers[name] = number(part.derived[name])
        else:
            hint = _hint(env, name, hints.get(name, 37 + 2 * i))
            numbers[name] = made = make_symbol(env, mode.shape_env, name, hint)
            names[str(made.node.expr)] = name
    tensors = []
    single = False
    with mode, general_paths():
        for v, grad in zip(part.ins, grads, strict=True):
            meta = v.meta
            shape = _numbers(meta.shape, number)
            strides = _strides(layouts, v, shape, number)
            made = torch.empty_strided(shape, strides, dtype=meta.dtype, device=meta.device)
            tensors.append(made.requires_grad_(grad))
            sizes = [n.expr for n in meta.shape if type(n) is SymInt]
            single = single or any(env.range_of(e).lo < 2 for e in sizes)
    return Fakes(mode, mode.shape_env, numbers, names, tensors, single)


def _hint(env: Env, name: str, hint: Any) -> Any:
    lo, hi = env.range_of(env.symbols[name].expr)
    low = hint if lo == NINF else max(hint, int(lo))
    return low if hi == INF else min(low, int(hi))


def _strides(layouts: Layouts, v: Value, shape: Sequence[Any], number: Any) -> list[Any]:
    found = layouts.of(v)
    if found is None:
        raise NoRegionsError(f"the strides of {v} are known to the run only")
    order, strides = found
    if strides is None:
        return strides_in_order(shape, order or range(len(shape)))
    return _numbers(strides, number)


def _numbers(sizes: Sequence[Any], number: Any) -> list[Any]:
    """Sizes as numbers of torch's."""
    return [number(n.expr) if type(n) is SymInt else n for n in sizes]


def need_layouts(part: Part, module: GraphModule, fakes: Fakes, layouts: Layouts) -> None:
    """Raise unless torch lays the results out as the trace says, at some sizes.

    The next part is compiled for tensors that are laid out as the trace says. The results of the
    nodes are noted.
    """
    try:
        with fakes.mode, general_paths(), enable_python_dispatcher():
            results = Examples(module, fakes).run(*fakes.inputs())
    except Exception as e:  # torch's own, about anything that it does not take
        raise NoRegionsError(f"torch does not run a part on fake tensors: {e}") from e
    number = interpreter(fakes.numbers.__getitem__, compute)
    for v, result in zip(part.outs, results, strict=True):
        if type(v) is not Value:
            continue
        if any(name in part.names for name in _names(v, layouts)):
            if layouts.of(v) != (tuple(range(len(v.meta.shape))), None):
                raise NoRegionsError(f"the strides of {v} depend on a number made inside")
            continue
        shape = _numbers(v.meta.shape, number)
        strides = _strides(layouts, v, shape, number)
        same = result.dtype == v.meta.dtype and result.device == v.meta.device
        same = same and (layouts.requires_grad(v) or not result.requires_grad)
        if not same or not _agree((result.shape, result.stride()), (shape, strides), fakes):
            raise NoRegionsError(f"torch lays out {v} otherwise: {result}, not {v.meta}")


def _names(v: Value, layouts: Layouts) -> set[str]:
    sizes = (*v.meta.shape, *layouts.strides(v))
    return {name for n in sizes if type(n) is not int for name in names_of(n.expr)}


def _agree(found: Any, wanted: Any, fakes: Fakes) -> bool:
    """Whether sizes and strides agree at some values of the symbols."""
    if len(found[0]) != len(wanted[0]):
        return False
    symbols = [n.node.expr for n in fakes.numbers.values() if isinstance(n, torch.SymInt)]
    free = sorted({s for e in symbols for s in e.free_symbols}, key=str)
    for point in range(_POINTS):
        values = {s: 5 + 7 * point + 3 * i * (point + 1) for i, s in enumerate(free)}
        for sizes, strides, size, stride in zip(*found, *wanted, strict=True):
            if _at(sizes, values) != _at(size, values):
                return False
            if _at(size, values) != 1 and _at(strides, values) != _at(stride, values):
                return False
    return True


def _at(n: Any, values: dict[Any, int]) -> Any:
    return n.node.expr.xreplace(values) if isinstance(n, torch.SymInt) else n
