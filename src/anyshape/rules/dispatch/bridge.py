"""The fallback below the table: torch's own meta kernels, run over our numbers.

Operands become tensors on the meta device whose sizes are stock `torch.SymInt` over our nodes; the
kernel's result is converted back. General but slow (0.1 ms to 20 ms a call); common ops have rules.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import (
    AnyshapeError,
    ArgumentError,
    MissingRuleError,
    ShapeError,
    UnsupportedError,
)
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Defined, Done, Many, Wrapped
from anyshape.rules.dispatch.sym_node import measured, number_of, to_stock
from anyshape.rules.shared.operand import meta_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import CONTIGUOUS, Layout, dense_strides, strides_of, unsure
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.tensor.size import surely_equal
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat import pytree
from anyshape.torch_compat.aten_op import OpOverload, OpOverloadPacket
from anyshape.torch_compat.fake_kernel import (
    KernelContext,
    MetaFactories,
    enable_python_dispatcher,
    fake_kernel_of,
    returns_new_tensors,
    returns_nothing,
    set_context,
)
from anyshape.torch_compat.message import NO_NUMBER, has_no_kernel
from anyshape.torch_compat.tensor_subclass import is_wrapper, storage_id
from anyshape.torch_compat.tensor_version import version_of
from anyshape.torch_compat.torch_function import DisableTorchFunction

_META: Final = torch.device("meta")


class _Conversion:
    """Converts the operands of one call to torch's objects, and the results back to ours."""

    def __init__(self, *, keeps_grad: bool) -> None:
        self.keeps_grad = keeps_grad  # whether operands require grad as they do outside
        self.seen: dict[int, tuple[Any, torch.Tensor]] = {}
        self.wrappers: dict[int, tuple[Any, torch.Tensor]] = {}
        self.device: torch.device | None = None
        self.requested: torch.device | None = None
        self.base: Any = None
        self.is_new = False  # results share no memory with operands, whatever a fake kernel returns
        self.as_numbers = False  # whether tensors without dimensions stand for numbers

    def to_torch(self, x: Any) -> Any:
        """An operand as the kernel gets it: on the meta device, with torch's symbolic numbers."""
        kind = type(x)
        if kind is not SymTensor and is_wrapper(kind):
            return self._wrapper(x)
        if kind is SymTensor or isinstance(x, torch.Tensor):
            found = self.seen.get(id(x))
            if found is None:
                meta = meta_of(x)
                if self.as_numbers and not meta.shape:
                    return _number(x, meta.dtype)
                found = self.seen[id(x)] = (x, self._tensor(meta))
            return found[1]
        if kind in (SymInt, SymBool, SymFloat):
            return to_stock(x)
        if kind is SymSize or (isinstance(x, tuple) and not hasattr(x, "_fields")):
            return tuple([self.to_torch(part) for part in x])
        if isinstance(x, list):
            return [self.to_torch(part) for part in x]
        if kind is dict:
            return {k: self.to_torch(part) for k, part in x.items()}
        if kind is slice:
            return slice(self.to_torch(x.start), self.to_torch(x.stop), self.to_torch(x.step))
        if kind is torch.device:
            self.requested = x
            return _META
        return x

    def _wrapper(self, x: Any) -> Any:
        """A tensor of the class of `x` around tensors without data."""
        found = self.wrappers.get(id(x))
        if found is None:
            names, context = x.__tensor_flatten__()
            inner = {name: self._inner(getattr(x, name)) for name in names}
            made = type(x).__tensor_unflatten__(inner, context, x.size(), x.stride())
            found = self.wrappers[id(x)] = (x, made)
        return found[1]

    def example(self, x: Any, shape: tuple[Any, ...]) -> Any:
        """A tensor like an example that wraps others, with other sizes.

        What it wraps has the same sizes, if it has them in the example, and else its own.
        """
        if not x.is_contiguous():
            raise refused(UnsupportedError, f"an input of class {type(x).__name__} with strides")
        names, context = x.__tensor_flatten__()
        inner = {}
        for name in names:
            part = getattr(x, name)
            own = shape if part.shape == x.shape else tuple(part.shape)
            if is_wrapper(type(part)):
                inner[name] = self.example(part, own)
            else:
                real = meta_of_real(part)
                grad = real.requires_grad
                inner[name] = self._tensor(Meta(own, real.dtype, CONTIGUOUS, real.device, grad))
        sizes = [to_stock(n) for n in shape]
        strides = [to_stock(n) for n in dense_strides(shape)]
        return type(x).__tensor_unflatten__(inner, context, sizes, strides)

    def _inner(self, x: Any) -> Any:
        is_real = type(x) is not SymTensor and not is_wrapper(type(x))
        return self._tensor(meta_of_real(x)) if is_real else self.to_torch(x)

    def _tensor(self, meta: Meta) -> torch.Tensor:
        if self.device is None or meta.shape:
            self.device = self.device if self.device and not meta.shape else meta.device
        sizes = [to_stock(n) for n in meta.shape]
        grad = self.keeps_grad and bool(meta.requires_grad)
        if meta.layout is CONTIGUOUS:
            return measured(torch.empty, sizes, dtype=meta.dtype, device=_META, requires_grad=grad)
        strides = [to_stock(n) for n in strides_of(meta)]
        return measured(
            torch.empty_strided, sizes, strides, dtype=meta.dtype, device=_META, requires_grad=grad
        )

    def from_torch(self, x: Any) -> Any:
        """A result in the form of a rule's. Its layout is unverified, because devices differ."""
        if is_wrapper(type(x)):
            parts = {name: getattr(x, name) for name in x.__tensor_flatten__()[0]}
            inner = {name: self._part(part) for name, part in parts.items()}
            return Wrapped(self._meta(x), x, inner)
        if isinstance(x, torch.Tensor):
            if x.layout is not torch.strided:
                raise refused(UnsupportedError, f"a result with layout {x.layout}")
            self._note_view(x)
            return self._meta(x)
        if isinstance(x, tuple | list):
            kind = type(x)
            plain = kind in (tuple, list)
            build = kind if plain or not hasattr(x, "_fields") else lambda parts: kind(*parts)
            return Many([self.from_torch(part) for part in x], build)
        if type(x) in (torch.SymInt, torch.SymFloat, torch.SymBool):
            number = number_of(x)
            return Defined(number) if current().claim(number) else number
        return x

    def _part(self, x: torch.Tensor) -> Any:
        """A tensor that a result wraps; `Done` if it is an operand."""
        for original, converted in (*self.seen.values(), *self.wrappers.values()):
            if x is converted:
                return Done(original)
        return self.from_torch(x)

    def _meta(self, x: torch.Tensor) -> Meta:
        shape = tuple([number_of(n) for n in x.shape])
        strides = tuple([number_of(n) for n in x.stride()])
        dense = all(map(surely_equal, strides, dense_strides(shape)))
        layout = unsure(CONTIGUOUS if dense else Layout(strides=strides))
        grad = x.requires_grad if self.keeps_grad else None
        return Meta(shape, x.dtype, layout, self.requested or self.device, grad)

    def base_of(self, x: Any, earlier: list[Any]) -> Any:
        """The operand, or the place of the earlier result, whose memory a result shares."""
        if not isinstance(x, torch.Tensor):
            return None
        memory = storage_id(x.untyped_storage())
        for original, converted in self.seen.values():
            if storage_id(converted.untyped_storage()) == memory:
                return original
        for i, other in enumerate(earlier):
            if isinstance(other, torch.Tensor) and storage_id(other.untyped_storage()) == memory:
                return i
        return None

    def _note_view(self, x: torch.Tensor) -> None:
        if self.is_new:
            return
        memory = storage_id(x.untyped_storage())
        for original, converted in self.seen.values():
            if storage_id(converted.untyped_storage()) == memory:
                self.base = original


