"""The ladder: from a torch function to what handles its calls.

1. a rule of the user's, 2. a row of the table, 3. the Python body of the function, run under the
tracer, 4. torch's own meta kernel over our numbers (`bridge.py`), 5. `UnsupportedError`.
"""

from __future__ import annotations

import functools
import sys
import types
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import AnyshapeError, ArgumentError, ShapeError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.as_number import MAKERS, METHODS, as_numbers, need_sizes, with_dtype
from anyshape.rules.dispatch.autocast import cast_operands
from anyshape.rules.dispatch.bridge import run_meta_kernel
from anyshape.rules.dispatch.call_form import normalized, reordered, takes
from anyshape.rules.dispatch.changed import changed_by, flat_operands, is_inplace
from anyshape.rules.dispatch.op_name import (
    ABOUT_AUTOGRAD,
    NOT_OPS,
    PYTHON_OPERATORS,
    REFLECTED,
    REFUSED,
)
from anyshape.rules.dispatch.python_body import run_body
from anyshape.rules.dispatch.result import Done, Instead, Many
from anyshape.rules.dispatch.return_type import contained, with_out
from anyshape.rules.dispatch.stale_rule import warn_out_of_date
from anyshape.rules.dispatch.sym_node import to_ours
from anyshape.rules.dispatch.table import PURE, RANDOM, RULES, USER, Rule
from anyshape.rules.dispatch.user import run_user_rule
from anyshape.rules.shared.broadcast import fits
from anyshape.rules.shared.operand import is_tensor, meta_of
from anyshape.rules.shared.promote import can_cast
from anyshape.symbolic import torch_calls
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import equal
from anyshape.tensor.sym_tensor import SymTensor, alter, make
from anyshape.torch_compat.aten_op import container_of, is_op, qualified_name
from anyshape.torch_compat.tensor_subclass import VIEW_BASE
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import SAME_SIGNATURE_MODULES, DisableTorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    Handler = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_PROFILER: Final = "profiler::"  # ops that mark a range of time
SYMBOLIC: Final = (SymInt, SymBool, SymFloat)
_FAMILIES: Final = (
    "pointwise",
    "cast",
    "view",
    "complex_view",
    "subview",
    "diagonal",
    "tensor_query",
    "reduction",
    "join",
    "sequence",
    "factory",
    "matmul",
    "index",
    "copies",
    "gather",
    "data_dependent",
    "random",
    "conv",
    "norm",
    "pooling",
    "pad",
    "interpolate",
    "loss",
    "embedding",
    "attention",
    "rnn",
    "sort",
    "linalg",
    "contraction",
    "fourier",
    "resize",
)


@functools.cache
def _load() -> None:
    for family in _FAMILIES:
        import_module(f"anyshape.rules.{family}")


def loaded_rules() -> dict[str, Rule]:
    """The table with the rows of all families."""
    _load()
    return RULES


def resolve(func: Any) -> Handler:
    """The handler of the calls of a torch function."""
    _load()
    handler = _handler(func)
    kind = container_of(func)
    return handler if kind is None else functools.partial(contained, kind, handler)


def _handler(func: Any) -> Handler:
    if func in USER:
        return functools.partial(_run_user, USER[func])
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        return _attribute
    if func in torch_calls.HANDLED:
        return _number_function
    if func in REFUSED:
        return _autograd if func in ABOUT_AUTOGRAD else _refuse
    if func in NOT_OPS:
        return _plain
    if is_op(func):
        if qualified_name(func).startswith(_PROFILER):
            return _plain
        name = op_name(func)
    row = _by_name(func, name)
    if row is not None:
        (RANDOM if row.args[0].random else PURE).add(func)
        return row
    return run_body if isinstance(func, types.FunctionType) else _meta_kernel


def op_name(func: Any) -> str:
    """The name of a function in `RULES` and the autocast table; empty for an op outside `aten`."""
    if is_op(func):
        namespace, _, name = qualified_name(func).partition("::")
        return name if namespace == "aten" else ""
    name = getattr(func, "__name__", "")
    return PYTHON_OPERATORS.get(name, name)


