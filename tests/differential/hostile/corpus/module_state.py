"""Modules whose parameters, buffers, hooks and parts change, between calls and within."""

from __future__ import annotations

import copy
import io
import pickle

import torch
import torch.utils.hooks
from torch import nn
from torch.nn.utils import parametrize

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program


def seeded(m, s=0):
    g = torch.Generator().manual_seed(s)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.rand(p.shape, generator=g))
    return m


# ids of hooks are part of what is compared
torch.utils.hooks.RemovableHandle.next_id = 100


# --- module train/eval flip mid-forward
@program
def flip_mid_forward():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.bn = nn.BatchNorm1d(4)
            s.n = 0

        def forward(s, x):
            s.n += 1
            s.bn.eval() if s.n % 2 else s.bn.train()
            return s.bn(x)

    m = M()
    return Case(
        m,
        lambda: m.bn.reset_running_stats(),
        args=lambda n: (torch.arange(4.0 * n).reshape(n, 4),),
        sizes=(2, 7),
    )


@program
def flip_restore():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.d = nn.Dropout(0.5)
            s.l = seeded(nn.Linear(4, 4))

        def forward(s, x):
            was = s.training
            s.eval()
            try:
                y = s.d(s.l(x))
            finally:
                s.train(was)
            return y, s.d.training

    m = M()
    return Case(m, m.eval, m.train, lambda: m.d.eval(), args=matrix)


@program
def hook_added_mid_call():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = seeded(nn.Linear(4, 4))
            s.n = 0

        def forward(s, x):
            y = s.l(x)
            s.n += 1
            if s.n == 3:
                s.h = s.l.register_forward_hook(lambda m, i, o: o * 2)
            if s.n == 5:
                s.h.remove()
            return y

    m = M()
    return Case(m, args=matrix)


@program
def hook_once_inside():
    m = nn.Sequential(seeded(nn.Linear(4, 4)))
    log = []

    def f(x):
        def hk(mod, i, o):
            log.append(o.shape[0])
            h.remove()
            return o + 1

        h = m[0].register_forward_hook(hk)
        return m(x), m(x)

    return Case(f, looks_at=(log, m), args=matrix)


@program
def pre_hook_kwargs():
    class M(nn.Module):
        def forward(s, x, k=1.0):
            return x * k

    m = M()

    def pre(mod, a, kw):
        return a, {**kw, "k": kw.get("k", 1.0) + b.v}

    b = Box(v=1.0)
    h = [m.register_forward_pre_hook(pre, with_kwargs=True)]

    def f(x):
        return m(x, k=3.0)

    return Case(
        f,
        *attribute(b, "v", 2.0),
        lambda: h[0].remove(),
        lambda: h.append(m.register_forward_pre_hook(lambda mod, a: (a[0] * 2,))),
    )


@program
def always_call_hook():
    m = nn.Linear(4, 4)
    seeded(m)
    log = []
    m.register_forward_hook(lambda mod, i, o: log.append("h"), always_call=True)

    def f(x):
        try:
            return m(x)
        except RuntimeError:
            return x - 1

    return Case(f, args=lambda n: (torch.ones(n, 4 if n != 5 else 3),), looks_at=log)


@program
def getattr_on_module():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = seeded(nn.Linear(4, 4))
            s.extra = {"k": 2.0}

        def __getattr__(s, n):
            try:
                return super().__getattr__(n)
            except AttributeError:
                ex = s.__dict__["extra"]
                if n in ex:
                    return ex[n]
                raise

        def forward(s, x):
            return s.l(x) * s.k + getattr(s, "z", 0.0)

    m = M()
    return Case(
        m,
        lambda: m.extra.__setitem__("k", 3.0),
        lambda: m.extra.__setitem__("z", 5.0),
        lambda: setattr(m, "k", 9.0),
        args=matrix,
    )


@program
def modulelist_mutated():
    ms = nn.ModuleList([seeded(nn.Linear(4, 4), i) for i in range(2)])

    def f(x):
        for m in ms:
            x = m(x)
        return x, len(ms)

    return Case(
        f,
        lambda: ms.append(seeded(nn.Linear(4, 4), 5)),
        lambda: ms.pop(0),
        lambda: ms.insert(0, nn.ReLU()),
        lambda: ms.__setitem__(0, nn.Tanh()),
        lambda: ms.extend([nn.ReLU()]),
        args=matrix,
    )


