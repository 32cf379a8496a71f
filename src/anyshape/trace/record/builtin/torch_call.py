"""Functions of torch that need more than a shape rule: seeds, generators, autograd functions."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.env.site import home_of, in_package
from anyshape.rules.dispatch.as_number import MAKERS, as_numbers
from anyshape.rules.generator import recorded, set_seed
from anyshape.rules.shared.index_number import call_with_indices
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor import current
from anyshape.tensor.index_operand import IndexOperand
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.process_flag import FLAG_SETTERS
from anyshape.torch_compat.tensor_group import GROUPERS, grouped_indices
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import (
    ATTENTION_BY_OPS,
    ENTER_MODE,
    MODE_QUESTIONS,
    DisableTorchFunction,
    disabled_torch_function,
    without_mode,
)
from anyshape.torch_compat.torch_script import is_scripting
from anyshape.trace.autograd.autograd_function import apply
from anyshape.trace.higher_order.substitute import HIGHER_ORDER
from anyshape.trace.record.builtin.collective import COLLECTIVES
from anyshape.trace.record.builtin.functional_call import FUNCTIONAL_CALLS, functional_call
from anyshape.trace.record.builtin.setting import is_setting
from anyshape.trace.record.builtin.shape_call import broadcast_shapes, shape_calls
from anyshape.trace.record.container.kept_item import changed_below
from anyshape.trace.record.read import read as reads
from anyshape.trace.sequence.join_call import JOIN_SUBSTITUTES
from anyshape.trace.twin.twin import innermost_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder

# settings that a trace records as modes, and the seeds of generators
_RECORDED = (
    "set_grad_enabled", "set_default_dtype", "set_rng_state", "set_autocast_enabled",
    "set_autocast_dtype", "set_autocast_cache_enabled",
)  # fmt: skip
OPTIMIZERS: Final = home_of("torch") + "optim" + os.sep
_MAKERS: Final[Any] = (torch.from_numpy, torch.frombuffer, torch.utils.dlpack.from_dlpack)
_UNSEEN: Final[Any] = (  # files, and what changes tensors below the tracer
    *(torch.load, torch.save, torch.jit.load, torch.jit.save, torch.from_file),
    torch.utils.swap_tensors,
)
_OVERRIDES: Final[Any] = (
    torch.overrides.has_torch_function,
    torch.overrides.has_torch_function_unary,
    torch.overrides.has_torch_function_variadic,
)


def TORCH_SUBSTITUTES() -> Iterator[tuple[Any, Any]]:  # noqa: N802
    """Pairs of a function and what to call in its place, which gets the recorder first."""
    yield torch.manual_seed, _seeded
    yield torch.random.manual_seed, _seeded
    for owner in (torch, torch.random):
        yield owner.get_rng_state, functools.partial(_of_default, "get_state")
        yield owner.set_rng_state, functools.partial(_of_default, "set_state")
        yield owner.initial_seed, functools.partial(_of_default, "initial_seed")
    yield torch.seed, _no_state
    yield torch.random.seed, _no_state
    yield torch.Generator, _generator
    yield (
        F.scaled_dot_product_attention,
        functools.partial(_plain_truths, call=F.scaled_dot_product_attention),
    )
    yield from ((f, functional_call) for f in FUNCTIONAL_CALLS)
    yield vars(torch.autograd.Function)["apply"].__func__, _applied
    yield torch.range, _ranged
    for f in _OVERRIDES:
        yield f, functools.partial(_has_override, f)
    yield ATTENTION_BY_OPS, lambda _: not is_any_autocast_enabled()
    for f in ENTER_MODE:
        yield f, _entered
    for f in MODE_QUESTIONS:
        yield f, functools.partial(_without_trace, f)
    for make in _MAKERS:
        yield make, functools.partial(_made, make)
    for name in sorted(MAKERS):
        yield getattr(torch, name), functools.partial(_of_numbers, call=getattr(torch, name))
    yield from shape_calls()
    yield torch.broadcast_shapes, broadcast_shapes
    for f in GROUPERS:
        yield f, _grouped
    yield torch.nn.Buffer, _buffer
    yield torch.nn.Parameter, _parameter
    for name in dir(torch):
        if name.startswith("set_") and name not in _RECORDED:
            f = getattr(torch, name)
            if not is_setting(f) and f not in FLAG_SETTERS.values():
                yield f, functools.partial(_set, name)
    yield is_scripting, lambda recorder: recorder.is_scripting
    yield torch.compiler.is_compiling, _is_compiling
    yield (
        torch.compiler.is_dynamo_compiling,
        lambda recorder: not recorder.tracer.options.is_export,
    )
    yield torch.compiler.is_exporting, lambda recorder: recorder.tracer.options.is_export
    yield from HIGHER_ORDER()
    yield from JOIN_SUBSTITUTES()
    yield from COLLECTIVES()
    for f in _UNSEEN:
        yield f, functools.partial(_refused, f.__name__)


def of_torch(substitute: Any, recorder: Recorder, /, *args: Any, **named: Any) -> Any:
    """Call a substitute: it sees containers as the trace has changed them."""
    if recorder.shadows:
        args = tuple([changed_below(recorder, a) for a in args])
        named = {k: changed_below(recorder, a) for k, a in named.items()}
    return substitute(recorder, *args, **named)


def _refused(name: str, recorder: Recorder, *_: Any, **__: Any) -> Any:
    raise recorder.refusal(f"torch.{name} is called")


def _seeded(recorder: Recorder, seed: int) -> Any:
    recorder.tracer.emit(set_seed, (seed,))
    return torch.default_generator


def _buffer(recorder: Recorder, data: Any = None, *, persistent: bool = True) -> Any:
    """A tensor with two attributes, which the program sets too."""
    data = torch.empty(0) if data is None else data
    made = data.detach().requires_grad_(data.requires_grad)
    for name, value in (("persistent", persistent), ("_is_buffer", True)):
        recorder.hooks.set_attribute(made, name, value)
    return made


def _parameter(recorder: Recorder, data: Any = None, requires_grad: bool = True) -> Any:
    """A parameter over the memory of a tensor; of one from outside, by a call of the graph."""
    if recorder.replays and type(data) in (torch.Tensor, torch.nn.Parameter):
        data = data.detach()
    return recorder.tracer.births.note(torch.nn.Parameter(data, requires_grad))


def _made(f: Any, recorder: Recorder, *args: Any, **named: Any) -> Any:
    """A tensor over memory that is not torch's, made by a function that no mode sees."""
    return recorder.tracer.births.note(f(*args, **named))


