"""`SymTensor`: a tensor without data that a program under trace computes with.

It is a real subclass of `torch.Tensor` over one shared empty tensor on the meta device, so that
`isinstance` and torch's argument parser take it. All methods and properties are Python ones that
hand the call to the tracer. Nothing ever computes on the shared tensor: a call that reaches torch's
dispatcher raises.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.env.site import capture as capture_site
from anyshape.env.site import is_asked_by_user
from anyshape.errors import ArgumentError, UnsupportedError
from anyshape.events import OpCall, listeners
from anyshape.refusal import refused
from anyshape.symbolic.numpy_calls import with_shapes
from anyshape.tensor.current import current
from anyshape.tensor.index_operand import IndexOperand
from anyshape.tensor.observed import observed_grad, observed_offset, observed_strides
from anyshape.tensor.python_method import noted
from anyshape.tensor.reflected_operator import STRAIGHT, reflected
from anyshape.tensor.size import plain, product
from anyshape.tensor.wrapper import WrapperOperand
from anyshape.torch_compat.aten_op import DATA
from anyshape.torch_compat.call_frame import overridable
from anyshape.torch_compat.tensor_subclass import (
    CONSTRUCTORS,
    IS_PARAMETER,
    VIEW_BASE,
    make_subclass,
)

if TYPE_CHECKING:
    from anyshape.tensor.meta import Meta


ROWS: Final[dict[Any, Any]] = {}  # torch function -> handler of its calls, memoized
MISSING: Final = object()  # for an attribute that a tensor does not have
ESCAPED: Final = "reached torch's dispatcher with a traced tensor"


class SymSize(tuple[Any, ...]):
    """The shape of a `SymTensor` with symbolic sizes; taken for a `torch.Size`."""

    __slots__ = ()

    @property  # type: ignore[misc]  # to be taken for torch's class is the point
    def __class__(self) -> type:
        return torch.Size

    def numel(self) -> Any:
        """The number of elements."""
        return plain(product(self))

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return size_of(part) if isinstance(key, slice) else part

    def __add__(self, other: Any) -> Any:
        return size_of(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return size_of(tuple(other) + tuple(self))

    def __mul__(self, count: Any) -> Any:
        return size_of(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __array_function__(self, function: Any, _types: Any, args: Any, named: Any) -> Any:
        return with_shapes(function, args, named)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return tuple.__ne__(self, other)


def size_of(shape: tuple[Any, ...]) -> Any:
    """A shape as users see it: torch's own class if all sizes are known."""
    for n in shape:
        if type(n) is not int:
            return SymSize(shape)
    return torch.Size(shape)