@program
def modulelist_mutated_inside():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ms = nn.ModuleList([seeded(nn.Linear(4, 4))])

        def forward(s, x):
            for m in s.ms:
                x = m(x)
            if len(s.ms) < 4:
                s.ms.append(nn.ReLU())
            return x

    return Case(M(), args=matrix)


@program
def moduledict_params():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.d = nn.ModuleDict({"a": seeded(nn.Linear(4, 4)), "b": nn.ReLU()})
            s.p = nn.ParameterDict(
                {"u": nn.Parameter(torch.ones(4)), "v": nn.Parameter(torch.ones(4) * 2)}
            )
            s.q = nn.ParameterList([nn.Parameter(torch.ones(4))])

        def forward(s, x):
            for k, m in s.d.items():
                x = m(x)
            for k in sorted(s.p):
                x = x * s.p[k]
            return x + sum(s.q), list(s.d.keys())

    m = M()
    return Case(
        m,
        lambda: m.p.__setitem__("w", nn.Parameter(torch.ones(4) * 3)),
        lambda: m.d.pop("a"),
        lambda: m.q.append(nn.Parameter(torch.ones(4) * 9)),
        lambda: m.d.update({"a": nn.Tanh()}),
        args=matrix,
    )


@program
def param_reregistered():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.ones(4))
            s.register_buffer("b", torch.zeros(4))

        def forward(s, x):
            return x * s.w + (s.b if s.b is not None else 7)

    m = M()

    def tobuf():
        del m.w
        m.register_buffer("w", torch.ones(4) * 5)

    def toattr():
        del m.w
        m.w = torch.ones(4) * 6

    def tonone():
        m.b = None

    def tooth():
        m.b = torch.ones(1)

    return Case(m, tobuf, toattr, tonone, tooth, args=matrix)


@program
def buffer_replaced_inside():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("b", torch.zeros(4))
            s.register_buffer("c", None)

        def forward(s, x):
            s.b = s.b * 0.5 + x.sum(0)
            if s.c is None:
                s.c = s.b
            else:
                s.c = torch.cat([s.c, s.b[:1]])
            return x + s.b, s.c

    return Case(M(), args=matrix)


@program
def persistent_flag():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("b", torch.zeros(4), persistent=False)

        def forward(s, x):
            return x, sorted(s.state_dict()), [k for k, _ in s.named_buffers()]

    m = M()
    return Case(
        m,
        lambda: m.register_buffer("c", torch.ones(1)),
        lambda: m._non_persistent_buffers_set.discard("b"),
        args=matrix,
    )


@program
def state_dict_inside():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = seeded(nn.Linear(4, 4))

        def forward(s, x):
            sd = s.state_dict()
            return x @ sd["l.weight"].T, list(sd), sd["l.weight"].requires_grad

    m = M()
    return Case(
        m,
        lambda: m._register_state_dict_hook(
            lambda mod, sd, p, l: sd.__setitem__("l.weight", sd["l.weight"] * 2)
        ),
        lambda: seeded(m, 4),
        args=matrix,
    )


@program
def load_state_dict_inside():
    a, b = seeded(nn.Linear(4, 4)), seeded(nn.Linear(4, 4), 3)

    def f(x):
        y = a(x)
        a.load_state_dict(b.state_dict())
        return y, a(x)

    return Case(f, lambda: seeded(a, 9), lambda: seeded(b, 8), args=matrix)


@program
def parametrize_changes():
    class Sym(nn.Module):
        def forward(s, w):
            return w + w.T

    m = seeded(nn.Linear(4, 4))

    def f(x):
        return m(x)

    return Case(
        f,
        lambda: parametrize.register_parametrization(m, "weight", Sym()),
        lambda: parametrize.remove_parametrizations(m, "weight"),
        lambda: parametrize.register_parametrization(m, "bias", nn.ReLU()),
        args=matrix,
    )


@program
def parametrize_cached():
    class Scale(nn.Module):
        def __init__(s):
            super().__init__()
            s.k = 2.0

        def forward(s, w):
            return w * s.k

    m = seeded(nn.Linear(4, 4))
    sc = Scale()
    parametrize.register_parametrization(m, "weight", sc)

    def f(x):
        with parametrize.cached():
            return m(x) + m(x)

    return Case(f, *attribute(sc, "k", 3.0, 4.0), args=matrix)


