"""Modules, tensors and modes of the user's whose machinery acts between and within calls."""

import collections
import copy
import functools
import io
import types

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from tests.differential.hostile.program import Box, Case, attribute, body, matrix, program

STATE = Box(k=2.0, flag=True, log=[])


def number_from(first):
    """Hooks are numbered by one count for all executions."""
    RemovableHandle.next_id = first


class Tagged(torch.Tensor):
    """A tensor that carries a tag from op to op."""

    tag = "none"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(made, Tagged):
            made.tag = f"{func.__name__}:{STATE.k}"
        return made


@body(*attribute(STATE, "k", 3.0))
def tagged_tensors_made_inside(x):
    t = x.as_subclass(Tagged)
    y = t * 2 + 1
    return y.as_subclass(torch.Tensor), y.tag, type(y).__name__, type(t.sum()).__name__


@program
def tagged_tensor_from_outside():
    w = torch.ones(1).as_subclass(Tagged)

    def f(x):
        y = x * w
        return torch.Tensor(y.as_subclass(torch.Tensor)), y.tag

    return Case(f, *attribute(STATE, "k", 3.0))


class Scaling(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        STATE.log.append(getattr(func, "__name__", "?"))
        return made * STATE.k if func is torch.sin else made


@body(*attribute(STATE, "k", 3.0), looks_at=STATE)
def mode_of_ours_around_a_part(x):
    with Scaling():
        y = torch.sin(x)
    return y + torch.sin(x)


@program
def mode_of_ours_around_the_call():
    def drive(f, x):
        with Scaling():
            return f(x)

    return Case(
        lambda x: torch.sin(x) + 1, *attribute(STATE, "k", 3.0), drive=drive, looks_at=STATE
    )


class Pair:
    def __init__(self, a, b, note):
        self.a, self.b, self.note = a, b, note


def _pair_out(pair):
    STATE.log.append("flatten")
    return [pair.a, pair.b], pair.note


def _pair_in(parts, note):
    return Pair(*parts, note)


def _know_pairs():
    if Pair not in pytree.SUPPORTED_NODES:
        pytree.register_pytree_node(Pair, _pair_out, _pair_in)


@program
def node_of_a_tree():
    _know_pairs()

    def f(x):
        pair = Pair(x, x + 1, STATE.k)
        doubled = pytree.tree_map(lambda t: t * 2, {"p": pair, "q": (x,)})
        leaves, spec = pytree.tree_flatten(doubled)
        return leaves, doubled["p"].note, spec.num_leaves

    return Case(f, *attribute(STATE, "k", 3.0), cleanup=lambda: pytree._deregister_pytree_node(Pair)
                if hasattr(pytree, "_deregister_pytree_node") else None)  # fmt: skip


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.k = 1.0

    def forward(self, x):
        if "late" in self._buffers:
            x = x + self.late
        return x * self.scale * self.k


@program
def buffer_registered_late():
    m = Layer()
    return Case(
        lambda x: m(x),
        lambda: m.register_buffer("late", torch.ones(1)),
        lambda: m.register_buffer("late", torch.full((1,), 5.0), persistent=False),
        lambda: delattr(m, "late"),
    )


@program
def buffer_registered_inside():
    m = Layer()

    def f(x):
        if not hasattr(m, "late"):
            m.register_buffer("late", torch.ones(1) * STATE.k)
        return m(x)

    return Case(f, lambda: delattr(m, "late"), looks_at=m)


class Squared(nn.Module):
    def forward(self, w):
        return w * w * STATE.k

    def right_inverse(self, w):
        return w.sqrt()


@program
def parametrized_and_taken_off():
    m = nn.Linear(4, 2)
    nn.init.constant_(m.weight, 0.5)
    nn.init.zeros_(m.bias)
    return Case(
        lambda x: m(x),
        lambda: parametrize.register_parametrization(m, "weight", Squared()),
        *attribute(STATE, "k", 3.0),
        lambda: parametrize.remove_parametrizations(m, "weight"),
        args=matrix,
    )


@program
def hook_that_replaces_the_output():
    m = Layer()
    held = Box(handle=None)

    def replace(module, args, out):
        return (out * STATE.k, module.k) if STATE.flag else None

    def f(x):
        out = m(x)
        return out[0] + out[1] if isinstance(out, tuple) else out

    def put():
        held.handle = m.register_forward_hook(replace)

    return Case(f, put, *attribute(STATE, "flag", False, True), lambda: held.handle.remove())


@program
def hook_of_the_input():
    m = Layer()

    def first(module, args, kwargs):
        return (args[0] - STATE.k,), {}

    number_from(1)
    m.register_forward_pre_hook(first, with_kwargs=True)
    m.register_forward_pre_hook(lambda module, args: (args[0] * 10,), prepend=True)
    return Case(lambda x: m(x), *attribute(STATE, "k", 3.0))


@program
def hook_that_always_runs():
    m, log = Layer(), []
    number_from(1)
    m.register_forward_hook(lambda *a: log.append(a[2] is None), always_call=True)

    def fail(module, args):
        if args[0].size(0) > 3:
            raise ValueError("too many")

    m.register_forward_pre_hook(fail)

    def f(x):
        try:
            return m(x)
        except ValueError as e:
            return x, str(e)

    return Case(f, looks_at=log)


@program
def hooks_of_state_dicts():
    m = Layer()
    m.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(k=STATE.k))
    m.register_state_dict_pre_hook(lambda module, prefix, keep: setattr(module, "k", STATE.k))

    def f(x):
        state = m.state_dict()
        return x * state["scale"] * state["k"], [*state], m(x)

    return Case(f, *attribute(STATE, "k", 3.0), looks_at=m)


