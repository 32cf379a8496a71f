"""The tracer: receives every torch call of the program, asks its rule, and writes the graph."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.config import config
from anyshape.env import Env
from anyshape.env.site import user_site
from anyshape.errors import AnyshapeError
from anyshape.events import Deviation, OpCall, listeners
from anyshape.expr.boolean import ge0
from anyshape.expr.table.op_real import ANY, Span
from anyshape.expr.terms import terms
from anyshape.rules.dispatch.as_number import NOT_NUMBERS
from anyshape.rules.dispatch.resolve import resolve
from anyshape.rules.dispatch.result import Defined, Done, Instead, Many
from anyshape.rules.dispatch.table import when_registered
from anyshape.rules.shared.index_number import call_with_indices
from anyshape.symbolic.numpy_scalar import number_of
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import outside
from anyshape.tensor.index_operand import IndexOperand
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.tensor.size import same_expr
from anyshape.tensor.sym_tensor import DUMMY, ROWS, SymTensor, alter, make, number_like
from anyshape.tensor.wrapper import WrapperOperand
from anyshape.torch_compat.tensor_subclass import make_subclass
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.argument.observation import Observations
from anyshape.trace.argument.wrapper import call_with_wrapper
from anyshape.trace.aside import unrecorded
from anyshape.trace.autograd.autograd_call import autograd_call, view_without_grad
from anyshape.trace.autograd.autograd_function import need_backward
from anyshape.trace.autograd.backward import assign_gradient, gradient, note_leaf
from anyshape.trace.autograd.data_assignment import assign_data
from anyshape.trace.birth import Births, made, make_parameter, need_origin, note_foreign, settle
from anyshape.trace.constant import need_plain_constant
from anyshape.trace.graph.deviation import deviate
from anyshape.trace.graph.fresh_size import bind_fresh_sizes
from anyshape.trace.graph.graph import CONSTANT, INPUT, RESULT, Follows, Graph, Name, Node, Value
from anyshape.trace.graph.literal import literal, with_data
from anyshape.trace.graph.numbering import number
from anyshape.trace.mode.mode_recorder import ModeRecorder
from anyshape.trace.options import REFUSED, TraceOptions
from anyshape.trace.record.effect.effect import EFFECTS, read_gradient
from anyshape.trace.scan import PLAIN, Scan
from anyshape.trace.timed_call import timed_call
from anyshape.trace.trace_asker import TraceAsker

if TYPE_CHECKING:
    from anyshape.env.site import Site
    from anyshape.expr import Expr
    from anyshape.trace.graph.module_call import ModuleCall

_is_grad_enabled: Final = torch.is_grad_enabled
_is_inference: Final = torch.is_inference_mode_enabled
_default_dtype: Final = torch.get_default_dtype
_DEFAULT: Final = TraceOptions()


class Tracer(ModeRecorder):
    """One run of one program. `call` receives every torch function."""

    def __init__(
        self,
        env: Env | None = None,
        options: TraceOptions = _DEFAULT,
        previous: Tracer | None = None,  # of an earlier trace of the same call
    ) -> None:
        super().__init__(follows_caller=options.effects == REFUSED)
        self.env = Env(TraceAsker()) if env is None else env
        self.options = options
        self.graph = Graph()
        self.deviations: list[Deviation] = []
        self.refusals: list[AnyshapeError] = []  # made while it runs
        self.memo: dict[Any, Any] = {}
        self.epoch = 0
        self.outer_version = 0  # the epoch of the last mutation of what comes from outside
        self.asked_layout = self.asked_grad = self.asked_class = False
        self.asked_device = False  # whether it makes tensors on the default device
        self.asked_identity = False  # whether it compares inputs by `is`
        self.met_methods: set[str] = set()  # see `tensor/python_method.py`
        self.handles_errors = self.closed = False
        self.depth = self._count = 0
        self.module_call: ModuleCall | None = None
        self.module_calls: dict[int, int] = {}  # the number of the last call of each module, by id
        self.bodies = self.batched = 0  # of higher-order calls, that are being traced; of `vmap`
        self.gathers = False  # whether an index that is a tensor stands for a batch of them
        self.whole = 0  # forwards of autograd functions that are recorded as one call
        self.forgotten: list[tuple[int, int, str]] = []  # results of such forwards, by number
        self.failed = False  # whether a part of the program that ran has raised
        self.mode: Any = None
        self.inputs: Any = None
        # of what Python does around the calls; before the trace, that of the earlier one
        self.recorder: Any = None if previous is None else previous.recorder
        self.device = torch.get_default_device()
        self._device: torch.device | None = None  # of all tensors so far
        self._mixed = self._grads = False
        self._sites = not config.do_not_emit_stack_traces
        self._fresh: list[tuple[SymInt, Any, tuple[Any, ...]]] = []
        self._lifted: dict[int, Value] = {}
        self.wrappers: dict[int, tuple[Any, Value]] = {}  # tensors that wrap others, by id
        self._start = 0  # the first node of the part that is traced
        self._settled = 0  # constants of which it is known where they were born
        self.births = Births()
        self.observations = Observations()

    # ------------------------------------------------------------------ calls

    call_with_wrapper, number, literal, unrecorded = call_with_wrapper, number, literal, unrecorded
    assign_data, autograd_call, with_data = assign_data, autograd_call, with_data
    note_leaf, gradient, assign_gradient, is_segmented = note_leaf, gradient, assign_gradient, False
    closes_loops = False  # whether it goes on where only the run knows how often
    has_lists = False  # whether there are lists whose lengths only the run knows

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a torch function and give what it returns."""
        row = ROWS.get(func)
        if row is None:
            row = ROWS[func] = resolve(func)
        if self.env.asker.met_scalars and func not in NOT_NUMBERS:
            args, kwargs = number_of(args), number_of(kwargs)
        try:
            if OpCall in listeners:
                return timed_call(self, row, func, args, kwargs)
            return row(self, func, args, kwargs)
        except WrapperOperand:
            return self.call_with_wrapper(func, args, kwargs)
        except IndexOperand:
            return call_with_indices(self, func, args, kwargs)

    def record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Write a node for a call whose rule gave `out`; the tensors for its results."""
        if type(out) is not Meta:
            return self._record_other(func, args, kwargs, out)
        if _is_grad_enabled() is not self._grad or self._autocast or is_any_autocast_enabled():
            self._switch_modes()
        if _default_dtype() is not self._dtype or _is_inference() is not self._inference:
            self._switch_modes()
        frozen: Any = None
        named: Any = None
        simple = not self._mixed and not (self._grad and self._grads)
        if simple:  # one device and no gradients: nothing to sum up
            freeze = self._freeze
            frozen = tuple(
                [
                    x._value if type(x) is SymTensor else x if type(x) in PLAIN else freeze(x)
                    for x in args
                ]
            )
            named = {k: freeze(x) for k, x in kwargs.items()} if kwargs else kwargs
            simple = not self._mixed and not (self._grad and self._grads)
            if simple:
                if out.device is None:
                    out.device = self._device or self.device
                if not out.requires_grad:
                    out.requires_grad = False
        if not simple:
            self._switch_hooks()
            scan = Scan(self)
            frozen, named = scan.args(args), scan.named(kwargs)
            self._complete(out, scan)
        if out.requires_grad or out.device is not self._device:
            self.note(out)
        node = Node(
            func, frozen, named, user_site(3) if self._sites else None, self.epoch, self.module_call
        )
        self.graph.nodes.append(node)
        count = self._count
        self._count = count + 1
        node.outs = value = Value(count, RESULT, out, node)
        if self._fresh:
            self._bind(node)
        t: SymTensor = make_subclass(SymTensor, DUMMY if out.shape else number_like(out.dtype))
        t._meta = out
        t._value = value
        t._tracer = self
        return t

    def _record_other(self, func: Any, args: Any, kwargs: Any, out: Any) -> Any:
        """Write a node for what is not one tensor, if there is anything to write."""
        kind = type(out)
        if kind is Done:
            return made(self, out.value)
        if kind is Instead:
            return self.record(out.func, out.args, out.kwargs, out.out)
        if kind is Defined:
            self.emit(func, args, kwargs).outs = _name_of(out.number)
            return out.number
        if kind is not Many:
            raise AnyshapeError(f"the rule of {func} returned {kind.__name__}, not a Meta")
        scan = Scan(self)
        node = self._node(func, scan.args(args), scan.named(kwargs))
        outs: list[Any] = []
        tensors = [self._part(node, part, scan, outs) for part in out.parts]
        node.outs = tuple(outs)
        if self._fresh:
            self._bind(node)
        return out.build(tensors)

    def _freeze(self, x: Any) -> Any:
        if type(x) is SymTensor and x._tracer is self:
            return x._value
        value = self._lifted.get(id(x))  # what is lifted stays alive, so its id is its own
        return Scan(self).freeze(x) if value is None else value

    def _complete(self, meta: Meta, scan: Scan) -> None:
        """Fill in what a rule left to the operands: the device, and whether gradients flow."""
        if meta.device is None:
            meta.device = scan.device or self.device
        if meta.requires_grad is None:
            dtype = meta.dtype
            meta.requires_grad = (
                scan.grad and self._grad and (dtype.is_floating_point or dtype.is_complex)
            )

    def note(self, meta: Meta) -> None:
        """Keep track of whether all tensors are on one device, and whether any requires grad."""
        if meta.requires_grad:
            self._grads = True
        if self._device is None:
            self._device = meta.device
        elif meta.device != self._device:
            self._mixed = True

    def _part(self, node: Node, part: Any, scan: Scan, outs: list[Any]) -> Any:
        if type(part) is Meta:
            return self._result(node, part, scan, outs)
        if type(part) is Many:
            inner: list[Any] = []
            tensors = [self._part(node, p, scan, inner) for p in part.parts]
            outs.append(tuple(inner))
            return part.build(tensors)
        if type(part) is Defined:
            outs.append(_name_of(part.number))
            return part.number
        outs.append(None)
        return part

    def _result(self, node: Node, meta: Meta, scan: Scan, outs: list[Any]) -> SymTensor:
        self._complete(meta, scan)
        self.note(meta)
        value = Value(self._count, RESULT, meta, node)
        self._count += 1
        outs.append(value)
        return make(meta, value, self)

    def _node(self, func: Any, args: Any, kwargs: Any, site: Site | None = None) -> Node:
        if _is_grad_enabled() is not self._grad or self._autocast or is_any_autocast_enabled():
            self._switch_modes()
        if _default_dtype() is not self._dtype or _is_inference() is not self._inference:
            self._switch_modes()
        if self._grads:
            self._switch_hooks()
        if site is None and self._sites:
            site = user_site(1)
        node = Node(func, args, kwargs, site, self.epoch, self.module_call)
        if func in EFFECTS:
            node.follows = Follows(self.env.last_assert)
        self.graph.nodes.append(node)
        return node

    def emit(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Node:
        """Write a node without a rule; the caller sets its outputs."""
        scan = Scan(self)
        return self._node(func, scan.args(args), scan.named(kwargs or {}))

    def warn(self, message: Any, category: Any, stacklevel: int) -> None:
        """A function of torch warns, as `warnings.warn` does."""
        if self.recorder is not None:
            self.recorder.hooks.warned_by_torch(message, category, stacklevel)
        else:
            warnings.warn(message, category, stacklevel=stacklevel + 2)

    def read_gradient(self, t: SymTensor) -> None:
        """The program reads the gradient of a result, which warns."""
        self.emit(read_gradient, (t,))

    def mutate(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], changed: Any
    ) -> None:
        """Write a node that changes `changed` in place; what it returns is not needed."""
        scan = Scan(self)
        node = self._node(func, scan.args(args), scan.named(kwargs))
        if self._fresh:
            self._bind(node)
        if self.touch(changed):
            node.follows = Follows(self.env.last_assert)
        meta = changed._meta if type(changed) is SymTensor else None
        if meta is not None and scan.grad and self._grad and not meta.requires_grad:
            dtype = meta.dtype
            if dtype.is_floating_point or dtype.is_complex:
                alter(changed, Meta(meta.shape, dtype, meta.layout, meta.device, True))

    def touch(self, changed: Any) -> bool:
        """Note that the memory of a tensor changed; whether it is of a tensor from outside."""
        value = changed._value if type(changed) is SymTensor else self.lift(changed)
        root = value.root
        self.epoch += 1
        root.version = self.epoch
        if root.node is None:
            self.outer_version = self.epoch
        return root.node is None

    def alias(self, result: Any, of: Any) -> None:
        """Note that a result is a view of an operand."""
        if type(result) is SymTensor:
            base = of._value if type(of) is SymTensor else self.lift(of)
            result._value.root = base.root
            view_without_grad(result, of)
        elif isinstance(result, tuple | list):
            for part in result:
                self.alias(part, of)

    # ------------------------------------------------------------------ tensors from outside

    def input(self, meta: Meta) -> SymTensor:
        """A new input of the graph."""
        self.note(meta)
        value = Value(len(self.graph.inputs), INPUT, meta)
        self.graph.inputs.append(value)
        return make(meta, value, self)

    def consumed(self, x: Any) -> None:
        """Note what a container, or an array, holds that a call of torch was given."""
        if self.recorder is not None:
            self.recorder.consumed(x)

    def lift(self, tensor: torch.Tensor) -> Value:
        """The constant for a real tensor: a parameter, a buffer, or one the program closes over."""
        value = self._lifted.get(id(tensor))
        return self._lift(tensor) if value is None else value

    def _lift(self, tensor: torch.Tensor) -> Value:
        with DisableTorchFunction():
            need_plain_constant(tensor, self.options)
            meta = meta_of_real(tensor)
        need_origin(self, tensor)
        self.note(meta)
        value = Value(len(self.graph.constants), CONSTANT, meta)
        self.graph.constants.append((value, tensor))
        self._lifted[id(tensor)] = value
        if type(tensor) is torch.Tensor:
            note_foreign(self, value, tensor)
        return value

    def settle(self) -> None:
        """Make the constants that were born inside results of nodes, at the start of the part."""
        for value, tensor in settle(self, self._start, self._settled):
            self._adopt(value, tensor)
        self._settled = len(self.graph.constants)

    def _adopt(self, value: Value, tensor: torch.Tensor) -> None:
        """Let a result stand for a real tensor as long as that lives."""
        key, lifted = id(tensor), self._lifted
        weakref.finalize(tensor, lifted.pop, key, None).atexit = False

    def parameter(self, t: SymTensor) -> Value:
        """The value of a parameter over a tensor that has no history."""
        node = self.emit(make_parameter, (t, bool(t._meta.requires_grad)))
        node.outs = value = Value(self.next_result(), RESULT, t._meta, node)
        value.root = t._value.root
        return value

    def track(self, t: SymTensor) -> None:
        """Note that a tensor has a new value."""

    def next_result(self) -> int:
        """The number of the next result."""
        self._count += 1
        return self._count - 1

    def value_of(self, tensor: torch.Tensor) -> Value | None:
        """The value that stands for a real tensor, if the program has used it."""
        return self._lifted.get(id(tensor))

    # ------------------------------------------------------------------ what the run will know

    def _need_backward(self) -> None:
        need_backward(self)

    def mint(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **known: Any
    ) -> SymInt:
        """A new unbacked integer that the call gives a value to."""
        site = user_site(3) if self._sites else None
        e = self._unbacked(site, **known)
        freeze = self._freeze
        named = {k: freeze(x) for k, x in kwargs.items()} if kwargs else {}
        node = self._node(func, tuple([freeze(x) for x in args]), named, site)
        node.outs = Name(symbol_name(e))
        return SymInt(e, self.env)

    def mint_list(self, func: Any, args: tuple[Any, ...], count: int, **known: Any) -> list[SymInt]:
        """So many new unbacked integers, which the call gives values to as one list."""
        site = user_site(3) if self._sites else None
        exprs = [self._unbacked(site, **known) for _ in range(count)]
        node = self._node(func, Scan(self).args(args), {}, site)
        node.outs = tuple([Name(symbol_name(e)) for e in exprs])
        return [SymInt(e, self.env) for e in exprs]

    def _unbacked(
        self,
        site: Site | None,
        *,
        size: bool = False,
        min: int | None = None,
        max: int | None = None,
    ) -> Expr:
        """A new unbacked symbol with the range that it has by nature."""
        env = self.env
        e = env.unbacked_at(site, size=size)
        if min is not None and not (size and min <= 0):
            env.learn(ge0(e.shift(-min)))
        if max is not None:
            env.learn(ge0((-e).shift(max)))
        return e

    def mint_float(self, func: Any, args: tuple[Any, ...], span: Span = ANY) -> SymFloat:
        """A new unbacked float within a span that the call gives a value to."""
        real = self.env.real(span=span)
        self.emit(func, args).outs = Name(real.args[0])
        return SymFloat(real, self.env)

    def fresh_size(self, func: Any = None, args: tuple[Any, ...] = (), **known: Any) -> SymInt:
        """A new size that stands in the shape of the next recorded result and is read off it.

        `func(*args)`, if given, computes it where it turns out to stand nowhere.
        """
        site = user_site(2) if self._sites else None
        n = SymInt(self._unbacked(site, size=True, **known), self.env)
        self._fresh.append((n, func, args))
        return n

    def claim(self, n: Any) -> bool:
        """Whether a number is a new size; the call whose result it is gives its value."""
        kept = [entry for entry in self._fresh if not same_expr(entry[0], n)]
        found, self._fresh = len(kept) < len(self._fresh), kept
        return found

    _bind, deviate = bind_fresh_sizes, deviate

    @property
    def is_cut(self) -> bool:
        """Whether a condition on the inputs comes too late: a part of the program has run."""
        return False

    @property
    def has_effects(self) -> bool:
        """Whether the program has done something outside itself."""
        return self.recorder is not None and self.recorder.effects > 0

    def close(self) -> None:
        """End the trace: a tensor that outlives it raises when it is used."""
        self.closed = True
        self.memo = {}
        for method in ("call", "record", "mutate", "emit"):
            setattr(self, method, _outside)

    def abandon(self) -> None:
        """Drop everything: the trace has failed."""
        self.release()
        self.graph, self.inputs, self.observations = Graph(), None, Observations()

    def release(self) -> None:
        """Drop what only the trace needed."""
        self.mode = None
        if self.recorder is not None:
            self.recorder.forget()
        self.recorder = None
        self._lifted = {}
        self.wrappers = {}
        self.births = Births()


when_registered(ROWS.clear)


def _name_of(number: Any) -> Name:
    if type(number) is SymFloat:
        return Name(number.value.name)
    return number if type(number) is Name else Name(symbol_name(number.expr))


def _outside(*_: Any, **__: Any) -> NoReturn:
    raise outside()


def symbol_name(e: Expr) -> str:
    """The name of the symbol that an expression is."""
    return next(iter(terms(e))).name