@program
def parametrize_assign_inside():
    m = seeded(nn.Linear(4, 4))
    parametrize.register_parametrization(m, "weight", nn.Tanh(), unsafe=True)

    def f(x):
        with torch.no_grad():
            m.parametrizations.weight.original.add_(0.1)
        return m(x)

    return Case(f, args=matrix, looks_at=m)


@program
def functional_call_inside():
    m = seeded(nn.Linear(4, 4))

    def f(x):
        p = {k: v * 2 for k, v in m.named_parameters()}
        y = torch.func.functional_call(m, p, (x,))
        return y, m(x), m.weight.is_leaf

    return Case(
        f, lambda: seeded(m, 3), lambda: m.register_forward_hook(lambda a, i, o: o + 1), args=matrix
    )


@program
def functional_call_tied():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = nn.Parameter(torch.ones(4))
            s.b = s.a

        def forward(s, x):
            return x * s.a + s.b

    m = M()

    def f(x):
        return torch.func.functional_call(m, {"a": torch.ones(4) * x.shape[0]}, (x,)), m.a is m.b

    return Case(f, lambda: setattr(m, "b", nn.Parameter(torch.zeros(4))), args=matrix)


@program
def deepcopy_inside():
    m = seeded(nn.Linear(4, 4))

    def f(x):
        c = copy.deepcopy(m)
        with torch.no_grad():
            c.weight.add_(1)
        return m(x), c(x)

    return Case(f, lambda: seeded(m, 3), args=matrix, looks_at=m)


@program
def deepcopy_list_inside():
    b = Box(l=[torch.ones(2), [1, 2], {"k": 3.0}])

    def f(x):
        c = copy.deepcopy(b.l)
        c[0].add_(1)
        c[1].append(x.shape[0])
        c[2]["k"] += 1
        return x * c[2]["k"], c, b.l[0]

    return Case(f, lambda: b.l[2].__setitem__("k", 5.0), lambda: b.l[1].pop())


@program
def pickle_inside():
    b = Box(l=[1, 2.0, "s"])

    def f(x):
        d = pickle.loads(pickle.dumps(b.l))
        return x * d[1], d

    return Case(f, lambda: b.l.__setitem__(1, 5.0), lambda: b.l.append(3))


@program
def save_load_inside():
    def f(x):
        s = io.BytesIO()
        torch.save(x, s)
        s.seek(0)
        return torch.load(s) * 2

    return Case(f)


# --- .data, versions, aliases
@program
def data_swap_inside():
    p = nn.Parameter(torch.ones(3))

    def f(x):
        p.data = p.data * 2
        return x.sum() * p

    return Case(f, looks_at=p)


@program
def alias_global():
    g = torch.arange(6.0)
    b = Box(v=g[:3])

    def f(x):
        g.add_(x.sum())
        return b.v * 2

    return Case(
        f, lambda: setattr(b, "v", torch.ones(3)), lambda: setattr(b, "v", g[3:]), looks_at=g
    )


@program
def view_returned_then_mutated():
    b = torch.zeros(6)

    def f(x):
        v = b[: x.shape[0]]
        v += x
        return v, b.view(2, 3)

    def d(g, x):
        v, w = g(x)
        v.mul_(2)
        return v, w, b

    return Case(f, drive=d)


@program
def detach_shares():
    def f(x):
        y = x.detach()
        y.mul_(2)
        return y, x + 0, y.data_ptr() == x.data_ptr(), y._version if False else 0

    return Case(f, args=leaf)


@program
def set_inside():
    def f(x):
        t = torch.zeros(2)
        t.set_(x)
        t[:1] = 9
        return t, x

    return Case(f)