def _by_name(func: Any, name: str) -> functools.partial[Any] | None:
    if isinstance(func, types.FunctionType) and func.__module__ == "torch.nn.functional":
        found = RULES.get(f"F.{name}")
        return None if found is None else functools.partial(_form_of(f"F.{name}"), found)
    if isinstance(func, types.FunctionType) and func.__module__ not in SAME_SIGNATURE_MODULES:
        return None
    if f"aten.{name}" in RULES and not isinstance(func, types.FunctionType):
        name = f"aten.{name}"
    if name in REFLECTED:
        return functools.partial(_run_reflected, RULES[REFLECTED[name]])
    inplace = name in PYTHON_OPERATORS and name.startswith("__i") and name != "__invert__"
    name = PYTHON_OPERATORS.get(name, name)
    if name in RULES:
        inplace = inplace or is_inplace(name)
        return functools.partial(_run_inplace if inplace else _form_of(name), RULES[name])
    if is_inplace(name) and name[:-1] in RULES:
        return functools.partial(_run_inplace, RULES[name[:-1]])
    return None


# ---------------------------------------------------------------------- the forms of a row

_WRONG_ARGUMENT: Final = (TypeError, ArgumentError, AttributeError)


class _Misfit(NamedTuple):
    """The rule is not made for the call: its signature does not accept it, or it failed with an
    error of Python's.
    """

    fault: Exception | None = None

    def settle(self, found: Rule, func: Any) -> None:
        """Raise the fault, as torch takes the call; without one the rule is out of date."""
        if self.fault is not None:
            raise self.fault
        warn_out_of_date(found, func)


