"""What torch and NumPy keep beside the tensors: hooks, parametrizations, overrides, records."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import types
import weakref
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize, prune, rnn
from torch.utils.data import default_collate

from tests.differential.hostile.program import Box, Case, body, leaf, matrix, program

STATE = Box(k=2.0, log=[])


def set_k(value: Any) -> Any:
    return lambda: setattr(STATE, "k", value)


# ---------------------------------------------------------------------- modules


class Scaled(nn.Module):
    def forward(self, w: Any) -> Any:
        return w * STATE.k

    def right_inverse(self, w: Any) -> Any:
        return w / STATE.k


@program
def a_parametrization_comes_and_goes() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)

    def take() -> None:
        if parametrize.is_parametrized(m):
            parametrize.remove_parametrizations(m, "weight")

    def put() -> None:
        if not parametrize.is_parametrized(m):
            parametrize.register_parametrization(m, "weight", Scaled())

    return Case(m, put, set_k(3.0), take, args=matrix, exported=False)


@program
def a_parametrization_that_is_cached() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    parametrize.register_parametrization(m, "weight", Scaled())

    def fn(x: Any) -> Any:
        with parametrize.cached():
            a = m(x)
            STATE.k += 1.0
            b = m(x)
        return a, b, m(x)

    return Case(fn, set_k(3.0), args=matrix, looks_at=STATE, exported=False)


@program
def a_parameter_is_assigned_through_its_parametrization() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    parametrize.register_parametrization(m, "weight", Scaled())

    def fn(x: Any) -> Any:
        with torch.no_grad():
            m.weight = m.weight + 1
        return m(x)

    return Case(fn, set_k(4.0), args=matrix, exported=False)


@program
def pruning_changes_a_mask() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    prune.identity(m, "weight")
    return Case(
        m,
        lambda: prune.l1_unstructured(m, "weight", amount=0.25),
        lambda: m.weight_mask.zero_(),
        args=matrix,
        exported=False,
    )


@program
def a_hook_that_removes_itself() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    held: list[Any] = []

    def once(module: Any, args: Any, out: Any) -> Any:
        held.pop().remove()
        return out * 10

    def put() -> None:
        held.append(m.register_forward_hook(once))

    return Case(m, put, put, args=matrix, looks_at=held, exported=False)


@program
def a_hook_is_registered_while_running() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)

    def fn(x: Any) -> Any:
        with contextlib.ExitStack() as stack:
            handle = m.register_forward_pre_hook(lambda module, args: (args[0] * STATE.k,))
            stack.callback(handle.remove)
            y = m(x)
        return y, m(x), len(m._forward_pre_hooks)

    return Case(fn, set_k(3.0), args=matrix)


@program
def a_hook_with_keywords_and_order() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    order: list[str] = []

    def first(module: Any, args: Any, kwargs: Any) -> Any:
        order.append("pre")
        return args, kwargs

    def last(module: Any, args: Any, kwargs: Any, out: Any) -> Any:
        order.append("post")
        return out + len(order)

    def fn(x: Any) -> Any:
        handles = [
            m.register_forward_pre_hook(first, with_kwargs=True),
            m.register_forward_hook(last, with_kwargs=True, always_call=True),
        ]
        y = m(input=x)
        for handle in handles:
            handle.remove()
        return y

    return Case(fn, order.clear, args=matrix, looks_at=order)


@program
def a_child_is_replaced_while_running() -> Case:
    m = nn.Sequential(nn.ReLU(), nn.Tanh())

    def fn(x: Any) -> Any:
        y = m(x)
        m[0], m[1] = m[1], m[0]
        return y + m(x), [type(c).__name__ for c in m]

    return Case(fn, lambda: m.append(nn.Sigmoid()), exported=False)


@program
def a_module_dict_in_another_order() -> Case:
    m = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

    def move() -> None:
        m["a"] = m.pop("a")

    return Case(
        lambda x: [(name, c(x)) for name, c in m.items()],
        move,
        lambda: m.update({"c": nn.Sigmoid()}),
    )


@program
def the_mode_of_a_child_changes() -> Case:
    m = nn.Sequential(nn.Dropout(1.0), nn.BatchNorm1d(4))
    return Case(
        m,
        lambda: m.eval(),
        lambda: m[1].train(),
        lambda: setattr(m[1], "track_running_stats", False),
        lambda: setattr(m[1], "momentum", None),
        args=matrix,
        sizes=(2,),
        exported=False,
    )


@program
def a_state_dict_is_taken_inside() -> Case:
    m = nn.Linear(4, 2)
    nn.init.constant_(m.weight, 0.5)
    nn.init.constant_(m.bias, 0.25)

    def fn(x: Any) -> Any:
        before = {k: v.clone() for k, v in m.state_dict().items()}
        with torch.no_grad():
            m.bias.add_(1)
        y = m(x)
        m.load_state_dict(before)
        return y, m(x)

    return Case(fn, lambda: m.bias.data.fill_(3.0), args=matrix, exported=False)


@program
def an_ema_of_parameters() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    average = torch.optim.swa_utils.AveragedModel(m)

    def fn(x: Any) -> Any:
        average.update_parameters(m)
        return average(x), average.n_averaged.clone()

    return Case(fn, lambda: m.weight.data.fill_(2.0), args=matrix, exported=False)


# ---------------------------------------------------------------------- tensors of other classes


class Tagged(torch.Tensor):
    """A tensor whose ops are counted."""

    @classmethod
    def __torch_function__(cls, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        STATE.log.append(func.__name__)
        return super().__torch_function__(func, kinds, args, kwargs or {})


@body(args=lambda n: (torch.ones(n).as_subclass(Tagged),), looks_at=STATE)
def a_subclass_that_counts_its_ops(x: Any) -> Any:
    return (x + 1).relu(), type(x) is Tagged


@program
def a_subclass_from_outside_meets_a_tensor() -> Case:
    w = torch.full((1,), 2.0).as_subclass(Tagged)
    return Case(lambda x: type(x * w).__name__, lambda: w.add_(1), looks_at=STATE)


class Wrapped:
    """No tensor, but torch asks it first."""

    def __init__(self, k: float) -> None:
        self.k = k

    @classmethod
    def __torch_function__(cls, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [a.k if isinstance(a, Wrapped) else a for a in args]
        STATE.log.append(func.__name__)
        return func(*plain, **(kwargs or {})) * STATE.k


@program
def an_object_with_torch_function() -> Case:
    w = Wrapped(2.0)
    return Case(
        lambda x: torch.add(x, w) + torch.mul(x, w),
        lambda: setattr(w, "k", 3.0),
        set_k(5.0),
        looks_at=STATE,
        exported=False,
    )


@body(set_k(3.0))
def questions_of_torch_overrides(x: Any) -> Any:
    import torch.overrides as o

    return (
        x * STATE.k,
        o.has_torch_function((x, Wrapped(1.0))),
        o.is_tensor_like(Wrapped(1.0)),
        o.is_tensor_like(x),
        o.is_tensor_method_or_property(torch.Tensor.add),
        o.resolve_name(torch.add),
    )


class Doubling(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        return out * STATE.k if func is torch.relu else out


@body(set_k(3.0))
def a_function_mode_inside(x: Any) -> Any:
    with Doubling():
        y = torch.relu(x)
    return y, torch.relu(x)


@body(drive=lambda f, x: _in_mode(f, x))
def a_function_mode_around(x: Any) -> Any:
    return torch.relu(x) + 1


def _in_mode(f: Any, x: Any) -> Any:
    plain = f(x)
    with Doubling():
        return plain, f(x)


@body()
def a_tensor_without_torch_function(x: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return x + 1, type(x)


# ---------------------------------------------------------------------- copies and bytes


@body()
def collated_samples(x: Any) -> Any:
    rows = [{"x": row * 2, "n": i, "t": (float(i), "s")} for i, row in enumerate(x.unbind(0)[:2])]
    return default_collate(rows) if rows else None


@program
def collated_state() -> Case:
    samples = [{"a": torch.ones(2), "k": 1}, {"a": torch.zeros(2), "k": 2}]

    def fn(x: Any) -> Any:
        batch = default_collate(samples)
        return x * batch["a"].sum() + batch["k"].sum(), batch["k"].dtype

    return Case(
        fn,
        lambda: samples.append({"a": torch.full((2,), 3.0), "k": 5}),
        lambda: samples[0].update(k=9),
        lambda: samples[0]["a"].add_(1),
    )


@body(args=matrix)
def packed_sequences(x: Any) -> Any:
    lengths = torch.arange(x.shape[0]).clamp(1, 4)
    padded = rnn.pad_sequence([row[: int(n)] for row, n in zip(x, lengths, strict=True)] or [x])
    return padded * 2, padded.shape


@program
def pickled_inside() -> Case:
    rows = {"a": [1, 2], "k": 2.0}

    def fn(x: Any) -> Any:
        again = pickle.loads(pickle.dumps(rows))
        again["a"].append(x.shape[0])
        return x * again["k"], again, again["a"] is rows["a"]

    return Case(fn, lambda: rows.update(k=3.0), lambda: rows["a"].append(5))


@body()
def a_tensor_is_pickled_inside(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x * 2)) + 1


@body()
def a_tensor_is_saved_to_memory(x: Any) -> Any:
    out = io.BytesIO()
    torch.save(x + 1, out)
    out.seek(0)
    return torch.load(out) * 2


@program
def a_module_is_copied_inside() -> Case:
    m = nn.Linear(4, 2, bias=False)
    nn.init.constant_(m.weight, 0.5)
    m.tag = [1]

    def fn(x: Any) -> Any:
        other = copy.deepcopy(m)
        other.tag.append(2)
        with torch.no_grad():
            other.weight.mul_(2)
        return other(x), m(x), len(m.tag)

    return Case(fn, lambda: m.weight.data.fill_(2.0), lambda: m.tag.append(3), args=matrix)


@program
def copies_by_methods_of_the_user() -> Case:
    class Tracked:
        made = 0

        def __init__(self) -> None:
            self.k = 2.0

        def __copy__(self) -> Any:
            Tracked.made += 1
            new = Tracked()
            new.k = self.k * 10
            return new

        def __deepcopy__(self, memo: Any) -> Any:
            return copy.copy(self)

    o = Tracked()
    return Case(
        lambda x: x * copy.copy(o).k + copy.deepcopy([o])[0].k,
        lambda: setattr(o, "k", 3.0),
        looks_at=Tracked,
    )


@program
def a_weak_value_dict() -> Case:
    held = [Box(k=2.0)]
    table: Any = weakref.WeakValueDictionary({"a": held[0]})

    def drop() -> None:
        held.clear()

    def put() -> None:
        held.append(Box(k=5.0))
        table["a"] = held[0]

    return Case(lambda x: x * table["a"].k if "a" in table else x, drop, put, exported=False)


# ---------------------------------------------------------------------- NumPy


@program
def a_record_array() -> Case:
    rows = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f4"), ("b", "i4")])

    def fn(x: Any) -> Any:
        return x * float(rows["a"].sum()) + int(rows[0]["b"])

    return Case(
        fn,
        lambda: rows["a"].__setitem__(0, 7.0),
        lambda: rows.__setitem__(0, (0.5, 9)),
        lambda: setattr(rows.dtype, "names", ("b", "a")),
        exported=False,
    )


@program
def an_array_that_is_a_view() -> Case:
    base = np.arange(6.0)
    view = base[::2]
    return Case(
        lambda x: x * view[0] + view.sum(),
        lambda: base.__setitem__(0, 5.0),
        lambda: base.sort(),
        lambda: setattr(base, "flags", base.flags) if False else base.fill(1.0),
    )


@program
def a_masked_array() -> Case:
    m = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    return Case(
        lambda x: x * float(m.sum()),
        lambda: m.__setitem__(0, np.ma.masked),
        lambda: setattr(m, "mask", False),
        exported=False,
    )


@program
def settings_of_numpy() -> Case:
    a = np.array([1.0, 0.0])

    def fn(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return x * float(np.isinf(a / 0.0).sum()), str(np.array([1.123456789]))

    return Case(
        fn,
        lambda: np.set_printoptions(precision=3),
        cleanup=lambda: np.set_printoptions(precision=8),
    )


@program
def a_tensor_that_shares_memory_with_an_array() -> Case:
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)

    def fn(x: Any) -> Any:
        t.add_(1)
        return x.sum() + t, a.sum()

    return Case(fn, lambda: a.fill(5.0), looks_at=t, exported=False)


@body()
def a_storage_is_looked_at(x: Any) -> Any:
    y = x * 2
    return y.untyped_storage().nbytes(), y.view(-1).data_ptr() == y.data_ptr(), y.element_size()


# ---------------------------------------------------------------------- gradients


@program
def a_hook_on_a_parameter_comes_and_goes() -> Case:
    w = nn.Parameter(torch.ones(()))
    held: list[Any] = []

    def put() -> None:
        held.append(w.register_hook(lambda g: g * 10))

    def take() -> None:
        while held:
            held.pop().remove()

    return Case(lambda x: x * w, put, take, backward=True, looks_at=w, exported=False)


@body(args=leaf)
def a_gradient_inside(x: Any) -> Any:
    y = (x * x * STATE.k).sum()
    (g,) = torch.autograd.grad(y, x)
    return g * x


@program
def gradients_accumulate_inside() -> Case:
    w = nn.Parameter(torch.ones(()))

    def fn(x: Any) -> Any:
        (x * w).sum().backward()
        return w.grad.clone() if w.grad is not None else None

    return Case(fn, lambda: setattr(w, "grad", None), looks_at=w, exported=False)


@program
def an_optimizer_steps_inside() -> Case:
    w = nn.Parameter(torch.ones(()))
    sgd = torch.optim.SGD([w], lr=0.5, momentum=0.9)

    def fn(x: Any) -> Any:
        sgd.zero_grad()
        loss = (x * w).sum()
        loss.backward()
        sgd.step()
        return loss.detach(), w.detach().clone()

    def slower() -> None:
        sgd.param_groups[0]["lr"] = 0.1

    return Case(fn, slower, looks_at=(w, sgd.state), exported=False)


@body()
def namespaces_with_tensors(x: Any) -> Any:
    space = types.SimpleNamespace(a=x, n=x.shape[0])
    space.b = space.a * 2
    vars(space)["c"] = space.b + space.n
    return space, sorted(vars(space))
