"""Kinds of objects: atoms, whose attributes a trace need not watch, and containers."""

from __future__ import annotations

import functools
import types
from collections import deque
from typing import Final

import torch

from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.trace.sequence.sym_list import SymList
from anyshape.trace.sequence.sym_range import SymRange
from anyshape.trace.sequence.walker import WALKERS

Function: Final = types.FunctionType
SYMBOLIC: Final = frozenset({SymTensor, SymSize, SymInt, SymFloat, SymBool, NumpyInt, NumpyBool})
ATOMS: Final = frozenset(
    {
        *SYMBOLIC,
        SymList,
        SymRange,
        *WALKERS,
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        type(None),
        type(Ellipsis),
        type(NotImplemented),
        slice,
        range,
        torch.Size,
        torch.dtype,
        torch.device,
        torch.layout,
        torch.memory_format,
        types.BuiltinFunctionType,
        types.MethodWrapperType,
        types.CodeType,
    }
)
CONTAINERS: Final = (list, dict, set, tuple, frozenset, deque, bytearray)
NOT_MADE: Final = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION: only C makes objects of these
LRU: Final = type(functools.lru_cache(lambda: None))
COLLECTED: Final = 1 << 14  # Py_TPFLAGS_HAVE_GC: classes whose objects may refer to others
HEAP: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: classes that Python code can change