def run_meta_kernel(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, misfit: bool = False
) -> tuple[Any, Any]:
    """The result of torch's meta kernel in the form of a rule's, and the operand it is a view of.

    `func` may also be a class that makes a tensor around its operands.

    `misfit`: there is a rule, and its signature does not accept the call. A `TypeError` of torch
    then means that the call is wrong.
    """
    conversion = _Conversion(keeps_grad=isinstance(func, type))
    name = getattr(func, "__name__", str(func))
    try:
        try:
            result = _converted(conversion, func, name, args, kwargs)
        except RuntimeError as e:
            if not str(e).startswith(NO_NUMBER):
                raise
            conversion = _Conversion(keeps_grad=isinstance(func, type))
            conversion.as_numbers = True
            result = _converted(conversion, func, name, args, kwargs)
    except UnsupportedError as e:
        raise _unsupported(func, e.what) from e
    except AnyshapeError:
        raise
    except NotImplementedError as e:
        raise _unsupported(func, _brief(e)) from e
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError, AssertionError) as e:
        if misfit and isinstance(e, TypeError):
            raise ArgumentError(f"{name}: {_brief(e)}", code="AS123") from e
        strange = isinstance(e, TypeError | AttributeError | AssertionError)
        if strange or has_no_kernel(str(e)):
            raise _unsupported(func, _brief(e)) from e
        raise ShapeError(f"{name}: {_brief(e)}") from e
    if type(result) is Done:
        return result, None
    is_call = type(result) in (Meta, Many, Defined, Wrapped)
    return (result if is_call else Done(result)), conversion.base


