"""Writes through views, `out=`, strides and overlapping memory, at sizes 0 and 1 too."""

from __future__ import annotations

import torch

from tests.differential.hostile.program import Box, Case, body, leaf, matrix, program


def pair(n):
    x = torch.arange(4.0 * n).reshape(n, 4)
    return x, x.clone()


def square(n):
    return (torch.arange(float(n * n)).reshape(n, n),)


def overlapping(n):
    x = torch.arange(2.0 * n + 2)
    return x[: n + 1], x[n // 2 : n // 2 + n + 1]


@body(args=matrix)
def through_a_chain_of_views(x):
    y = x.clone()
    v = y.t()[1:].unsqueeze(0).transpose(1, 2)
    v.mul_(2)
    y[:, :1].add_(v[0, :, :1])
    return y, v, v._base is y, v.stride()


@body(args=matrix)
def argument_through_a_view(x):
    v = x.view(-1)
    v[::2] = 0
    x[:1].fill_(7)
    return v.sum(), x.sum(0), v.is_contiguous()


@body(args=pair)
def out_of_another_size(x, o):
    torch.add(x, 1, out=o)
    e = torch.empty(0)
    torch.mul(x, 2, out=e)
    return o, e, e.shape, e.stride()


@body(args=pair)
def out_is_an_operand(x, y):
    torch.add(x, y, out=x)
    torch.cumsum(y, 0, out=y)
    return x, y


@body(args=square)
def out_is_a_transposed_operand(x):
    try:
        return torch.add(x, x.t(), out=x.t())
    except RuntimeError as e:
        return str(e)[:20]


@body(args=overlapping)
def overlapping_arguments(x, y):
    x += 1
    z = y.sum()
    y *= 2
    return z, x.clone(), y.clone()


@body(args=matrix)
def expanded_then_written(x):
    e = x[:1].expand(3, 4) if x.shape[0] else x
    try:
        e.add_(1)
    except RuntimeError as err:
        return x, str(err)[:30]
    return x, e


@body(args=matrix)
def expand_with_minus_one(x):
    n = x.shape[0]
    return (
        x.unsqueeze(1).expand(-1, 2, -1).stride(),
        x[:1].expand(n if n else 0, 4) if n else x.expand(0, 4),
        x.sum().expand(n, 0),
        x.sum().expand(()).shape,
    )


@body(args=matrix)
def as_strided_of_few(x):
    n = x.shape[0]
    w = x.reshape(-1)
    k = max(w.numel() - 2, 0)
    y = w.as_strided((k, 3 if k else 0), (1, 1))
    return (
        y.sum(0),
        y.shape,
        y.stride(),
        w.as_strided((1, n), (100, 1)),
        w.as_strided((), ()) if n else 0,
    )


@body(args=matrix)
def windows(x):
    if x.shape[0] < 2:
        return x
    y = x.unfold(0, 2, 1)
    return y, y.stride(), x.unfold(1, 3, 2).sum(-1)


@body(args=square)
def diagonals(x):
    y = x.clone()
    y.diagonal().fill_(9)
    y.diagonal(1).zero_()
    torch.diagonal(y, -1).add_(1)
    return y, y.diagonal().stride(), y.diagonal(3).numel()


@body(args=matrix)
def swapped_rows(x):
    if x.shape[0] >= 2:
        x[0], x[1] = x[1], x[0]
    a, b = x[:1], x[-1:]
    a[:], b[:] = b.clone(), a.clone()
    return x


@body(args=matrix)
def parts_written_in_a_loop(x):
    y = torch.zeros_like(x)
    for i, row in enumerate(x.unbind(0)):
        y[i] += row
        row.mul_(i)
    for part in y.split(2):
        part -= 1
    return y, x


@body(args=matrix)
def masks_and_indices_written(x):
    y = x.clone()
    y[y > 2] = -1.0
    y[:, [0, 0]] += 1
    y[torch.arange(x.shape[0]), 1] = torch.arange(x.shape[0]).float()
    y.index_add_(1, torch.tensor([0, 0]), torch.ones(x.shape[0], 2))
    y.masked_fill_(y == 0, 5).scatter_(1, torch.zeros(x.shape[0], 1, dtype=torch.long), 8.0)
    return y


@body(args=matrix)
def write_after_a_read_that_is_lazy(x):
    y = x.clone()
    a = y[0:1] + 0
    v = y[0:1]
    y.zero_()
    return a, v, a is v


@body(args=leaf)
def views_with_gradients(x):
    y = x * 1
    v = y[1:]
    v.mul_(3)
    z = y.detach()
    z.add_(1)
    return y, v.grad_fn is not None, z.requires_grad, y.sum()


@body(args=leaf)
def leaf_written(x):
    try:
        x.add_(1)
    except RuntimeError as e:
        return str(e)[:25]
    with torch.no_grad():
        x.mul_(2)
    return x


@body(args=leaf)
def written_under_no_grad(x):
    with torch.no_grad():
        x.mul_(2)
        x[:1] = 5
    return x * x, x.requires_grad, x.is_leaf


@body(args=matrix)
def complex_parts(x):
    z = torch.complex(x, x * 2)
    z.real.add_(1)
    z.imag[:1] = 0
    w = torch.view_as_real(z)
    w[..., 0] *= 2
    c = z.conj()
    return z, c.is_conj(), c.imag, z.abs(), torch.view_as_complex(w).sum(), c.resolve_conj()


@body(args=matrix)
def other_dtypes_of_one_memory(x):
    y = x.clone()
    i = y.view(torch.int32)
    i[:1] = 0
    b = y.view(torch.uint8)
    return y, i.shape, b.shape, b[:, 3].sum(), y.view(torch.float64).shape


@body(args=matrix)
def resized_and_set(x):
    y = x.clone()
    y.resize_(x.shape[0] + 1, 4)[-1] = 0
    z = torch.empty(0)
    z.set_(x.clone())
    return y[:-1], z, y.shape, z.stride()


@body(args=matrix)
def squeezed_in_place(x):
    y = x.clone()
    y.unsqueeze_(0).transpose_(0, 1)
    y.squeeze_()
    y.t_() if y.dim() == 2 else None
    return y, y.stride(), y.dim()


@body(args=matrix)
def swapped_data(x):
    y = x.clone()
    v = y[:1]
    y.data = torch.ones(x.shape[0] + 1, 4)
    y.add_(1)
    return y, v, y.shape


@program
def view_kept_outside():
    b = Box(v=None)

    def f(x):
        if b.v is not None:
            b.v.add_(1)
        y = x * 1
        b.v = y[:1]
        return y, b.v.sum()

    return Case(f, lambda: setattr(b, "v", torch.zeros(2)), args=matrix, looks_at=b)


@program
def buffer_window():
    buf = torch.zeros(8, 4)

    def f(x):
        n = x.shape[0]
        w = buf[8 - n :]
        w.copy_(x)
        buf.roll(1, 0)
        head = buf[:n]
        head += w
        return buf, head, w._base is buf, head.data_ptr() == buf.data_ptr()

    return Case(f, buf.zero_, lambda: buf.fill_(2), args=matrix, looks_at=buf)


@program
def global_written_through_two_names():
    t = torch.zeros(4)
    views = {"a": t[:2], "b": t[1:]}

    def f(x):
        views["a"].add_(x.shape[0])
        views["b"].mul_(2)
        t.sub_(1)
        return x + t, views["a"].sum()

    return Case(
        f,
        lambda: views.update(a=t.clone()[:2]),
        lambda: views.update(b=t[:3]),
        args=matrix,
        looks_at=(t, views),
    )


@body(args=matrix)
def copy_of_an_overlap(x):
    y = x.reshape(-1).clone()
    if y.numel() > 2:
        try:
            y[1:].copy_(y[:-1])
        except RuntimeError as e:
            return str(e)[:20]
    return y.numel(), y[:1]


@body(args=matrix)
def contiguous_or_the_same(x):
    a, b = x.contiguous(), x.t().contiguous()
    a.add_(1)
    b.add_(5)
    c = x.reshape(x.shape)
    c.mul_(2)
    d = x.t().reshape(-1)
    d.zero_()
    return x, a is x, b, c.data_ptr() == x.data_ptr(), x.to(x.dtype) is x, x.expand_as(x) is x


@body(args=matrix)
def flattened_or_copied(x):
    for y in (x.flatten(), x.t().flatten(), x[:, ::2].flatten(), x[:1].t().flatten()):
        y.add_(1)
    return x


@body(args=matrix)
def foreach_in_place(x):
    l = [x, x[:1], x.clone()]
    torch._foreach_add_(l, 1.0)
    torch._foreach_mul_(l[1:], [2.0, 3.0])
    return l, x
