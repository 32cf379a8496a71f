"""`autograd.Function`: the program applies it as one call, so that its backward is there.

While a program is traced, the forward runs on traced tensors for the shapes of its results; the
calls in it are forgotten, and what it reads outside is recorded like every read. Where no gradients
flow, its calls are calls of the program.
"""

from __future__ import annotations

import dis
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch

from anyshape.env.site import is_own
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Defined, Many
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor, alter, make
from anyshape.torch_compat import pytree
from anyshape.torch_compat.call_frame import APPLY
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace import tree
from anyshape.trace.graph.graph import RESULT, Follows, Name, Value, leaves, values_in
from anyshape.trace.record.effect.held import given
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.owner import is_plain_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.tracer import Tracer

_CONTAINERS: Final = (tuple, list, dict)
_LEAF: Final = pytree.tree_structure(0)
_OF_TORCH: Final = frozenset(
    ("to_save", "saved_for_forward", "dirty_tensors", "non_differentiable", "needs_input_grad")
)  # attributes of a context
_IN_PLACE: Final = frozenset(
    ("+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=", "**=")
)
Path: TypeAlias = "tuple[tuple[bool, Any], ...]"
_UNSET: Final = torch.autograd.Function.setup_context


def recorded_apply(method: Any) -> Callable[..., Any] | None:
    """What to call instead of the `apply` of an `autograd.Function` while a trace runs; None for
    any other function. `method` may have been bound before the trace.
    """
    if getattr(method, "__func__", None) is not APPLY:
        return None
    return lambda *args, **kwargs: apply(current(), method, args, kwargs)


class Applied:
    """`apply` of a class, with arguments or results besides new tensors.

    Torch's compilers are not given it. It is known by the same attributes as the method.
    """

    def __init__(self, method: Any) -> None:
        self._method = method
        self.__func__, self.__self__ = APPLY, method.__self__
        self.__name__ = "apply"
        self.__module__ = method.__self__.__module__

    def __eq__(self, other: object) -> bool:
        return type(other) is Applied and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash(self.__self__)

    def __call__(self, *args: Any) -> Any:
        """Apply the class to arguments that may be objects from outside."""
        return self._method(*[given(a) for a in args])