def _call(found: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of the rule, or a `_Misfit`."""
    if kwargs:
        args, kwargs = normalized(found.function, args, kwargs)
    try:
        return found.function(*args, **kwargs)
    except _WRONG_ARGUMENT:
        return _call_reordered(found, args, kwargs)


def _call_reordered(found: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Retry a call that raised: in the current order of arguments if it uses a deprecated one, or
    with numbers for what stands for them.

    Called while the error of the rule is handled.
    """
    other = reordered(found.name, args, kwargs) or as_numbers(args, kwargs, tensors=False)
    if other is not None:
        args, kwargs = other
        try:
            return found.function(*args, **kwargs)
        except _WRONG_ARGUMENT:
            return _refused_again(found, args, kwargs)
    return _refused_again(found, args, kwargs)


def _refused_again(found: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise an error of ours again if the signature of the rule accepts the call; else torch is
    asked: an error of Python's comes from an argument that torch refuses, or from a fault.
    """
    if not takes(found.function, args, kwargs):
        return _Misfit()
    error = sys.exception()
    if isinstance(error, AnyshapeError):
        raise  # noqa: PLE0704  what the rule raised
    assert isinstance(error, Exception)
    return _Misfit(error)


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs.get("input", kwargs.get("self"))


def _run(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    if is_any_autocast_enabled() and kwargs.get("out") is None:
        out = _call(found, *cast_operands(found.name, args, kwargs))
    elif kwargs:
        kwargs = with_dtype(kwargs)
        if kwargs.get("out") is not None:
            return _run_out(found, tracer, func, args, kwargs)
        out = _call(found, args, kwargs)
    else:
        try:
            out = found.function(*args)
        except _WRONG_ARGUMENT:
            out = _call_reordered(found, args, kwargs)
    if out is NotImplemented:
        return _next(tracer, func, args, kwargs)
    if type(out) is _Misfit:
        return _run_misfit(found, tracer, func, args, kwargs, out)
    result = tracer.record(func, args, kwargs, out)
    if found.view:
        tracer.alias(result, _first(args, kwargs))
    return result


def _form_of(name: str) -> Any:
    if name in MAKERS:
        return _run_maker
    return _run_sized if name in METHODS else _run


def _run_maker(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """An op that takes numbers and sizes alone."""
    numbers = as_numbers(args, kwargs)
    return _run(found, tracer, func, *((args, kwargs) if numbers is None else numbers))


def _run_sized(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """An op that takes a tensor, and then numbers and sizes."""
    if found.name == "split":
        need_sizes(args[1] if len(args) > 1 else kwargs.get("split_size"))
    numbers = as_numbers(args, kwargs, 1)
    return _run(found, tracer, func, *((args, kwargs) if numbers is None else numbers))


def _run_misfit(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any, misfit: Any) -> Any:
    """The next rung. If torch rejects the call too, the caller made a mistake."""
    if isinstance(func, types.FunctionType):
        result = run_body(tracer, func, args, kwargs)
    else:
        result = _meta_kernel(tracer, func, args, kwargs, misfit=True)
    misfit.settle(found, func)
    return result


def _run_reflected(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    name = REFLECTED[func.__name__]
    (x, other), _ = cast_operands(name, args, kwargs)
    return tracer.record(func, args, kwargs, found.function(other, x))


def _run_inplace(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    x = _first(args, kwargs)
    if not is_tensor(x):
        raise ArgumentError(
            f"{func.__name__}: expected a tensor, got {type(x).__name__}", code="AS123"
        )
    out = _call(found, args, kwargs)
    if out is NotImplemented:
        return _meta_kernel(tracer, func, args, kwargs)
    if type(out) is _Misfit:
        return _run_misfit(found, tracer, func, args, kwargs, out)
    if type(out) is Done:
        return out.value
    if type(out) is Instead:
        func = getattr(torch.Tensor, f"{out.func.__name__}_")
        args, kwargs, out = out.args, out.kwargs, out.out
    if type(out) is not Meta:
        raise refused(UnsupportedError, f"the in-place form of {func.__name__}")
    _need_no_leaf(x, func)
    if found.view:
        if type(x) is not SymTensor:
            raise refused(
                UnsupportedError,
                f"{func.__name__} changes the shape of a tensor from outside the traced function",
            )
        tracer.mutate(func, args, kwargs, x)
        out.device = x._meta.device
        if out.requires_grad is None:  # all but `detach_` keep it
            out.requires_grad = x._meta.requires_grad
        alter(x, out)
        return x
    meta = meta_of(x)
    fits(out.shape, meta.shape, func.__name__)
    if not can_cast(out.dtype, meta.dtype):
        raise ShapeError(
            f"result type {out.dtype} can't be cast to the desired output type {meta.dtype}"
        )
    tracer.mutate(func, args, kwargs, x)
    return x


def _need_no_leaf(x: Any, func: Any) -> None:
    meta = meta_of(x)
    if meta.requires_grad and torch.is_grad_enabled() and type(x) is not SymTensor:
        raise ShapeError(
            f"{func.__name__}: a leaf Variable that requires grad is being used in an in-place"
            " operation"
        )


def _run_out(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    rest = {k: v for k, v in kwargs.items() if k != "out"}
    outs = kwargs["out"]
    result = _call(found, args, rest)
    if type(result) is _Misfit:
        misfit, (result, _) = result, run_meta_kernel(func, args, rest, misfit=True)
        misfit.settle(found, func)
    elif result is NotImplemented:
        result, _ = run_meta_kernel(func, args, rest)
    if type(result) is Instead:
        result = result.out
    if type(result) is Done:
        if not is_tensor(result.value):
            raise refused(UnsupportedError, f"the out= form of {func.__name__}")
        result = meta_of(result.value)  # an operand as it is, which is copied
    metas = result.parts if type(result) is Many else [result]
    targets = list(outs) if isinstance(outs, tuple | list) else [outs]
    tracer.mutate(func, args, kwargs, targets[0])
    for meta, target in zip(metas, targets, strict=True):
        store(tracer, meta, target)
    return with_out(result.build)(targets) if type(result) is Many else targets[0]


def store(tracer: Any, meta: Meta, target: Any) -> None:
    """Update an `out=` argument after the call: it is resized if its shape differs."""
    old = meta_of(target)
    tracer.touch(target)
    if not can_cast(meta.dtype, old.dtype):
        raise ShapeError(
            f"result type {meta.dtype} can't be cast to the desired output type {old.dtype}"
        )
    same = len(old.shape) == len(meta.shape) and all(map(equal, old.shape, meta.shape))
    if same:
        return
    if type(target) is not SymTensor:
        raise refused(UnsupportedError, "out= resizes a tensor from outside the traced function")
    # where the shapes are equal at run time, the target keeps its layout, so this one is unverified
    layout = unsure(CONTIGUOUS)
    alter(target, Meta(meta.shape, old.dtype, layout, old.device, old.requires_grad))


# ---------------------------------------------------------------------- other rungs


def _next(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(func, types.FunctionType):
        return run_body(tracer, func, args, kwargs)
    return _meta_kernel(tracer, func, args, kwargs)


def _meta_kernel(tracer: Any, func: Any, args: Any, kwargs: Any, *, misfit: bool = False) -> Any:
    name = op_name(func)
    is_custom = is_op(func) and not name  # whose `out` is an operand like others
    outs = None if is_custom else kwargs.get("out")
    rest = kwargs if outs is None else {k: v for k, v in kwargs.items() if k != "out"}
    result, base = run_meta_kernel(func, *cast_operands(name, args, rest), misfit=misfit)
    if outs is not None:
        return _run_out(Rule(name, lambda *_, **__: result), tracer, func, args, kwargs)
    changed = changed_by(func, args, kwargs, result)
    if is_inplace(name) and type(result) is Meta:
        tracer.mutate(func, args, kwargs, args[0])
        for x in changed:
            tracer.touch(x)
        return args[0]
    if type(result) is Done and (changed or (is_custom and result.value is None)):
        tracer.emit(func, args, kwargs)
    given = tracer.record(func, args, kwargs, result)
    for x in changed:
        tracer.touch(x)
    if base is not None:
        tracer.alias(given, base)
    return given


def _run_user(found: Rule, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    return tracer.record(func, args, kwargs, run_user_rule(tracer, found, args, kwargs))


def _attribute(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """A property of a tensor, read or set through torch's own descriptor."""
    x = args[0]
    name = func.__self__.__name__
    if type(x) is not SymTensor:
        if func.__name__ != "__get__" and name not in _VIEWS:
            if name == "requires_grad":
                return tracer.call(torch.Tensor.requires_grad_, args, kwargs)
            site = capture_site()
            raise refused(
                UnsupportedError,
                f"assigning .{name} of a tensor" + (f" at {site}" if site else ""),
                fix="do it outside the traced function",
            )
        if name not in _VIEWS:
            return _state(tracer, x, name) if name in _STATE else _plain(tracer, func, args, kwargs)
        value = tracer.lift(x)
        x = make(value.meta, value, tracer)
    if func.__name__ == "__get__":
        return getattr(x, name)
    return setattr(x, name, args[1])


_STATE: Final = {
    "grad": "grad",
    "is_leaf": "is_leaf",
    "retains_grad": "retains_grad",
    "requires_grad": "requires_grad",
    "grad_fn": "has a grad_fn",
    VIEW_BASE: "is a view",
}


def _state(tracer: Any, x: torch.Tensor, name: str) -> Any:
    """A part of the state of a real tensor: guarded, or an input."""
    given = tracer.recorder.attribute_input(x, name)
    if given is not None:
        return given
    found = tracer.observations.of_real(x, _STATE[name])
    if name not in ("grad_fn", VIEW_BASE):
        if name == "grad" and found is not None:
            tracer.recorder.outside(found)
        return found
    if found:
        site = capture_site()
        raise refused(
            UnsupportedError,
            f".{name} of a tensor from outside" + (f" at {site}" if site else ""),
            fix="do not let the program depend on it",
        )
    return None


_VIEWS: Final = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))  # attributes, as ops


def _plain(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """A function that is not an op: it runs immediately."""
    with DisableTorchFunction():
        return to_ours(func(*args, **kwargs))


def _number_function(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    if not any(type(a) in SYMBOLIC for a in flat_operands(args)):
        return _plain(tracer, func, args, kwargs)
    return torch_calls.answer("SymInt", func, args)


def _autograd(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    found = tracer.autograd_call(func, args, kwargs)
    return _refuse(tracer, func, args, kwargs) if found is NotImplemented else found


def _refuse(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    found = tracer.with_data(func, args, kwargs)
    if found is not NotImplemented:
        return found
    site = capture_site()
    what, fix = REFUSED[func]
    raise refused(UnsupportedError, f"{what}" + (f" at {site}" if site else ""), fix=fix)
