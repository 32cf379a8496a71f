"""Tensors that wrap other tensors: calls on them are recorded as they are.

A class that takes part in torch's protocol (`__tensor_flatten__`, `__tensor_unflatten__`,
`__torch_dispatch__`) decides itself what an op does. The program therefore calls the op on the
tensor of that class, as eager execution does. For the shapes of the results, the class runs on
tensors without data while the program is traced.

A result of such a class is stood for by a tensor of the same class around traced tensors, which are
read off the result when the program runs. So attributes and methods of the class work as they are.
"""

from __future__ import annotations

from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import ShapeError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.bridge import run_meta_kernel, wrapped_like
from anyshape.rules.dispatch.result import Defined, Done, Many, Wrapped
from anyshape.rules.dispatch.sym_node import number_of, to_ours, to_stock
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout, strides_of
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.tensor.sym_tensor import SymTensor, make
from anyshape.torch_compat.aten_op import DATA
from anyshape.torch_compat.tensor_subclass import is_wrapper, make_wrapper_subclass
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.argument.wrapper_form import WrapperForm
from anyshape.trace.birth import need_origin
from anyshape.trace.graph.graph import CONSTANT, RESULT, Name, Node, Value, values_in
from anyshape.trace.options import REPLAYED
from anyshape.trace.scan import Scan, hidden_in

_DATA: Final = frozenset(
    ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__complex__", "__index__")
)
_MADE: Final = (Meta, Many, Defined, Wrapped)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.graph.graph import Graph
    from anyshape.trace.tracer import Tracer