@program
def resize_inside():
    def f(x):
        t = x.clone()
        t.resize_(x.shape[0] // 2)
        return t * 2

    return Case(f)


@program
def swap_tensors_inside():
    a, b = torch.ones(2), torch.zeros(3)

    def f(x):
        torch.utils.swap_tensors(a, b)
        return x.sum() + a

    return Case(f, looks_at=(a, b))


@program
def untyped_storage():
    s = torch.zeros(4)

    def f(x):
        st = s.untyped_storage()
        return x + st.nbytes(), st.data_ptr() == s.data_ptr()

    return Case(f, lambda: s.untyped_storage().resize_(32), lambda: s.resize_(2))


# --- autograd
@program
def none_grads():
    w = nn.Parameter(torch.ones(3))
    u = nn.Parameter(torch.ones(3))

    def f(x):
        k = 1.0 if w.grad is None else float(w.grad.shape[0])
        if u.grad is not None:
            k = k * 2
        return (x.sum() * w).sum() * k

    def z():
        w.grad = torch.zeros(3)

    def y():
        u.grad = torch.zeros(3)

    def n():
        w.grad = None

    return Case(f, z, y, n, backward=True)


@program
def grad_accumulate_inside():
    w = nn.Parameter(torch.ones(3))

    def f(x):
        l = (x.sum() * w).sum()
        l.backward()
        g = w.grad.clone()
        if g.sum() > 30:
            w.grad = None
        return g

    return Case(f, lambda: setattr(w, "grad", None), looks_at=w)


@program
def hook_on_tensor_inside():
    log = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: log.append(g.shape[0]) or g * 3)
        return y * 2

    return Case(f, args=leaf, looks_at=log, backward=True)


@program
def post_acc_hook():
    w = nn.Parameter(torch.ones(3))
    log = []
    w.register_post_accumulate_grad_hook(lambda p: log.append(float(p.grad.sum())))

    def f(x):
        return x.sum() * w * 2

    return Case(f, backward=True, looks_at=(log, w))


@program
def grad_mode_leak():
    b = Box(g=True)

    def f(x):
        torch.set_grad_enabled(b.g)
        y = x * 2
        return y, y.requires_grad, torch.is_grad_enabled()

    return Case(f, *attribute(b, "g", False, True), args=leaf)


@program
def inference_mode_inside():
    def f(x):
        with torch.inference_mode():
            y = x * 2
        return y, y.is_inference(), x.is_inference()

    return Case(f)


@program
def requires_grad_flip():
    w = nn.Parameter(torch.ones(3))

    def f(x):
        y = x.sum() * w
        return y, y.requires_grad, y.grad_fn is None

    return Case(f, lambda: w.requires_grad_(False), lambda: w.requires_grad_(True), looks_at=w)


@program
def custom_function_state():
    class Fn(torch.autograd.Function):
        k = 2.0

        @staticmethod
        def forward(ctx, x):
            ctx.k = Fn.k
            return x * Fn.k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k * Fn.k

    def f(x):
        return Fn.apply(x)

    return Case(f, lambda: setattr(Fn, "k", 3.0), lambda: setattr(Fn, "k", 4.0), args=leaf)


@program
def custom_function_materialize():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            ctx.mark_non_differentiable(y2 := y * 1)
            return x * 2, y2

        @staticmethod
        def backward(ctx, g, h):
            return (None if g is None else g * 5), None

    def f(x):
        a, b = Fn.apply(x, x.detach())
        return a, b, b.requires_grad

    return Case(f, args=leaf)


@program
def jacrev_inside():
    b = Box(k=2.0)

    def f(x):
        return torch.func.jacrev(lambda t: t * t * b.k)(x), torch.func.vmap(lambda t: t * b.k)(x)

    return Case(f, *attribute(b, "k", 3.0))


@program
def checkpoint_inside():
    import torch.utils.checkpoint as C

    m = seeded(nn.Linear(4, 4))
    m2 = Box(k=1.0)

    def g(x):
        return torch.relu(m(x)) * m2.k

    def f(x):
        return C.checkpoint(g, x, use_reentrant=False)

    return Case(
        f, *attribute(m2, "k", 2.0, 3.0), args=lambda n: (torch.ones(n, 4, requires_grad=True),)
    )


@program
def saved_hooks_outside():
    log = []

    def f(x):
        return (x * x).sum()

    def d(g, x):
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (log.append(tuple(t.shape)), t)[1], lambda t: t
        ):
            y = g(x)
        return y

    return Case(f, drive=d, args=leaf, looks_at=log)


@program
def anomaly_inside():
    def f(x):
        with torch.autograd.set_detect_anomaly(True):
            y = x * 2
        return y, torch.is_anomaly_enabled()

    return Case(f, lambda: torch.autograd.set_detect_anomaly(False), args=leaf)
