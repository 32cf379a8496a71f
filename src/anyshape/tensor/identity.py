"""`type`, `isinstance`, `is` and `id` for traced tensors and numbers: what eager execution gives.

A traced tensor stands for a real one, whose class and identity the input contract fixes where the
program asked. Some ops return their operand where nothing changes; where that depends on the
layout, the layout is guarded.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

import torch

from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt, scalar_class, scalar_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, SymTensor, class_of, make

_SAMPLES: Final[dict[type, Any]] = {
    SymInt: 1,
    SymBool: True,
    SymFloat: 1.0,
    SymSize: torch.Size(()),
    NumpyInt: None,
    NumpyBool: None,
}
_TENSOR: Final = torch.empty(0)
_PARAMETER: Final = torch.nn.Parameter(_TENSOR, requires_grad=False)
_TRACED: Final = {SymTensor, *_SAMPLES}
_LEGACY: Final = type(torch.FloatTensor)
_SMALL: Final = (-5, 256)  # CPython has one object for each of these integers


def stand_for(kind: type, sample: Any) -> None:
    """Note that objects of a class stand, in a trace, for objects like the sample."""
    _SAMPLES[kind] = sample
    _TRACED.add(kind)


def type_of(x: Any) -> type:
    """`type(x)`."""
    kind = type(x)
    if kind is SymTensor:
        x._tracer.asked_class = True
        return class_of(x)
    return type(_sample(x)) if kind in _SAMPLES else kind


def _sample(x: Any) -> Any:
    """A plain number or size of the class that a traced one has in eager execution."""
    scalar = scalar_of(x)
    return scalar_class(scalar)(1) if scalar else _SAMPLES[type(x)]


def is_instance(x: Any, classes: Any) -> bool:
    """`isinstance(x, classes)`."""
    kind = type(x)
    if kind not in _TRACED:
        return isinstance(x, classes)
    if kind in _SAMPLES:
        return isinstance(_sample(x), classes)
    if isinstance(classes, tuple):
        return any(is_instance(x, c) for c in classes)
    if type(classes) is _LEGACY:
        on_cpu = classes.__module__ == "torch"
        return bool(x.dtype is classes.dtype and x.device.type == ("cpu" if on_cpu else "cuda"))
    if isinstance(_TENSOR, classes) is not isinstance(_PARAMETER, classes):
        is_new = x._value.root.node is not None  # made by an op, whatever the inputs are
        x._tracer.asked_class |= not is_new
    return isinstance(x, classes)


def is_same(a: Any, b: Any) -> bool:
    """`a is b`."""
    if a is b:
        return True
    kinds = {type(a), type(b)}
    if not kinds & _TRACED:
        return False
    if SymTensor in kinds:
        return _is_same_tensor(a, b)
    if SymBool in kinds:
        both = all(type(x) in (bool, SymBool) for x in (a, b))
        return both and bool(a) is bool(b)
    if all(type(x) in (int, SymInt) for x in (a, b)):
        return bool(a == b) and bool(a >= _SMALL[0]) and bool(a <= _SMALL[1])
    return False


def identity_of(x: Any) -> int:
    """`id(x)`: equal for two tensors if and only if `is_same` holds for them."""
    if type(x) is not SymTensor:
        return id(x)
    x._tracer.asked_identity = True
    value = _origin(x)
    real = x._tracer.observations.real_of(x._tracer, value)
    return id(value if real is None else real)


def _is_same_tensor(a: Any, b: Any) -> bool:
    if type(a) is not SymTensor:
        a, b = b, a
    value = _origin(a)
    if type(b) is SymTensor:
        a._tracer.asked_identity = True
        return value is _origin(b)
    if not isinstance(b, torch.Tensor):
        return False
    tracer = a._tracer
    real = tracer.observations.real_of(tracer, value)
    if real is not None:
        return real is b
    return value.node is None and bool(tracer.observations.is_input(tracer, value, b))


def _origin(t: SymTensor) -> Any:
    """The value whose object a tensor is: its own, or that of an operand that was returned."""
    value = t._value
    while value.node is not None and _returns_operand(t._tracer, value.node):
        value = value.node.args[0]
    return value


def _returns_operand(tracer: Any, node: Any) -> bool:
    """Whether a call gave back its operand, as `contiguous()` does for a contiguous tensor."""
    name = getattr(node.func, "__name__", "")
    if name != "contiguous" and "memory_format" not in node.kwargs:
        return False
    given = node.args[1] if name == "contiguous" and len(node.args) > 1 else None
    memory_format = given or node.kwargs.get("memory_format") or torch.contiguous_format
    operand = node.args[0]
    if name not in _CASTS or node.outs.meta.dtype is not operand.meta.dtype:
        return False
    asked = make(operand.meta, operand, tracer)
    if name == "contiguous":
        return bool(asked.is_contiguous(memory_format=memory_format))
    other = torch.channels_last if asked.dim() == 4 else torch.channels_last_3d
    is_other = asked.is_contiguous(memory_format=other) and not asked.is_contiguous()
    return is_other is (memory_format is other)


_CASTS: Final = frozenset(
    itertools.chain(
        ("contiguous", "to", "cpu", "float", "double", "half", "bfloat16", "long", "int", "short"),
        ("char", "byte", "bool", "cfloat", "cdouble", "chalf"),
    )
)