class SymTensor(torch.Tensor):
    """See the module. `_meta` is its present metadata, `_value` its place in the graph."""

    __slots__ = ("_kind", "_leaf", "_meta", "_tracer", "_value")

    _kind: type
    _leaf: bool
    _meta: Meta
    _value: Any
    _tracer: Any

    @property  # type: ignore[misc]  # to be taken for torch's class is the point
    def __class__(self) -> type:
        return class_of(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return current().call(overridable(func), args, kwargs or {})

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch's stub leaves the function out
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        site = capture_site()
        raise refused(
            UnsupportedError,
            f"{func} {ESCAPED}" + (f" at {site}" if site else ""),
            why="the call went around the tracer, as inside vmap, torch.jit.script or autograd; a"
            " traced tensor has no data to compute with",
            fix="call the op on the tensors directly, or keep this code out of the traced function",
            code="AS114",
        )


DUMMY: Final = torch.empty(0, device="meta")
_NUMBER: Final = torch.empty((), device="meta")
_INTEGER: Final = torch.empty((), device="meta", dtype=torch.int64)


def number_like(dtype: torch.dtype) -> torch.Tensor:
    """What is behind a traced tensor without dimensions: functions of torch look at that before
    they take it for a number, as `alpha` of `torch.add`.
    """
    return _NUMBER if dtype.is_floating_point or dtype.is_complex else _INTEGER


def make(meta: Meta, value: Any, tracer: Any) -> SymTensor:
    """A tensor for a value of the graph."""
    t: SymTensor = make_subclass(SymTensor, DUMMY if meta.shape else number_like(meta.dtype))
    t._meta = meta
    t._value = value
    t._tracer = tracer
    return t


def alter(t: SymTensor, meta: Meta) -> None:
    """Give a tensor other metadata, as calls in place do.

    An item of a list may be the same tensor under another name, which would keep the old ones.
    """
    if t._tracer.has_lists:
        t._tracer.need_alone(t)
    t._meta = meta


# ---------------------------------------------------------------------- properties


def _flag(value: Any) -> property:
    return property(lambda _: value)


def _on(*kinds: str) -> property:
    return property(lambda t: t._meta.device.type in kinds)


def _observe(t: SymTensor, name: str) -> Any:
    """A part of the state of an input, to be guarded."""
    return t._tracer.observations.of(t._tracer, t._value, name)


_ABOUT_LEAVES: Final = (torch.Tensor.requires_grad_, torch.Tensor.detach_)


def _is_leaf(t: SymTensor) -> bool:
    t._tracer.asked_grad = True
    if not t._meta.requires_grad or hasattr(t, "_leaf"):
        return True
    value = t._value
    if value.node is not None:  # a result; one that was made as a leaf says so
        return value.node.kwargs.get("requires_grad") is True
    if value.version and not value.meta.requires_grad:
        return False  # an input that requires grad since it was written to
    if value.version and any(n.func in _ABOUT_LEAVES for n in t._tracer.graph.nodes):
        raise _untracked("whether an input that is written to is a leaf")
    return bool(_observe(t, "is_leaf"))


def _grad(t: SymTensor) -> Any:
    is_known, found = t._tracer.gradient(t)
    if is_known:
        return found
    if t._value.node is None:
        if _observe(t, "grad") is not None:
            raise _untracked("the gradient of an input")
    elif not _is_leaf(t):
        t._tracer.read_gradient(t)
    return None


def _set_grad(t: SymTensor, value: Any) -> None:
    if not t._tracer.assign_gradient(t, value):
        _refuse_set("grad")(t, value)


def _grad_fn(t: SymTensor) -> None:
    if not _is_leaf(t):
        raise _untracked("grad_fn of a traced tensor", of_history=True)


def _base(t: SymTensor) -> None:
    value = t._value
    if value.root is not value or (value.node is None and _observe(t, "is a view")):
        raise _untracked("the base of a view", of_history=True)


def _untracked(what: str, *, of_history: bool = False) -> UnsupportedError:
    site = capture_site()
    error = refused(
        UnsupportedError,
        f"{what} is not tracked" + (f": asked at {site}" if site else ""),
        fix="do not let the program depend on it",
    )
    error.asks_history = of_history
    return error


def _missing(t: SymTensor, name: str) -> Any:
    """An attribute that the class does not have: one that the user has set on the input."""
    if name in SymTensor.__slots__:
        raise AttributeError(name)  # not set
    if not name.startswith("__"):
        value = t._value
        if value.node is None:
            found = t._tracer.observations.attribute(t._tracer, value, name)
            if found is not MISSING:
                return found
    raise AttributeError(f"'{class_of(t).__name__}' object has no attribute {name!r}")


def class_of(t: SymTensor) -> type:
    """The class that the tensor has in eager execution."""
    found: type = getattr(t, "_kind", torch.Tensor)
    return found


def _is_parameter(t: SymTensor) -> bool:
    is_new = t._value.root.node is not None  # made by an op, whatever the inputs are
    t._tracer.asked_class |= not is_new
    return issubclass(class_of(t), torch.nn.Parameter)


def _make_parameter(t: SymTensor, _: bool) -> None:
    """The last step of `nn.Parameter(t)`: the detached leaf becomes a parameter."""
    t._value = t._tracer.parameter(t)
    t._kind = torch.nn.Parameter
    t._tracer.track(t)


def _refuse_set(name: str) -> Any:
    def refuse(_: SymTensor, __: Any) -> NoReturn:
        site = capture_site()
        raise refused(
            UnsupportedError,
            f"assigning .{name} of a traced tensor" + (f" at {site}" if site else ""),
            fix="use copy_ or set the attribute outside the traced function",
        )

    return refuse


def _set_data(t: SymTensor, value: Any) -> None:
    t._tracer.assign_data(t, value)


def _set_requires_grad(t: SymTensor, value: bool) -> None:
    t.requires_grad_(value)


_PROPERTIES: Final[dict[str, property]] = {
    "shape": property(lambda t: size_of(t._meta.shape)),
    "dtype": property(lambda t: t._meta.dtype),
    "device": property(lambda t: t._meta.device),
    "ndim": property(lambda t: len(t._meta.shape)),
    "itemsize": property(lambda t: t._meta.dtype.itemsize),
    "nbytes": property(lambda t: plain(product(t._meta.shape)) * t._meta.dtype.itemsize),
    "layout": _flag(torch.strided),
    "requires_grad": property(observed_grad, _set_requires_grad),
    "is_leaf": property(_is_leaf),
    "grad": property(_grad, _set_grad),
    "grad_fn": property(_grad_fn),
    "data": property(lambda t: current().call(DATA, (t,), {}), _set_data),
    "names": property(lambda t: (None,) * len(t._meta.shape), _refuse_set("names")),
    "name": _flag(None),
    VIEW_BASE: property(_base),
    IS_PARAMETER: property(_is_parameter, _make_parameter),
    "output_nr": _flag(0),
    "retains_grad": property(lambda t: t._value.node is None and bool(_observe(t, "retains_grad"))),
    "is_cpu": _on("cpu"),
    "is_cuda": _on("cuda"),
    "is_meta": _on("meta"),
    "is_mps": _on("mps"),
    "is_xpu": _on("xpu"),
    "is_xla": _on("xla"),
    "is_hpu": _on("hpu"),
    "is_ipu": _on("ipu"),
    "is_maia": _on("maia"),
    "is_mtia": _on("mtia"),
    "is_vulkan": _on("vulkan"),
    "is_sparse": _flag(False),
    "is_sparse_csr": _flag(False),
    "is_quantized": _flag(False),
    "is_mkldnn": _flag(False),
    "is_nested": _flag(False),
    "T": property(lambda t: t.permute(tuple(reversed(range(len(t._meta.shape)))))),
    "mT": property(lambda t: t.transpose(-2, -1)),
    "H": property(lambda t: t.conj().t() if t._meta.dtype.is_complex else t.t()),
    "mH": property(lambda t: t.adjoint()),
    "real": property(lambda t: current().call(torch.real, (t,), {})),
    "imag": property(lambda t: current().call(torch.imag, (t,), {})),
}


# ---------------------------------------------------------------------- methods that ask


def _size(t: SymTensor, dim: Any = None) -> Any:
    shape = t._meta.shape
    return size_of(shape) if dim is None else shape[_dim(t, dim)]


def _dim(t: SymTensor, dim: Any) -> Any:
    rank = len(t._meta.shape)
    if type(dim) is bool or not hasattr(dim, "__index__"):
        raise ArgumentError(f"a dimension is an int, not {dim!r:.80}", code="AS123")
    dim = operator.index(dim)  # which guards a symbolic one
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], got {dim})"
        )
    return dim