def _has_override(f: Any, recorder: Recorder, *args: Any) -> Any:
    """Whether a class overrides functions of torch: traced tensors count as plain, as in eager.

    Modules of torch ask before they call a kernel that computes a whole layer, which has no rule.
    They get the answer that leads to single ops, equal up to rounding; under autocast the dtypes
    would differ, and the kernel is refused. Attention gets it from `ATTENTION_BY_OPS`.
    """
    caller = innermost_frame()
    home = "" if caller is None else str(caller.f_globals.get("__name__", ""))
    is_layer = in_package(home, "torch.nn.modules") and home != ATTENTION_BY_OPS.__module__
    if is_layer and not is_any_autocast_enabled():
        return f(*args)
    given = args[0] if f is torch.overrides.has_torch_function else args
    others = [a for a in given if type(a) is not SymTensor]
    return any(map(_overrides, others))


def _without_trace(f: Any, recorder: Recorder, *args: Any) -> Any:
    """A function that tells of function modes, as if none were the trace's.

    The modes of the caller are conditions; those that the program enters are its own.
    """
    with without_mode(recorder.tracer.mode) as is_innermost:
        found = f(*args)
    if type(found) is list:
        return recorder.born(found)
    if not is_innermost:
        return found
    return recorder.outside(recorder.note(reads.CALL, functools.partial(f, *args), (), found))