def call_with_wrapper(
    tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call one of whose operands or whose result wraps other tensors; what it returns."""
    if is_any_autocast_enabled():
        raise _refusal(func, "under autocast")
    if getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__"):
        func, args = _as_method(func, args)
    if _changes(func, kwargs):
        raise _refusal(func, "in place")
    if getattr(func, "__name__", "") in _DATA:
        raise _refusal(func, "which needs data,")
    frozen, named = _frozen(tracer, args), _frozen(tracer, kwargs)
    try:
        result, base = run_meta_kernel(func, args, kwargs)
    except ShapeError as e:
        raise _refusal(func, f"fails ({e.what})") from e
    if type(result) is Done:
        return result.value
    if type(result) is Many and not any(type(part) in _MADE for part in result.parts):
        return result.build(result.parts)  # sizes and strides
    scan = Scan(tracer)
    given_args, given_named = scan.args(frozen), scan.named(named)
    if isinstance(func, type):
        given_args = tuple(map(_as_given, given_args, frozen))
        given_named = {k: _as_given(x, named[k]) for k, x in given_named.items()}
    node = tracer._node(func, given_args, given_named)
    values = values_in(node.args, node.kwargs)
    grad = torch.is_grad_enabled() and any(v.meta.requires_grad for v in values)
    node.outs, given = _results(tracer, node, result, grad)
    if tracer._fresh:
        tracer._bind(node)
    given = _stood_for(tracer, given)
    if base is not None:
        tracer.alias(given, base)
    return given


def given_wrapper(tracer: Tracer, outer: SymTensor, example: Any) -> Any:
    """What the program gets for an input that wraps other tensors, as the example does."""
    if tracer.options.effects != REPLAYED:  # no guard has looked at it
        tracer.emit(WrapperForm(example), (outer,))
    with DisableTorchFunction():
        result = wrapped_like(example, outer._meta.shape)
    return _stand_in(tracer, outer._value, Wrapped(outer._meta, result.made, result.inner))


def value_of(tracer: Tracer, tensor: Any) -> Value:
    """The value for a tensor that wraps others: a constant, unless the program made it."""
    found = tracer.wrappers.get(id(tensor))
    if found is not None:
        return found[1]
    need_origin(tracer, tensor)
    value = Value(len(tracer.graph.constants), CONSTANT, _meta(tensor))
    tracer.note(value.meta)
    tracer.graph.constants.append((value, tensor))
    tracer.wrappers[id(tensor)] = (tensor, value)
    return value


def is_held(x: Any) -> bool:
    """Whether a value is a tensor that wraps others."""
    return type(x) is not SymTensor and is_wrapper(type(x))


def drop_unused(graph: Graph, start: int) -> None:
    """Drop the reads of wrapped tensors that nothing uses, of the calls from `start` on."""
    if not any(node.func is getattr for node in graph.nodes[start:]):
        return
    used = set(values_in(graph.outputs, {}))
    kept = []
    for node in reversed(graph.nodes[start:]):
        if node.func is getattr and node.outs not in used:
            continue
        used.update(values_in(node.args, node.kwargs))
        kept.append(node)
    graph.nodes[start:] = reversed(kept)


def _frozen(tracer: Tracer, x: Any) -> Any:
    """Arguments with values in place of the tensors that wrap others."""
    if is_held(x):
        return value_of(tracer, x)
    if type(x) in (tuple, list):
        return type(x)([_frozen(tracer, part) for part in x])
    if type(x) is dict:
        return {k: _frozen(tracer, part) for k, part in x.items()}
    return x


def _as_given(frozen: Any, x: Any) -> Any:
    """An argument of a class of the user's, which may tell a named tuple from another."""
    if not isinstance(x, tuple) or not hasattr(x, "_fields"):
        return frozen
    if hidden_in(x, (SymTensor, Value, SymInt, SymFloat, SymBool)) is not None:
        raise refused(
            UnsupportedError,
            f"a {type(x).__name__} with tensors or symbolic numbers in it, given to a tensor that"
            " wraps others",
            fix="make it outside the traced function, or give its parts",
        )
    return x


def _results(tracer: Tracer, node: Node, result: Any, grad: bool) -> tuple[Any, Any]:
    """The outputs of a node, and the results with values in place of their metadata."""
    if type(result) is Many:
        pairs = [_results(tracer, node, part, grad) for part in result.parts]
        return tuple([out for out, _ in pairs]), Many([part for _, part in pairs], result.build)
    if type(result) is Defined:
        name = Name(str(result.number))
        return name, result.number
    if type(result) not in (Meta, Wrapped):
        return None, result
    meta = result.meta if type(result) is Wrapped else result
    if meta.requires_grad is None:
        meta.requires_grad = grad and (meta.dtype.is_floating_point or meta.dtype.is_complex)
    tracer.note(meta)
    value = Value(tracer.next_result(), RESULT, meta, node)
    return value, (value, result)


def _stood_for(tracer: Tracer, given: Any) -> Any:
    """What the program gets for the results of a recorded call."""
    if type(given) is Many:
        return given.build([_stood_for(tracer, part) for part in given.parts])
    if type(given) is not tuple:
        return given
    value, result = given
    if type(result) is Meta:
        return make(result, value, tracer)
    return _stand_in(tracer, value, result)


def _stand_in(tracer: Tracer, value: Value, result: Wrapped) -> Any:
    """A tensor of the class of a result, around traced tensors that are read off the result."""
    meta = result.meta
    with DisableTorchFunction():
        stand_in = make_wrapper_subclass(
            type(result.made),
            [to_stock(n) for n in meta.shape],
            strides=[to_stock(n) for n in strides_of(meta)],
            dtype=meta.dtype,
            device=meta.device,
            requires_grad=meta.requires_grad,
        )
        for name, x in _attributes(result.made):
            _assign(stand_in, name, to_ours(x))
    for name, part in result.inner.items():
        if type(part) is Done:
            _assign(stand_in, name, part.value)
            continue
        node = tracer.emit(getattr, (value, name))
        inner = part.meta if type(part) is Wrapped else part
        if inner.requires_grad is None:
            inner.requires_grad = False  # the class computed below autograd
        node.outs = read = Value(tracer.next_result(), RESULT, inner, node)
        read.root = value.root
        _assign(stand_in, name, _stood_for(tracer, (read, part)))
    return _keep(tracer, stand_in, value)


def _attributes(tensor: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of its own that a tensor has, those in slots among them."""
    yield from vars(tensor).items()
    for name, slot in _slots(type(tensor)).items():
        try:
            yield name, slot.__get__(tensor)
        except AttributeError:  # it is not set
            continue


def _assign(tensor: Any, name: str, value: Any) -> None:
    """Set an attribute, and call nothing of the class."""
    slot = _slots(type(tensor)).get(name)
    if slot is None:
        vars(tensor)[name] = value
    else:
        slot.__set__(tensor, value)


def _slots(kind: type) -> dict[str, Any]:
    """The descriptors of the slots of a class, by name."""
    bases = [base for base in reversed(kind.__mro__) if "__slots__" in vars(base)]
    found = {name: x for base in bases for name, x in vars(base).items()}
    return {name: x for name, x in found.items() if type(x) is MemberDescriptorType}


def _keep(tracer: Tracer, tensor: Any, value: Value) -> Any:
    tracer.wrappers[id(tensor)] = (tensor, value)
    if tracer.recorder is not None:
        tracer.recorder.born(tensor)
    return tracer.births.note(tensor)


def _meta(tensor: torch.Tensor) -> Meta:
    """The metadata of a tensor of such a class, in our numbers."""
    with DisableTorchFunction():
        shape = tuple([number_of(n) for n in tensor.shape])
        if all(type(n) is int for n in shape):
            return meta_of_real(tensor)
        layout = CONTIGUOUS
        if not tensor.is_contiguous():
            layout = Layout(strides=tuple([number_of(n) for n in tensor.stride()]))
        return Meta(shape, tensor.dtype, layout, tensor.device, tensor.requires_grad)


def _as_method(func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The method, with its arguments, that gives an attribute of a tensor."""
    name, x = func.__self__.__name__, args[0]
    if func.__name__ == "__get__":
        if name == "data":
            return DATA, (x,)
        if name == "T":
            return torch.Tensor.permute, (x, tuple(reversed(range(x.dim()))))
        if name == "mT":
            return torch.Tensor.transpose, (x, -2, -1)
    raise _refusal(func.__self__, "as an attribute")


def _changes(func: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call changes an operand, by its name."""
    name = getattr(func, "__name__", "")
    is_special = name.startswith("__")
    if kwargs.get("out") is not None or name == "__setitem__":
        return True
    return name.startswith("__i") and name != "__invert__" if is_special else name.endswith("_")


def _refusal(func: Any, how: str) -> UnsupportedError:
    site = capture_site()
    name = getattr(func, "__name__", str(func))
    return refused(
        UnsupportedError,
        f"{name} {how} on a tensor that wraps others" + (f" at {site}" if site else ""),
        fix="do it on the tensors that it wraps, or outside the traced function",
    )
