"""Tensors without data: shape, dtype, device and lazy layout. See the folder's README."""

from anyshape.tensor.layout import CONTIGUOUS as CONTIGUOUS
from anyshape.tensor.layout import Layout as Layout
from anyshape.tensor.meta import Meta as Meta
from anyshape.tensor.size import Size as Size
from anyshape.tensor.sym_tensor import SymTensor as SymTensor