def _stride(t: SymTensor, dim: Any = None) -> Any:
    strides = observed_strides(t)
    return strides if dim is None else strides[_dim(t, dim)]


def _len(t: SymTensor) -> int:
    if not t._meta.shape:
        raise TypeError("len() of a 0-d tensor")
    return int(t._meta.shape[0])


def _iter(t: SymTensor) -> Any:
    if not t._meta.shape:
        raise TypeError("iteration over a 0-d tensor")
    rows = t._tracer.open_rows(t) if t._tracer.closes_loops else None
    return iter(t.unbind(0) if rows is None else rows)


def _text(t: SymTensor, *, for_user: bool) -> str:
    text = f"SymTensor({t._value}: {t._meta})"
    env = t._tracer.env
    if env.asker.is_concrete and for_user:
        raise refused(UnsupportedError, "the text of a traced tensor", why="it shows its data")
    env.asker.shown.add(text)
    return text


def _repr(t: SymTensor, **_: Any) -> str:
    return _text(t, for_user=is_asked_by_user(2))  # the first is of `noted`


def _format(t: SymTensor, spec: str) -> str:
    if not t._meta.shape and spec:
        return format(t.item(), spec)
    return _text(t, for_user=is_asked_by_user(2))  # the first is of `noted`


def _as_index(t: SymTensor) -> Any:
    if t._meta.dtype.is_floating_point or t._meta.dtype.is_complex:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return operator.index(t.item())  # type: ignore[arg-type]  # no float by now