def apply(tracer: Tracer, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an `autograd.Function`: as one call where gradients flow through it, because the calls
    of its forward would be recorded without its backward.
    """
    cls = method.__self__
    if cls.setup_context is not _UNSET:
        bound = inspect.signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    if kwargs:
        raise refused(UnsupportedError, f"{cls.__name__}.apply is called with keywords")
    if tracer.bodies or not torch.is_grad_enabled() or not gradients_flow(args):
        return _inline(tracer, cls, args)
    tracer.whole += 1
    try:
        return _Whole(tracer, method, args).result
    finally:
        tracer.whole -= 1


def gradients_flow(arguments: Any) -> bool:
    """Whether a tensor among the arguments of a call requires gradients."""
    current().asked_grad = True
    tensors = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    with DisableTorchFunction():
        return any(map(_requires_grad, tensors))


def _requires_grad(x: torch.Tensor) -> bool:
    return bool(x._meta.requires_grad) if type(x) is SymTensor else x.requires_grad


def need_backward(tracer: Tracer) -> None:
    """Raise if a forward runs whose `apply` the tracer did not see. To be called when gradients are
    switched off, as `apply` does.
    """
    frame = None if tracer.whole else sys._getframe(1)
    while frame is not None:
        if frame.f_code is APPLY.__code__ and gradients_flow(frame.f_locals["args"]):
            name = frame.f_locals["cls"].__name__
            raise refused(
                UnsupportedError,
                f"{name}.apply is called under another name, unseen by the tracer",
                why="the calls of its forward would be recorded without its backward",
                fix=f"write {name}.apply(...) where it is called",
            )
        frame = frame.f_back


def need_seen() -> None:
    """Raise if torch makes a view of an input that a forward returned, unseen by the tracer."""
    frame = sys._getframe(1)
    while is_own(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    if frame.f_code is APPLY.__code__:
        name = frame.f_locals["cls"].__name__
        raise refused(UnsupportedError, f"{name}.apply returns an input, unseen by the tracer")


def _forward(tracer: Tracer, cls: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Run the forward without gradients, as `apply` does; its context, and what it returns."""
    ctx: Any = torch.autograd.function.FunctionCtx()
    with DisableTorchFunction():
        flows = torch.is_grad_enabled()
        ctx.needs_input_grad = tuple(
            [isinstance(a, torch.Tensor) and flows and _requires_grad(a) for a in args]
        )
    recorder = tracer.recorder
    if recorder is not None:
        recorder.born(ctx)
        recorder.outside(cls)
        for name in ("backward", "vjp"):  # which a program for one of torch's compilers contains
            recorder.lookup(cls, name)
    method = (lambda _, name: getattr(cls, name)) if recorder is None else recorder.hooks.method
    with torch.no_grad():
        if cls.setup_context is _UNSET:
            return ctx, method(cls, "forward")(ctx, *args)
        result = method(cls, "forward")(*args)
        method(cls, "setup_context")(ctx, args, result)
        return ctx, result


def _inline(tracer: Tracer, cls: Any, args: tuple[Any, ...]) -> Any:
    """The forward as calls of the program; an input that it returns comes back as another tensor
    over the same memory, without gradients.
    """
    ctx, result = _forward(tracer, cls, args)
    dirty = {id(t) for t in getattr(ctx, "dirty_tensors", ())}
    own = {id(a) for a in args if isinstance(a, torch.Tensor)} - dirty

    def part(x: Any) -> Any:
        return x.detach() if id(x) in own else x

    if type(result) is not tuple:
        return part(result)
    return tuple([part(x) for x in result])


def need_remembered(tracer: Tracer) -> None:
    """Refuse a program that uses what a forward has kept somewhere besides its results."""
    if not tracer.forgotten:
        return
    graph = tracer.graph
    known = {v for node in graph.nodes for v in leaves(node.outs) if type(v) is Value}
    used = [v for node in graph.nodes for v in values_in(node.args, node.kwargs)]
    for value in (*used, *values_in(graph.outputs, {})):
        if value.kind == RESULT and value not in known:
            for start, end, name in tracer.forgotten:
                if start <= value.index < end:
                    raise refused(
                        UnsupportedError,
                        f"a tensor that {name}.forward has made is used outside of it",
                        why="the function is called as a whole, for its backward",
                        fix="return it from the forward",
                    )


def part_of(x: Any, path: Path) -> Any:
    """A part of an object."""
    for is_attribute, key in path:
        x = getattr(x, key) if is_attribute else x[key]
    return x


def _step(key: Any) -> Any:
    return next(getattr(key, name) for name in ("name", "idx", "key") if hasattr(key, name))


def _may_change(backward: Any) -> bool:
    """Whether a function has a statement or a method that changes something in place."""
    code = getattr(backward, "__code__", None)
    if code is None:
        return True
    for i in dis.get_instructions(code):
        name = str(i.argval) if i.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
        is_written = i.opname.startswith("STORE_S") or i.argrepr in _IN_PLACE
        if is_written or (name.endswith("_") and not name.endswith("__")):
            return True
    return any(type(x) is tuple and "out" in x for x in code.co_consts)


class _Whole:
    """One application as one call of the program."""

    def __init__(self, tracer: Tracer, method: Any, args: tuple[Any, ...]) -> None:
        self._tracer = tracer
        self._name = method.__self__.__name__
        self._plain = True  # whether all arguments and results are new tensors and numbers
        operands = tuple([self._operand(a) for a in args])
        start, epoch = tracer._count, tracer.epoch
        recorder = tracer.recorder
        effects = 0 if recorder is None else recorder.effects
        with tracer.unrecorded():
            ctx, found = _forward(tracer, method.__self__, args)
        tracer.forgotten.append((start, tracer._count, self._name))
        if recorder is not None and recorder.effects != effects and recorder.replays:
            raise recorder.refusal(f"{self._name}.forward changes something outside")
        self._start = start
        self._own = {id(a): a for a in args if isinstance(a, torch.Tensor)}
        self._dirty = {id(t) for t in getattr(ctx, "dirty_tensors", ())}
        self._fixed = {id(t) for t in getattr(ctx, "non_differentiable", ())}
        self._roots: list[tuple[int, Value | None]] = []  # of the results, by their place
        parts = list(found) if type(found) is tuple else [found]
        made = [self._part(x) for x in parts]
        if not any(type(m) is Meta for m in made) and not self._dirty:
            raise refused(UnsupportedError, f"{self._name}.apply returns no tensor")
        self._plain &= not (self._is_kept(ctx) and _may_change(method.__self__.backward))
        func = method if self._plain and tracer.epoch == epoch else Applied(method)
        single = type(found) is not tuple
        results: Any = made  # where the only result is an input or a constant
        if not single:
            results = tracer.record(func, operands, {}, Many(made, tuple))
        elif type(made[0]) in (Meta, Defined):
            results = [tracer.record(func, operands, {}, made[0])]
        else:
            tracer.emit(func, operands)
        if tracer.epoch != epoch:
            tracer.graph.nodes[-1].follows = Follows(tracer.env.last_assert)
        self._alias(results)
        results = [
            self._opened(x, name) if type(m) is Defined else name
            for x, m, name in zip(parts, made, results, strict=True)
        ]
        self.result = results[0] if single else tuple(results)

    def _operand(self, x: Any) -> Any:
        """An argument; objects of the user's are passed by name."""
        recorder = self._tracer.recorder
        if isinstance(x, torch.Tensor) or type(x) in ATOMS or recorder is None:
            return x
        if type(x) is tuple or (type(x) in _CONTAINERS and not recorder.is_outside(x)):
            parts = x.values() if type(x) is dict else x
            found = [self._operand(part) for part in parts]
            if all(a is b for a, b in zip(found, parts, strict=True)):
                return dict(x) if type(x) is dict else type(x)(x)
        self._plain = False
        return recorder.operand(x)

    def _is_kept(self, ctx: Any) -> bool:
        """Whether an operand is an attribute of the context: autograd does not check that it stays
        as it is, as it does for one that is saved, and as compilers of torch do for all.
        """
        kept = [x for name, x in vars(ctx).items() if name not in _OF_TORCH]
        return any(id(x) in self._own for x in pytree.tree_leaves(kept))

    def _part(self, x: Any) -> Any:
        """A result: the metadata of a tensor that the call gives; anything else as it is."""
        if not isinstance(x, torch.Tensor):
            self._plain = False
            self._roots.append((-1, None))
            return self._other(x)
        if id(x) in self._dirty and id(x) in self._own:
            self._plain = False
            self._roots.append((-1, None))
            return x
        t = x if type(x) is SymTensor else self._lifted(x)
        meta = t._meta
        flows = meta.dtype.is_floating_point or meta.dtype.is_complex
        grad = None if flows and id(x) not in self._fixed else False
        root = t._value.root
        is_new = root.node is not None and root.index >= self._start
        self._plain &= root is t._value and is_new
        self._roots.append((id(root), None if is_new else root))
        return Meta(meta.shape, meta.dtype, meta.layout, meta.device, grad)

    def _lifted(self, x: torch.Tensor) -> SymTensor:
        value = self._tracer.lift(x)
        return make(value.meta, value, self._tracer)

    def _other(self, x: Any) -> Any:
        """A result that is no tensor: an object that the forward made is one of the program's."""
        recorder = self._tracer.recorder
        if type(x) in ATOMS or (recorder is not None and recorder.is_outside(x)):
            return x
        if recorder is None or not recorder.replays or recorder.is_published(x):
            raise refused(
                UnsupportedError,
                f"{self._name}.apply returns a {type(x).__name__} besides tensors",
                fix="return tensors and numbers in a tuple",
            )
        return Defined(recorder.new_name())

    def _opened(self, x: Any, name: Name, path: Path = ()) -> Any:
        """What the trace has for a part of an object that the call gives under a name: the tensors
        that the forward has made are read from the object.
        """
        tracer, recorder = self._tracer, self._tracer.recorder
        if type(x) is SymTensor and x._value.node is not None and x._value.index >= self._start:
            node = tracer.emit(part_of, (name, path))
            m = x._meta
            meta = Meta(m.shape, m.dtype, m.layout, m.device, requires_grad=False)
            node.outs = value = Value(tracer.next_result(), RESULT, meta, node)
            return make(meta, value, tracer)
        if type(x) in ATOMS or isinstance(x, torch.Tensor) or recorder.is_outside(x):
            return x
        found = tree.level(x)
        if found is None and is_plain_object(x):
            found = tree.members(x)
        if found is None:
            raise recorder.unsupported(f"{self._name}.apply returns a {type(x).__name__}")
        steps = [(type(key) is pytree.GetAttrKey, _step(key)) for key in found.keys]
        inner = [
            self._opened(part, name, (*path, step))
            for part, step in zip(found.parts, steps, strict=True)
        ]
        spec = pytree.TreeSpec(found.kind, found.context, [_LEAF] * len(inner))
        made = recorder.born(tree.unflatten(inner, spec))
        if not path:
            recorder.know(made, name)
        elif not isinstance(made, tuple):
            recorder.know(made, recorder.compute(part_of, name, path))
        return made

    def _alias(self, results: Sequence[Any]) -> None:
        """Note which results share memory with older tensors, or with one another."""
        first: dict[int, Value] = {}
        for x, (key, root) in zip(results, self._roots, strict=True):
            if key == -1:
                if isinstance(x, torch.Tensor):
                    self._change(x)
            elif root is not None:
                x._value.root = root
            else:
                x._value.root = first.setdefault(key, x._value)

    def _change(self, x: Any) -> None:
        """An input that was changed in place gets the history of the call."""
        if type(x) is SymTensor:
            m = x._meta
            alter(x, Meta(m.shape, m.dtype, m.layout, m.device, requires_grad=True))
