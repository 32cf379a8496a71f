"""Numbers as tensors without dimensions, which torch's calls of graphs give and take.

Of integers, the values that torch knows and those that it does not cannot be joined; floats and
truths are no operands and no results at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sympy
import torch

from anyshape.domain import INF, NINF
from anyshape.interop.aten.writer import SCALAR_TENSOR
from anyshape.torch_compat.pre_dispatch import ITEM
from anyshape.torch_compat.sympy_expression import as_number

if TYPE_CHECKING:
    from anyshape.interop.aten.writer import AtenWriter

_ATEN: Final[Any] = torch.ops.aten
_DTYPES: Final[dict[Any, torch.dtype]] = {
    int: torch.int64,
    torch.SymInt: torch.int64,
    float: torch.float64,
    torch.SymFloat: torch.float64,
    bool: torch.bool,
    torch.SymBool: torch.bool,
}


def dtype_of(x: Any) -> torch.dtype | None:
    """The dtype of the tensor that stands for a number; None if `x` is none."""
    return _DTYPES.get(type(x))


def box_like(writer: AtenWriter, dtype: torch.dtype) -> Any:
    """A fake tensor that stands for a number."""
    return writer.fakes.make([], None, dtype, torch.device("cpu"), own=True)


def box(writer: AtenWriter, x: Any) -> Any:
    """A tensor of a number."""
    dtype = _DTYPES[type(x)]
    fake = box_like(writer, dtype)
    if type(x) is not torch.SymBool:
        node = writer.emit(SCALAR_TENSOR, (writer.node_arg(x),), fake, dtype=dtype)
    else:
        node = writer.numbers.test(x)
        if not isinstance(node.meta["val"], torch.Tensor):
            one = sympy.Piecewise((1, x.node.expr), (0, True))
            chosen = writer.numbers.call(torch.sym_ite, (node, 1, 0), one)
            as_int = box_like(writer, torch.int64)
            node = writer.emit(SCALAR_TENSOR, (chosen,), as_int, dtype=torch.int64)
            node = writer.emit(_ATEN.ne.Scalar, (node, 0), fake)
        else:
            fake = node.meta["val"]
    writer.note(fake, node)
    return fake


def unbox(writer: AtenWriter, tensor: Any) -> Any:
    """The number that a tensor holds, read off it."""
    node, symbols = writer.node_arg(tensor), writer.symbols
    if tensor.dtype is torch.float64:
        number = symbols.unnamed_float()
    else:
        is_truth = tensor.dtype is torch.bool
        number = symbols.unnamed(0, 1) if is_truth else symbols.unnamed(NINF, INF)
        if is_truth:
            writer.numbers.tests[number.node.expr] = node
            node = writer.emit(_ATEN.to.dtype, (node, torch.int64), box_like(writer, torch.int64))
    item = writer.emit(ITEM, (node,), number)
    item.meta["unbacked_bindings"] = {number.node.expr: ()}
    writer.numbers.made[number.node.expr] = item
    if tensor.dtype is torch.bool:
        return as_number(symbols.shape_env, sympy.Eq(number.node.expr, 1))
    return number