def _hash(t: SymTensor) -> int:
    return id(t)


def _contains(t: SymTensor, item: Any) -> bool:
    return bool((t == item).any().item())


_METHODS: Final[dict[str, Any]] = {
    "size": _size,
    "stride": _stride,
    "storage_offset": lambda t: observed_offset(t),  # noqa: PLW0108  it gets a name of its own
    "dim": lambda t: len(t._meta.shape),
    "ndimension": lambda t: len(t._meta.shape),
    "numel": lambda t: plain(product(t._meta.shape)),
    "nelement": lambda t: plain(product(t._meta.shape)),
    "element_size": lambda t: t._meta.dtype.itemsize,
    "is_floating_point": lambda t: t._meta.dtype.is_floating_point,
    "is_complex": lambda t: t._meta.dtype.is_complex,
    "is_signed": lambda t: t._meta.dtype.is_signed,
    "get_device": lambda t: -1 if t._meta.device.index is None else t._meta.device.index,
    "__len__": _len,
    "__iter__": _iter,
    "__bool__": lambda t: bool(t.item()),
    "__int__": lambda t: int(t.item()),
    "__index__": _as_index,
    "__float__": lambda t: float(t.item()),
    "__complex__": lambda t: complex(t.item()),
    "__contains__": _contains,
    "__hash__": _hash,
    "__repr__": _repr,
    "__format__": _format,
    "__copy__": lambda t: t.view_as(t),
    "__deepcopy__": lambda t, _: t.clone(),
    "__getattr__": _missing,
}

# Attributes that Python or torch needs unchanged.
_COMPARISONS: Final = {f"__{op}__" for op in ("eq", "ne", "lt", "le", "gt", "ge")}
_KEPT: Final = {
    *(vars(object).keys() - _COMPARISONS),
    *_PROPERTIES,
    *_METHODS,
    "__dict__",
    "__weakref__",
    "__module__",
    "__torch_function__",
    "__torch_dispatch__",
    "__slots__",
    *CONSTRUCTORS,
    "__class_getitem__",
    "__orig_bases__",
    "__parameters__",
    "__abstractmethods__",
    "__array_priority__",
}


def _method(func: Any, name: str) -> Any:
    def method(t: SymTensor, *args: Any, **kwargs: Any) -> Any:
        row = ROWS.get(func)
        tracer = t._tracer
        if row is None or OpCall in listeners or tracer.env.asker.met_scalars:
            return tracer.call(func, (t, *args), kwargs)
        try:
            return row(tracer, func, (t, *args), kwargs)
        except WrapperOperand:
            return tracer.call_with_wrapper(func, (t, *args), kwargs)
        except IndexOperand:
            return tracer.call(func, (t, *args), kwargs)

    method.__name__ = name
    return method


def _getter(name: str) -> property:
    def get(t: SymTensor) -> Any:
        site = capture_site()
        error = refused(
            UnsupportedError,
            f"the attribute .{name} of a traced tensor" + (f" at {site}" if site else ""),
            why="it is a property of the data, which is not there while tracing",
        )
        error.asks_history = name in ("_version", "output_nr")
        raise error

    return property(get)


def _install() -> None:
    for name, prop in _PROPERTIES.items():
        setattr(SymTensor, name, prop)
    for name, method in _METHODS.items():
        method.__name__ = name
        setattr(SymTensor, name, noted(name, method))
    for name in dir(torch.Tensor):
        if name in _KEPT:
            continue
        found = getattr(torch.Tensor, name)
        if isinstance(found, type):
            continue
        made = noted(name, _method(found, name)) if callable(found) else _getter(name)
        setattr(SymTensor, name, reflected(name, made) if name in STRAIGHT else made)


_install()
