"""`torch.func`: a transformed function is an object, and a call of it is one call of the graph.

The operands that a transform is about are parameters of the body: the examples of a batch, or what
is differentiated by. When the program runs, torch transforms the body, so that results, gradients
and errors are its own.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Defined
from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect_equal
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.graph.graph import Follows
from anyshape.trace.higher_order import runtime
from anyshape.trace.higher_order.body import Traced, parameter, trace_body
from anyshape.trace.higher_order.loop import meta_of, one_of
from anyshape.trace.higher_order.result import Joined, names_in, record, refuse_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.graph.graph import Name
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer

_OPTIONS: Final = {
    "vmap": ("in_dims", "out_dims", "randomness", "chunk_size"),
    "grad": ("argnums", "has_aux"),
    "grad_and_value": ("argnums", "has_aux"),
    "jacrev": ("argnums", "has_aux", "chunk_size"),
    "jacfwd": ("argnums", "has_aux", "randomness"),
}
_DEFAULTS: Final[dict[str, Any]] = {
    "argnums": 0,
    "chunk_size": None,
    "has_aux": False,
    "in_dims": 0,
    "out_dims": 0,
    "randomness": "error",
}


class Transformed:
    """A function that torch would transform; to call it traces the function."""

    __slots__ = ("_function", "_given", "_name", "_options", "_recorder")

    def __init__(self, recorder: Recorder, name: str, function: Any, options: Any) -> None:
        self._recorder = recorder
        self._name = name
        self._given = function
        self._function = recorder.hooks.ready(function)
        names = _OPTIONS[name]
        self._options = {key: options.get(key, _DEFAULTS[key]) for key in names}

    def made_by(self) -> tuple[Any, tuple[Any, ...]]:
        """What makes torch's own function in its place, and of what."""
        return functools.partial(_transform, self._name, self._options), (self._given,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record the call."""
        call = _vmap if self._name == "vmap" else _derive
        return call(self._recorder.tracer, self._name, self._function, self._options, args, kwargs)


def _transform(name: str, options: dict[str, Any], function: Any) -> Any:
    return getattr(torch.func, name)(function, **options)


def transform(name: str, recorder: Recorder, func: Any, *args: Any, **options: Any) -> Any:
    """A transform of `torch.func`: a function over a function."""
    if name == "hessian":
        inner = transform("jacrev", recorder, func, *args, **options)
        return transform("jacfwd", recorder, inner, *args, **options)
    options.pop("_preallocate_and_copy", None)
    given = dict(zip(_OPTIONS[name], args))  # noqa: B905  those that are given
    return recorder.born(Transformed(recorder, name, func, {**given, **options}))


# ---------------------------------------------------------------------- batches


def _vmap(tracer: Tracer, name: str, f: Any, options: Any, args: Any, kwargs: Any) -> Any:
    flat, spec = tree.flatten(args)
    dims = _spread(options["in_dims"], spec, args)
    mapped = [i for i, (x, d) in enumerate(zip(flat, dims, strict=True)) if d is not None]
    if not mapped:
        raise ValueError("vmap: at least one input must be mapped over")
    if any(not isinstance(flat[i], torch.Tensor) for i in mapped):
        raise ValueError("vmap: only tensors can be mapped over; use None in in_dims")
    examples, sizes, places = [], [], []
    for i in mapped:
        example, size, place = _example(tracer, flat[i], dims[i])
        examples.append(example)
        sizes.append(size)
        places.append(place)
    for n in sizes[1:]:
        expect_equal(
            sizes[0],
            n,
            lambda: "vmap: expected all tensors to have the same size in the mapped dim",
        )
    inner = list(flat)
    for i, example in zip(mapped, examples, strict=True):
        inner[i] = example
    epoch = tracer.epoch
    hands_on = options["chunk_size"] is None and not any(x._meta.requires_grad for x in examples)
    tracer.batched += 1
    try:
        traced = trace_body(
            tracer,
            "torch.vmap",
            lambda: f(*tree.unflatten(inner, spec), **kwargs),
            examples,
            hands_on=hands_on,
        )
    finally:
        tracer.batched -= 1
    if any(type(x) is not SymTensor for x in traced.results):
        raise ValueError("vmap: the function must return tensors only")
    out_dims = _spread(options["out_dims"], traced.spec, None)
    joined = Joined(tracer, names_in(traced))
    parts = [_batch(joined, x, d, sizes[0]) for x, d in zip(traced.results, out_dims, strict=True)]
    given = (
        traced.body,
        traced.captures,
        [flat[i] for i in mapped],
        tuple(places),
        tuple(out_dims),
        options["randomness"],
        options["chunk_size"],
    )
    made = record(tracer, runtime.vmap, given, parts)
    if hands_on:
        operands = {
            id(p._value): (p, flat[i], d) for p, i, d in zip(examples, mapped, places, strict=True)
        }
        made = [
            _handed(tracer, operands, *of)
            for of in zip(made, traced.results, out_dims, strict=True)
        ]
        _touch(tracer, [x for p, x, _ in operands.values() if p._value.version > epoch])
    return tree.unflatten(made, traced.spec)


def _handed(tracer: Tracer, operands: Any, made: Any, result: Any, dim: Any) -> Any:
    """A result that shares memory with an operand; the operand itself, if its batch stays."""
    found = operands.get(id(result._value.root))
    if found is None:
        return made
    example, operand, place = found
    rank = len(meta_of(operand).shape)
    if result._value is example._value and dim is not None and dim % rank == place:
        return operand
    tracer.alias(made, operand)
    return made


def _touch(tracer: Tracer, changed: list[Any]) -> None:
    """Note that a call changed its operands."""
    node = next((n for n in reversed(tracer.graph.nodes) if n.func is runtime.vmap), None)
    for x in changed:
        if tracer.touch(x) and node is not None:
            node.follows = Follows(tracer.env.last_assert)


def _spread(dims: Any, spec: Any, args: Any) -> list[Any]:
    """One dimension for each leaf, from a prefix of the structure."""
    if type(dims) is list:
        dims = tuple(dims)
    if type(dims) is int or dims is None:
        kinds = tree.flatten(args)[0] if args is not None else [None] * spec.num_leaves
        is_tensor = [args is None or isinstance(x, torch.Tensor) for x in kinds]
        return [dims if t else _unmapped(dims, x) for t, x in zip(is_tensor, kinds, strict=True)]
    found = pytree.broadcast_to_and_flatten(dims, spec)
    if found is None:
        raise ValueError(f"vmap: {dims} does not match the structure {spec}")
    return list(found)


def _unmapped(dims: Any, x: Any) -> Any:
    if dims is None:
        return None
    raise ValueError(f"vmap: got in_dim={dims} for an input of type {type(x).__name__}")


def _example(tracer: Tracer, x: Any, dim: int) -> tuple[SymTensor, Any, int]:
    """Any example of a batch, the size of the batch, and its dimension."""
    meta = meta_of(x)
    rank = len(meta.shape)
    if not -rank <= dim < rank:
        raise ValueError(f"vmap: in_dim={dim} for a tensor of {rank} dimensions")
    place = dim % rank
    return one_of(tracer, x, place), meta.shape[place], place


def _batch(joined: Joined, example: SymTensor, dim: Any, size: Any) -> Meta:
    """The results for all examples of a batch; where `dim` is None, they are one."""
    meta = joined.tensor([example])
    shape = list(meta.shape)
    if dim is not None:
        place = dim % (len(shape) + 1) if -len(shape) <= dim + 1 <= len(shape) + 1 else -1
        if place < 0:
            raise IndexError(f"vmap: out_dims={dim} for results of {len(shape)} dimensions")
        shape.insert(place, size)
    return Meta(tuple(shape), meta.dtype, unsure(CONTIGUOUS), meta.device, meta.requires_grad)


# ---------------------------------------------------------------------- derivatives


class _Variables:
    """The operands that a function is differentiated by: the leaves of some of its arguments."""

    def __init__(self, tracer: Tracer, args: tuple[Any, ...], argnums: Any) -> None:
        self.is_one = type(argnums) is int
        numbers = (argnums,) if self.is_one else tuple(argnums)
        try:
            parts = [args[n] for n in numbers]
        except IndexError:
            raise RuntimeError(
                f"argnums={argnums} for a function of {len(args)} arguments"
            ) from None
        self._places = [n % len(args) for n in numbers]
        self._args = args
        self.flat, self.spec = tree.flatten(tuple(parts))
        if any(not isinstance(x, torch.Tensor) for x in self.flat):
            raise refused(UnsupportedError, "a derivative by what is no tensor", code="AS116")
        self.inner = [_variable(tracer, x) for x in self.flat]

    def arguments(self) -> list[Any]:
        """The arguments of the body."""
        given = list(self._args)
        for place, part in zip(self._places, tree.unflatten(self.inner, self.spec), strict=True):
            given[place] = part
        return given

    def build(self, leaves: list[Any]) -> Any:
        """Something for each operand, in the structure of the arguments."""
        found = tree.unflatten(leaves, self.spec)
        return found[0] if self.is_one else found


def _variable(tracer: Tracer, x: Any) -> SymTensor:
    meta = meta_of(x)
    return parameter(tracer, Meta(meta.shape, meta.dtype, meta.layout, meta.device, True))


def _derive(tracer: Tracer, name: str, f: Any, options: Any, args: Any, kwargs: Any) -> Any:
    variables = _Variables(tracer, args, options["argnums"])
    traced, value, aux = _run(
        tracer,
        f"torch.func.{name}",
        lambda: f(*variables.arguments(), **kwargs),
        options,
        variables,
    )
    joined = Joined(tracer, names_in(traced))
    results = [_plain(joined.part([x])) for x in traced.results]
    count = value.num_leaves
    given = (traced.body, traced.captures, variables.flat)
    if name in ("jacrev", "jacfwd"):
        metas = [_jacobian(y, x) for y in results[:count] for x in variables.flat]
        is_reverse = name == "jacrev"
        rest = {k: v for k, v in options.items() if k in ("chunk_size", "randomness")}
        made = record(
            tracer, runtime.jacobian, (*given, count, is_reverse, rest), metas + results[count:]
        )
        width = len(variables.flat)
        rows = [variables.build(made[i * width : (i + 1) * width]) for i in range(count)]
        out = tree.unflatten(rows, value)
        return (out, tree.unflatten(made[len(metas) :], aux)) if options["has_aux"] else out
    if count != 1:
        raise refused(
            UnsupportedError, f"torch.func.{name} of a function with {count} results", code="AS116"
        )
    slopes = [_like(x) for x in variables.flat]
    made = record(tracer, runtime.grad, given, slopes + results)
    grads = variables.build(made[: len(slopes)])
    out, rest = made[len(slopes)], tree.unflatten(made[len(slopes) + 1 :], aux)
    if name == "grad":
        return (grads, rest) if options["has_aux"] else grads
    return grads, ((out, rest) if options["has_aux"] else out)


def _run(
    tracer: Tracer, name: str, call: Callable[[], Any], options: Any, variables: _Variables
) -> tuple[Traced, Any, Any]:
    """The traced body, the structure of its differentiable results, and that of the others."""
    traced = trace_body(tracer, name, call, variables.inner)
    value, aux = traced.spec, tree.flatten(())[1]
    if options["has_aux"]:
        parts = traced.spec.children()
        if len(parts) != 2:
            refuse_results("returns no pair although it has_aux", [traced.spec])
        value, aux = parts
    if any(type(x) is not SymTensor for x in traced.results[: value.num_leaves]):
        refuse_results("returns what is no tensor", traced.results)
    return traced, value, aux


def _plain(part: Any) -> Any:
    """A result outside the transform: gradients flow through it as through its operands."""
    if type(part) is Meta:
        return Meta(part.shape, part.dtype, unsure(CONTIGUOUS), part.device)
    return part


def _like(x: Any) -> Meta:
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype, unsure(CONTIGUOUS), meta.device)


def _jacobian(y: Meta, x: Any) -> Meta:
    return Meta((*y.shape, *meta_of(x).shape), y.dtype, unsure(CONTIGUOUS), y.device)


def jvp(
    recorder: Recorder,
    func: Any,
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """`torch.func.jvp`."""
    tracer, f = recorder.tracer, recorder.hooks.ready(func)
    variables = _Variables(tracer, tuple(primals), tuple(range(len(primals))))
    slopes, spec = tree.flatten(tuple(tangents))
    if spec != variables.spec:
        raise RuntimeError("jvp: primals and tangents differ in structure")
    name, options = "torch.func.jvp", {"has_aux": has_aux}
    traced, value, aux = _run(tracer, name, lambda: f(*variables.arguments()), options, variables)
    joined = Joined(tracer, names_in(traced))
    results = [_plain(joined.part([x])) for x in traced.results]
    count = value.num_leaves
    given = (traced.body, traced.captures, variables.flat, slopes, count)
    made = record(tracer, runtime.jvp, given, results + [_copy(m) for m in results[:count]])
    out, rest = tree.unflatten(made[:count], value), made[count : len(results)]
    tangent = tree.unflatten(made[len(results) :], value)
    return (out, tangent, tree.unflatten(rest, aux)) if has_aux else (out, tangent)


def _copy(meta: Meta) -> Meta:
    return Meta(meta.shape, meta.dtype, meta.layout, meta.device)


# ---------------------------------------------------------------------- linear maps


class PullBack:
    """The second result of `torch.func.vjp`; the object itself is made when the program runs."""

    __slots__ = ("_name", "_primals", "_tracer", "_value")

    def __init__(self, tracer: Tracer, name: Name, primals: _Variables, value: Any) -> None:
        self._tracer = tracer
        self._name = name
        self._primals = primals
        self._value = value

    def __call__(self, cotangents: Any, **_: Any) -> Any:
        """Record the call."""
        flat, spec = tree.flatten(cotangents)
        if spec != self._value:
            raise RuntimeError(f"vjp: cotangents of structure {spec}, expected {self._value}")
        slopes = [_like(x) for x in self._primals.flat]
        made = record(self._tracer, runtime.pull_back, (self._name, flat), slopes)
        return tree.unflatten(made, self._primals.spec)


def vjp(recorder: Recorder, func: Any, *primals: Any, has_aux: bool = False) -> Any:
    """`torch.func.vjp`."""
    tracer, f = recorder.tracer, recorder.hooks.ready(func)
    variables = _Variables(tracer, primals, tuple(range(len(primals))))
    options = {"has_aux": has_aux}
    name = "torch.func.vjp"
    traced, value, aux = _run(tracer, name, lambda: f(*variables.arguments()), options, variables)
    joined = Joined(tracer, names_in(traced))
    results = [_plain(joined.part([x])) for x in traced.results]
    count = value.num_leaves
    pulls = recorder.new_name()
    given = (traced.body, traced.captures, variables.flat, count)
    made = record(tracer, runtime.vjp, given, [*results, Defined(pulls)])
    out = tree.unflatten(made[:count], value)
    pull = PullBack(tracer, pulls, variables, value)
    return (out, pull, tree.unflatten(made[count:-1], aux)) if has_aux else (out, pull)


class PushForward:
    """The second result of `torch.func.linearize`; the object is made when the program runs."""

    __slots__ = ("_name", "_primals", "_results", "_tracer", "_value")

    def __init__(
        self, tracer: Tracer, name: Name, primals: _Variables, results: list[Meta], value: Any
    ) -> None:
        self._tracer = tracer
        self._name = name
        self._primals = primals
        self._results = results
        self._value = value

    def __call__(self, *tangents: Any) -> Any:
        """Record the call; each tangent has the size, the dtype and the device of its primal."""
        flat, spec = tree.flatten(tangents)
        if spec != self._primals.spec:
            raise RuntimeError(f"expected tangents of structure {self._primals.spec}, got {spec}")
        for x, t in zip(self._primals.flat, flat, strict=True):
            was, is_ = meta_of(x), meta_of(t)
            same = (was.dtype, was.device, len(was.shape)) == (
                is_.dtype,
                is_.device,
                len(is_.shape),
            )
            if not same:
                raise RuntimeError(f"a tangent {is_} does not match its primal {was}")
            for n, m in zip(was.shape, is_.shape, strict=True):
                expect_equal(n, m, lambda: "linearize: a tangent differs in size from its primal")
        parts = [_copy(m) for m in self._results]
        made = record(self._tracer, runtime.push_forward, (self._name, flat), parts)
        return tree.unflatten(made, self._value)


def linearize(recorder: Recorder, func: Any, *primals: Any) -> Any:
    """`torch.func.linearize`."""
    tracer, f = recorder.tracer, recorder.hooks.ready(func)
    variables = _Variables(tracer, primals, tuple(range(len(primals))))
    name, options = "torch.func.linearize", {"has_aux": False}
    traced, value, _ = _run(tracer, name, lambda: f(*variables.arguments()), options, variables)
    joined = Joined(tracer, names_in(traced))
    results = [_plain(joined.part([x])) for x in traced.results]
    pushes = recorder.new_name()
    given = (traced.body, traced.captures, variables.flat)
    *out, _ = record(tracer, runtime.linearize, given, [*results, Defined(pushes)])
    push = PushForward(tracer, pushes, variables, results, value)
    return tree.unflatten(out, value), push


def functionalize(recorder: Recorder, func: Any, *, remove: str = "mutations") -> Any:
    """`torch.func.functionalize`: the results are those of the function itself."""
    return recorder.hooks.ready(func)


def dual_level(_: Recorder, *__: Any, **___: Any) -> NoReturn:
    """A level of forward differentiation, which a program could not open when it runs."""
    raise refused(
        UnsupportedError,
        "a level of forward differentiation inside a traced function",
        fix="use torch.func.jvp, or open the level around the call",
        code="AS116",
    )