def _converted(conversion: _Conversion, func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The result of the kernel as a rule's; `Done` where it is an operand."""
    with DisableTorchFunction(), torch.no_grad(), enable_python_dispatcher():
        positional, named = conversion.to_torch(args), conversion.to_torch(kwargs)
        operands = {**conversion.seen, **conversion.wrappers}
        if not operands and conversion.requested is None:
            conversion.requested = torch.get_default_device()
        out = _run(func, positional, named, is_factory=not operands)
        conversion.is_new = returns_new_tensors(func)
        for original, converted in operands.values():
            if out is converted and not conversion.is_new and not name.endswith("_"):
                return Done(original)
        return conversion.from_torch(out)


def _number(x: Any, dtype: torch.dtype) -> Any:
    """The number that a tensor without dimensions stands for; any one where it can be no size."""
    if dtype.is_floating_point or dtype.is_complex:
        return 1j if dtype.is_complex else 1.0
    return to_stock(current().call(torch.Tensor.item, (x,), {}))


class Whole(NamedTuple):
    """What a function gave for tensors without data: leaves in the form of a rule's, the operand or
    the earlier leaf that each is a view of, and whether it changed an operand.

    A leaf that is an operand itself is `Done`.
    """

    leaves: list[Any]
    spec: Any
    bases: list[Any]
    changes: bool


def run_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Whole:
    """Call a function as it is on tensors without data. It may call many ops, in any grad mode."""
    conversion = _Conversion(keeps_grad=True)
    try:
        with DisableTorchFunction(), enable_python_dispatcher(), set_context(_Context):
            positional, named = conversion.to_torch(args), conversion.to_torch(kwargs)
            if not conversion.seen and conversion.requested is None:
                conversion.requested = torch.get_default_device()
            before = [version_of(t) for _, t in conversion.seen.values()]
            with MetaFactories():
                out = func(*positional, **named)
            changes = before != [version_of(t) for _, t in conversion.seen.values()]
            leaves, spec = pytree.tree_flatten(out)
            bases = [conversion.base_of(x, leaves[:i]) for i, x in enumerate(leaves)]
            return Whole([conversion._part(x) for x in leaves], spec, bases, changes)
    except AnyshapeError:
        raise
    except Exception as e:  # whatever a function of the user's raises
        raise _unsupported(func, f"on tensors without data: {type(e).__name__}: {_brief(e)}") from e


def wrapped_like(x: Any, shape: tuple[Any, ...]) -> Wrapped:
    """The result that an example of a class that wraps others would be, with these sizes."""
    conversion = _Conversion(keeps_grad=True)
    with DisableTorchFunction(), enable_python_dispatcher():
        result = conversion.from_torch(conversion.example(x, shape))
    assert type(result) is Wrapped
    return result


def _run(func: Any, args: Any, kwargs: Any, *, is_factory: bool) -> Any:
    """Call the kernel, or the fake kernel of a custom op, which may make unbacked sizes."""
    kernel = fake_kernel_of(func)
    if kernel is None:
        if returns_nothing(func):
            return None
        if not is_factory:
            return func(*args, **kwargs)
        with MetaFactories():
            return func(*args, **kwargs)
    with set_context(_Context), MetaFactories():
        return kernel(*args, **kwargs)


class _Context(KernelContext):
    """The context that `torch.library.get_ctx()` returns inside a fake kernel."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A new unbacked size, which the op determines when it runs."""
        tracer = current()
        n = tracer.fresh_size(min=min, max=max)
        if self.drops:
            tracer.claim(n)
        return to_stock(n)

    create_unbacked_symint = new_dynamic_size


def _brief(e: Exception) -> str:
    return (str(e).strip().splitlines() or [type(e).__name__])[0]


def _unsupported(func: Any, why: str) -> MissingRuleError:
    name, site = getattr(func, "__name__", str(func)), capture_site()
    path = f"torch.ops.{func}" if isinstance(func, OpOverload | OpOverloadPacket) else name
    return refused(
        MissingRuleError,
        f"no shape rule for {name}" + (f" at {site}" if site else ""),
        why=why,
        fix=f"write one with @anyshape.register_rule({path}), or keep the op out of the trace",
    )
