"""Features of torch at the edge of a program: writes of every kind, lists of tensors, other layouts."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from tests.differential.hostile.program import Box, Case, attribute, body, item, matrix, program


with warnings.catch_warnings():  # the first use in a process warns
    warnings.simplefilter("ignore")
    torch.quantize_per_tensor(torch.ones(1), 0.5, 0, torch.qint8)
    torch.nested.nested_tensor([torch.ones(1)])


@body(sizes=(0, 1, 2))
def transposed_and_written(x):
    y = x.clone().unsqueeze(0).expand(2, -1).contiguous()
    y.T.add_(torch.arange(x.shape[0]).unsqueeze(1))
    y.t()[:1].zero_()
    return y, y.T.is_contiguous()


@body(args=matrix, sizes=(0, 1, 2))
def diagonal_written(x):
    y = x.clone()
    y.diagonal().fill_(9)
    y.diagonal(1).mul_(2)
    torch.linalg.diagonal(y).add_(1)
    return y


@body(args=matrix, sizes=(0, 1, 2))
def rows_taken_apart_and_written(x):
    y = x.clone()
    for i, row in enumerate(y.unbind(1)):
        row += i
    for part in y.split(2):
        part *= 2
    for part in y.chunk(2, dim=1):
        part -= 1
    return y


@body(args=matrix, sizes=(0, 1, 2))
def written_by_indices(x):
    y = x.clone()
    i = torch.arange(x.shape[0] // 2)
    y[i] += 1
    y[i, 0] = 7
    y.index_put_((i, i % 4), torch.tensor(3.0), accumulate=True)
    y.index_add_(0, i, torch.ones(i.numel(), 4))
    y.index_fill_(1, torch.tensor([1]), -1)
    y.index_copy_(0, i, torch.zeros(i.numel(), 4))
    return y


@body(args=matrix, sizes=(0, 1, 2))
def written_by_masks(x):
    y = x.clone()
    m = y > 0
    y[m] = y[m] * 2
    y.masked_fill_(~m, -1)
    y.masked_scatter_(m, torch.arange(float(y.numel())).reshape_as(y))
    return y, y[m]


@body(args=matrix, sizes=(0, 1, 2))
def written_by_scattering(x):
    y = torch.zeros(4, x.shape[0])
    i = torch.arange(x.shape[0]).remainder(4).unsqueeze(0)
    y.scatter_(0, i, 1.0)
    y.scatter_add_(0, i, x.T[:1])
    y.scatter_reduce_(0, i, x.T[1:2], "amax")
    return y


@body(sizes=(0, 1, 2))
def duplicates_in_an_index(x):
    y = x.clone()
    i = torch.zeros(x.shape[0], dtype=torch.long)
    if x.shape[0]:
        y[i] += 1
        y.index_add_(0, i, torch.ones_like(x))
    return y


@body(sizes=(0, 1, 2))
def complex_parts_written(x):
    z = torch.complex(x, x * 2)
    z.real.add_(1)
    z.imag.zero_()
    torch.view_as_real(z)[..., 1] = 5
    return z, z.conj().imag, z.conj().is_conj()


@body(sizes=(0, 1, 2))
def seen_as_another_dtype(x):
    y = x.clone()
    bits = y.view(torch.int32)
    bits.bitwise_and_(0x7FFFFF00)
    return y, bits.dtype, y.view(torch.uint8).shape


@body(sizes=(0, 1, 2))
def dimensions_changed_in_place(x):
    y = x.clone()
    y.unsqueeze_(0).transpose_(0, 1)
    z = y.squeeze(1)
    y.squeeze_(1)
    y.add_(1)
    return y, z, y.shape


@body(sizes=(0, 1, 2))
def results_into_given_tensors(x):
    out = torch.empty(0)
    with np.errstate():
        torch.add(x, 1, out=out) if out.numel() == x.numel() else out.resize_(x.shape)
    other = torch.empty_like(x)
    found = torch.mul(x, 2, out=other)
    return other, found is other, out.shape


@program
def result_into_a_buffer_from_outside():
    buffer = torch.zeros(3)

    def f(x):
        if x.shape != buffer.shape:
            return x
        return torch.add(x, 1, out=buffer)

    return Case(f, lambda: buffer.zero_(), looks_at=buffer)


@body(sizes=(0, 1, 2))
def many_at_once(x):
    ts = [x.clone(), x * 2, torch.ones(2)]
    torch._foreach_add_(ts, 1)
    torch._foreach_mul_(ts, [2, 3, 4])
    torch._foreach_addcmul_(ts, ts, ts, value=0.5)
    return ts, torch._foreach_norm(ts)


@program
def many_from_outside():
    ws = [torch.ones(2), torch.zeros(3)]

    def f(x):
        torch._foreach_add_(ws, x.sum())
        return torch.stack([w.sum() for w in ws])

    return Case(f, lambda: ws.append(torch.ones(1)), lambda: ws.reverse(), looks_at=ws)


@program
def library_op_with_another_kernel():
    name = "hostile_features"
    lib = torch.library.Library(name, "FRAGMENT")
    lib.define("scale(Tensor x) -> Tensor")
    lib.impl("scale", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("hostile_features::scale", torch.empty_like, lib=lib)

    return Case(lambda x: getattr(torch.ops, name).scale(x) + 1, cleanup=lib._destroy)


@program
def custom_op_with_state():
    state = {"k": 2.0}

    @torch.library.custom_op("hostile_features::stateful", mutates_args=())
    def stateful(x: torch.Tensor) -> torch.Tensor:
        state["calls"] = state.get("calls", 0) + 1
        return x * state["k"]

    @stateful.register_fake
    def _(x):
        return torch.empty_like(x)

    name = "hostile_features"
    return Case(
        lambda x: getattr(torch.ops, name).stateful(x), *item(state, "k", 3.0), looks_at=state
    )


@program
def custom_op_that_writes():
    @torch.library.custom_op("hostile_features::bump", mutates_args=("x",))
    def bump(x: torch.Tensor, by: float) -> None:
        x.add_(by)

    held = torch.zeros(2)
    name = "hostile_features"

    def f(x):
        y = x.clone()
        getattr(torch.ops, name).bump(y, 2.0)
        getattr(torch.ops, name).bump(held, float(x.shape[0]))
        return y, held.clone()

    return Case(f, held.zero_, looks_at=held)


@program
def custom_container():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    with contextlib.suppress(ValueError):
        pytree.register_pytree_node(
            Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts)
        )

    def f(p, x):
        q = pytree.tree_map(lambda t: t * 2, p)
        return q, q.a + x, isinstance(q, Pair)

    return Case(f, args=lambda n: (Pair(torch.ones(n), torch.zeros(2)), torch.arange(float(n))))


@program
def cond_on_data():
    state = Box(k=2.0)

    def f(x):
        return torch.cond(x.sum() > 3, lambda t: t * state.k, lambda t: t - 1, (x,))

    return Case(f, *attribute(state, "k", 3.0))


@body(sizes=(0, 1, 2))
def branch_on_data(x):
    if x.sum() > 3:
        return x * 2
    if (x == 0).any():
        return x - 1
    return x + 1


@body(sizes=(0, 1, 2))
def sparse_and_back(x):
    s = (x.clamp(min=2) - 2).to_sparse()
    return s.to_dense(), s.is_sparse, s.coalesce().values().sum()


@body(sizes=(0, 1, 2))
def quantized_and_back(x):
    q = torch.quantize_per_tensor(x, 0.5, 0, torch.qint8)
    return q.dequantize(), q.is_quantized


@body(sizes=(0, 1, 2))
def nested_and_back(x):
    t = torch.nested.nested_tensor([x, x[:1]])
    return t.to_padded_tensor(0.0), t.is_nested


@program
def grouped_by_the_type_of_a_tensor():
    class Mine(torch.Tensor):
        pass

    def f(x, y):
        return [type(t).__name__ for t in (x, y, x + y)], x * 2

    calls = [
        lambda n=n, k=k: (torch.ones(n), torch.ones(n).as_subclass(k))
        for n in (3, 5, 1)
        for k in (torch.Tensor, Mine)
    ]
    return Case(f, calls=calls)


@program
def tensor_with_attributes():
    w = torch.ones(2)
    w.scale, w.tags = 2.0, ["a"]

    def f(x):
        act = getattr(w, "act", torch.abs)
        return act(x.sum()) * w * w.scale * len(w.tags), getattr(w, "flag", None)

    return Case(
        f,
        lambda: setattr(w, "scale", 3.0),
        lambda: w.tags.append("b"),
        lambda: setattr(w, "tags", ["c", "d", "e"]),
        lambda: setattr(w, "act", torch.neg),
        lambda: setattr(w, "flag", 1),
        lambda: vars(w).pop("flag", None),
    )


@program
def tensor_as_a_key():
    a, b = torch.ones(2), torch.ones(2)
    table = {a: 2.0, b: 3.0}

    def f(x):
        return x * table[a] + table.get(b, 0), a in table, x in table

    return Case(f, *item(table, a, 5.0), lambda: table.pop(b, None))


@program
def tensors_compared_in_lists():
    a = torch.ones(1)
    held = [a]

    def f(x):
        return x * 2 if held[0] is a else x, held.index(a), len(held)

    return Case(f, lambda: held.insert(0, torch.zeros(1)))


@program
def generator_that_moves_on():
    g = torch.Generator().manual_seed(3)

    def f(x):
        return x + torch.rand(x.shape, generator=g), torch.randperm(x.shape[0], generator=g)

    return Case(f, lambda: g.manual_seed(5), lambda: torch.rand(1, generator=g), looks_at=g)


@program
def dropout_by_a_flag():
    drop = nn.Dropout(0.5)

    def f(x):
        return drop(x), F.dropout(x, 0.25, training=drop.training)

    def seeded(fn, x):
        torch.manual_seed(7)
        return fn(x)

    return Case(f, drop.eval, drop.train, *attribute(drop, "p", 0.1), drive=seeded)


@program
def normalization_that_counts():
    norm = nn.BatchNorm1d(4, momentum=None)

    def f(x):
        return norm(x)

    return Case(f, norm.eval, norm.train, norm.reset_running_stats, args=matrix, sizes=(2, 6))


@program
def embedding_that_renormalizes():
    e = nn.Embedding(5, 3, max_norm=1.0)
    with torch.no_grad():
        e.weight.copy_(torch.arange(15.0).reshape(5, 3))

    def f(x):
        return e(x.long().remainder(5))

    def other():
        with torch.no_grad():
            e.weight.add_(5)

    return Case(f, other, lambda: setattr(e, "max_norm", None), looks_at=e)


@program
def arrays_around_tensors():
    table = np.arange(4.0)

    def f(x):
        return x * torch.from_numpy(table).sum() + torch.tensor(table[:1].tolist())

    return Case(f, *item(table, 0, 5.0, 7.0), looks_at=table)


@program
def default_dtype_by_the_caller():
    def f(x):
        return (
            torch.ones(2),
            torch.arange(3) / 2,
            torch.tensor(1.5),
            x * 0.5,
            torch.get_default_dtype(),
        )

    return Case(
        f,
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
        cleanup=lambda: torch.set_default_dtype(torch.float32),
    )


@program
def device_by_the_caller():
    def f(x):
        made = torch.ones(x.shape[0], device=None)
        return made.device.type, x * 2

    def drive(fn, x):
        with torch.device("meta"):
            return fn(x)

    calls = [lambda n=n: (torch.ones(n),) for n in (3, 5, 1)]
    return Case(f, calls=calls, drive=drive)


@program
def schedule_and_optimizer():
    w = nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (step + 1))

    def f(x):
        opt.zero_grad()
        loss = (w * x.sum()).sum()
        loss.backward()
        opt.step()
        schedule.step()
        return loss.detach(), schedule.get_last_lr()[0]

    def faster():
        opt.param_groups[0]["lr"] = 0.5

    return Case(f, faster, looks_at=(w, opt.param_groups))


@program
def average_of_a_model():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(1)
    average = torch.optim.swa_utils.AveragedModel(model)

    def f(x):
        average.update_parameters(model)
        return average(x.reshape(-1, 1).expand(-1, 2))

    def learn():
        with torch.no_grad():
            model.weight.add_(1)

    return Case(f, learn, looks_at=average)


@program
def parameters_listed_by_name():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(1))
            self.register_buffer("b", torch.ones(1), persistent=False)

        def forward(self, x):
            names = [n for n, _ in self.named_parameters()] + [n for n, _ in self.named_buffers()]
            return x * sum(p.sum() for p in self.parameters()), names, list(self.state_dict())

    m = M()

    def add():
        m.register_parameter("c", nn.Parameter(torch.full((1,), 2.0)))

    return Case(
        lambda x: m(x), add, lambda: m.add_module("inner", nn.Linear(1, 1, bias=False)),
        lambda: m.register_buffer("d", torch.ones(1)), lambda: m._parameters.pop("c", None),
        exported=False,
    )  # fmt: skip
