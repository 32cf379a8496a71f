"""Recording a function of the user's as one call: its shapes come from running it symbolically."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Many
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat import pytree

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


def record_whole(tracer: Tracer, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record `call(*args, **kwargs)` as one node; refuse what its ops do besides giving results."""
    given = {id(x) for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, SymTensor)}
    epoch = tracer.epoch
    with tracer.unrecorded():
        result = call(*args, **kwargs)
    flat, spec = pytree.tree_flatten(result)
    tensors = [x for x in flat if type(x) is SymTensor]
    name = getattr(getattr(call, "__self__", call), "__name__", "a function")
    if tracer.epoch != epoch or any(id(t) in given for t in tensors):
        raise refused(
            UnsupportedError,
            f"{name}.apply changes or returns one of its inputs while gradients are recorded",
            fix="return a new tensor, as in x.clone(), or trace under torch.no_grad()",
        )
    if len(tensors) != len(flat) or not tensors:
        raise refused(UnsupportedError, f"{name}.apply returns something besides tensors")
    if any(t._value.root is not t._value for t in tensors):
        raise refused(UnsupportedError, f"{name}.apply returns a view while gradients are recorded")
    metas = [Meta(t._meta.shape, t._meta.dtype, t._meta.layout, t._meta.device) for t in tensors]
    if spec.is_leaf():
        return tracer.record(call, args, kwargs, metas[0])
    return tracer.record(
        call, args, kwargs, Many(metas, lambda made: pytree.tree_unflatten(made, spec))
    )