def _overrides(x: Any) -> bool:
    own = getattr(type(x), "__torch_function__", disabled_torch_function)
    plain: Any = torch.Tensor.__torch_function__
    return getattr(own, "__func__", own) not in (plain.__func__, disabled_torch_function)


def _ranged(recorder: Recorder, *args: Any, **named: Any) -> Any:
    """It is an op that warns, and hands itself to no mode."""
    return recorder.tracer.call(torch.range, args, named)


def _of_numbers(recorder: Recorder, *args: Any, call: Any, **named: Any) -> Any:
    """Its parser takes no traced tensor for a number."""
    try:
        numbers = as_numbers(args, named)
    except IndexOperand:
        return call_with_indices(recorder.tracer, call, args, named)
    args, named = (args, named) if numbers is None else numbers
    return call(*args, **named)


def _set(name: str, recorder: Recorder, *_: Any, **__: Any) -> Any:
    raise recorder.refusal(f"{name}() is called, which changes the state of the process")


def _of_default(method: str, recorder: Recorder, *args: Any) -> Any:
    """A function over the state of the default generator."""
    return generator_method(recorder, torch.default_generator, method, *args)


def _entered(recorder: Recorder, mode: Any) -> Any:
    """A mode is entered by a call, and not by `with`."""
    raise recorder.refusal(f"a {type(mode).__name__} is entered by a call")


def _no_state(recorder: Recorder, *_: Any, **__: Any) -> Any:
    raise recorder.unsupported(
        "the traced function keeps the state of torch's random generator aside",
        fix="do it outside the traced function",
    )


def _generator(recorder: Recorder, *_: Any, **__: Any) -> Any:
    raise recorder.unsupported(
        "a torch.Generator made inside a traced function",
        why="its value would be frozen into the program, the same for every call",
        fix="pass it as an argument",
    )


def generator_method(
    recorder: Recorder, generator: torch.Generator, name: str, *args: Any, **named: Any
) -> Any:
    """A method of a random generator: recorded, and called on every run."""
    form = recorded(getattr(generator, name))
    if form is None:
        raise recorder.unsupported(f"{name} of a random generator inside a traced function")
    return form(*args, **named)


def _plain_truths(recorder: Recorder, *args: Any, call: Any, **named: Any) -> Any:
    """Its parser takes no symbolic truth value, which `n > 1 and ...` may be."""
    args = tuple([bool(a) if type(a) is SymBool else a for a in args])
    return call(*args, **{k: bool(a) if type(a) is SymBool else a for k, a in named.items()})


def _applied(recorder: Recorder, method: Any, *args: Any, **named: Any) -> Any:
    """`apply` of an autograd.Function, see `trace/autograd/autograd_function.py`."""
    return apply(recorder.tracer, method, args, named)


def _grouped(recorder: Recorder, lists: Any, with_indices: bool = False) -> Any:
    """Lists of tensors split by device and dtype. Each has as many as the first, or none."""
    kinds = [(t.device, t.dtype) for t in lists[0]]
    before = current.enter(None)
    try:
        with DisableTorchFunction():
            found = grouped_indices(kinds)
    finally:
        current.leave(before)
    made = {}
    for key, places in found.items():
        parts = [recorder.born([x[i] for i in places] if len(x) else []) for x in lists]
        indices = places if with_indices else []
        made[key] = recorder.born((recorder.born(parts), recorder.born(indices)))
    return recorder.born(made)


def _is_compiling(_: Recorder) -> bool:
    """True, as a program may ask. Optimizers of torch ask in order to compute what Dynamo can
    follow, which is rounded otherwise than in eager execution.
    """
    caller = innermost_frame()
    return caller is None or not caller.f_code.co_filename.startswith(OPTIMIZERS)