@program
def state_loaded_inside():
    m = Layer()
    other = Layer()

    def f(x):
        missing = m.load_state_dict({"scale": other.scale.detach() * 2}, strict=False)
        return m(x), missing.missing_keys

    def change():
        with torch.no_grad():
            other.scale.add_(1)

    return Case(f, change, looks_at=m)


@program
def copy_of_a_module_that_counts():
    class Counting(Layer):
        def forward(self, x):
            self.k += 1
            return super().forward(x)

    m = Counting()

    def f(x):
        twin = copy.deepcopy(m)
        return twin(x), m(x), twin.k

    return Case(f, *attribute(m, "k", 7.0), looks_at=m)


@program
def module_saved_to_memory_inside():
    m = Layer()

    def f(x):
        out = io.BytesIO()
        torch.save(m.state_dict(), out)
        out.seek(0)
        return x * torch.load(out)["scale"]

    return Case(f, lambda: m.scale.data.mul_(2))


@program
def forward_chosen_by_getattr():
    class Choosing(nn.Module):
        def __init__(self):
            super().__init__()
            self.kind = "fast"
            self.w = nn.Parameter(torch.ones(1))

        def __getattr__(self, name):
            if name == "route":
                return functools.partial(getattr(self, f"_{self.kind}"), k=STATE.k)
            return super().__getattr__(name)

        def _fast(self, x, k):
            return x * k * self.w

        def _slow(self, x, k):
            return x - k * self.w

        def forward(self, x):
            return self.route(x)

    m = Choosing()
    return Case(lambda x: m(x), *attribute(m, "kind", "slow", "fast"), *attribute(STATE, "k", 5.0))


@program
def module_that_is_a_mapping():
    class Table(nn.ModuleDict):
        def __getitem__(self, key):
            return super().__getitem__(key if key in self._modules else "other")

        def __contains__(self, key):
            return STATE.flag

    m = Table({"a": Layer(), "other": nn.Tanh()})

    def f(x):
        return m["a"](x), m["b"](x) if "b" in m else x, len(m), [*m.keys()]

    return Case(f, *attribute(STATE, "flag", False, True), lambda: m.update({"b": nn.ReLU()}))


@program
def class_of_a_module_is_changed():
    class Other(Layer):
        def forward(self, x):
            return -super().forward(x)

    m = nn.Sequential(Layer(), Layer())

    def change():
        m[1].__class__ = Other

    return Case(lambda x: m(x), change, lambda: setattr(m[1], "__class__", Layer))


@program
def forward_bound_to_the_object():
    m = Layer()

    def other(self, x):
        return x - self.scale * STATE.k

    def put():
        m.forward = types.MethodType(other, m)

    return Case(lambda x: m(x), put, *attribute(STATE, "k", 5.0), lambda: m.__dict__.pop("forward"))


@program
def gradients_through_a_hook_on_a_tensor():
    def f(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: g * STATE.k)
        return y * y

    return Case(f, *attribute(STATE, "k", 5.0), args=lambda n: (torch.ones(n, requires_grad=True),),
                backward=True)  # fmt: skip


@program
def parameter_shared_by_two_then_untied():
    a, b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    nn.init.eye_(a.weight)
    b.weight = a.weight

    def f(x):
        return b(a(x)), a.weight is b.weight, len([*nn.ModuleList([a, b]).parameters()])

    def untie():
        b.weight = nn.Parameter(torch.full((4, 4), 2.0))

    return Case(f, untie, args=matrix)


@program
def ordered_parameters_by_a_table():
    m = nn.ParameterDict({"a": torch.ones(1), "b": torch.full((1,), 2.0)})
    order = collections.OrderedDict(a=1, b=2)

    def f(x):
        for name in order:
            x = x * 2 + m[name]
        return x

    return Case(f, lambda: order.move_to_end("a"), lambda: m.update({"a": torch.zeros(1)}))


@program
def cached_weight_of_a_property():
    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        @functools.cached_property
        def doubled(self):
            return self.w.detach() * 2

        def forward(self, x):
            return x * self.doubled

    m = Cached()

    def change():
        with torch.no_grad():
            m.w.add_(1)

    return Case(lambda x: m(x), change, lambda: m.__dict__.pop("doubled"), looks_at=m)


@program
def replaced_operator_of_tensors():
    real = torch.Tensor.__add__

    def f(x):
        return x + 1, 1 + x

    def put():
        torch.Tensor.__add__ = lambda a, b: real(a, b) * STATE.k

    def back():
        if "__add__" in vars(torch.Tensor):
            del torch.Tensor.__add__

    return Case(f, put, back, cleanup=back)


@program
def autocast_weight_changed_by_a_hook():
    m = nn.Linear(4, 4, bias=False)
    nn.init.eye_(m.weight)

    def change(module, args, out):
        with torch.no_grad():
            module.weight.mul_(2)

    m.register_forward_hook(change)

    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return m(x), m(x)

    return Case(f, args=matrix, looks_at=m)


@program
def caller_in_autocast_changes_a_weight():
    m = nn.Linear(4, 4, bias=False)
    nn.init.eye_(m.weight)

    def drive(f, x):
        with torch.autocast("cpu", torch.bfloat16):
            a = f(x)
            with torch.no_grad():
                m.weight.add_(1)
            return a, f(x), torch.nn.functional.linear(x, m.weight)

    return Case(lambda x: m(x), args=matrix, drive=drive, looks_at=m)


@program
def cut_within_a_block_of_autocast():
    m = nn.Linear(4, 4, bias=False)
    nn.init.eye_(m.weight)

    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            a = m(x)
            print("cut", input.__name__, flush=True)
            open("/dev/null").close()
            with torch.no_grad():
                m.weight.add_(1)
            return a, m(x)

    return Case(f, args=matrix, looks_at=m)
