"""Objects around a training loop: metrics, averages, schedules, registries, buffers, callbacks."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import typing
import weakref

import torch
from torch import nn

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program


class Metric:
    """As in libraries of metrics: states by name, updates counted, results cached."""

    def __init__(self):
        self._states, self._computed, self.updates = {}, None, 0

    def add_state(self, name, default):
        self._states[name] = default
        setattr(self, name, copy.copy(default))

    def update(self, x):
        self._computed = None
        self.updates += 1
        self.total = self.total + x.sum()
        self.seen.append(x.shape[0])

    def compute(self):
        if self._computed is None:
            self._computed = self.total / max(sum(self.seen), 1)
        return self._computed

    def reset(self):
        for name, default in self._states.items():
            setattr(self, name, copy.copy(default))
        self._computed = None

    def __call__(self, x):
        self.update(x)
        return self.compute()


def metric():
    m = Metric()
    m.add_state("total", torch.zeros(()))
    m.add_state("seen", [])
    return m


@program
def metric_updated():
    m = metric()

    def f(x):
        return m(x) + m.compute(), m.updates, m._computed is m.compute()

    return Case(f, m.reset, lambda: m.update(torch.ones(2)), args=matrix, looks_at=m)


@program
def metrics_in_a_collection():
    ms = {"a": metric(), "b": metric()}

    def f(x):
        return {k: m(x * (i + 1)) for i, (k, m) in enumerate(sorted(ms.items()))}

    return Case(f, lambda: ms.pop("a", None), lambda: ms.update(c=metric()), looks_at=ms)


@program
def metric_as_a_module():
    class Mean(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("total", torch.zeros(()))
            s.register_buffer("count", torch.zeros((), dtype=torch.long), persistent=False)
            s.last = None

        def forward(s, x):
            s.total += x.detach().sum()
            s.count += x.numel()
            s.last = x.shape
            return s.total / s.count.clamp(min=1)

    m = Mean()

    def f(x):
        return m(x), m.last, sorted(m.state_dict())

    return Case(f, lambda: m.total.zero_(), lambda: setattr(m, "total", torch.ones(())), looks_at=m)


@program
def exponential_average_with_warm_up():
    class Average:
        def __init__(s, decay):
            s.decay, s.steps, s.shadow = decay, 0, None

        def __call__(s, x):
            s.steps += 1
            d = min(s.decay, (1 + s.steps) / (10 + s.steps))
            m = x.mean(0)
            s.shadow = m.clone() if s.shadow is None else s.shadow * d + m * (1 - d)
            return s.shadow, d

    e = Average(0.5)

    def f(x):
        return e(x)

    return Case(
        f, *attribute(e, "decay", 0.1), *attribute(e, "shadow", None), args=matrix, looks_at=e
    )


@program
def schedule_by_steps():
    class Schedule:
        def __init__(s):
            s.step_, s.milestones, s.rate = 0, [2, 4], 1.0

        def step(s):
            s.step_ += 1
            if s.step_ in s.milestones:
                s.rate *= 0.1
            return s.rate

    s = Schedule()

    def f(x):
        return x * s.step()

    return Case(f, lambda: s.milestones.append(7), lambda: setattr(s, "rate", 3), looks_at=s)


@program
def lambda_schedules():
    rates = [lambda n, i=i: (n + 1) ** -i for i in range(3)]
    b = Box(n=0)

    def f(x):
        b.n += 1
        return [x * r(b.n) for r in rates], [r(x.shape[0]) for r in rates]

    return Case(f, lambda: rates.reverse(), lambda: rates.append(lambda n: n), looks_at=b)


@program
def early_stopping():
    class Stopper:
        best, bad, patience = None, 0, 2

        def __call__(s, loss):
            if s.best is None or loss < s.best:
                s.best, s.bad = loss, 0
            else:
                s.bad += 1
            return s.bad >= s.patience

    s = Stopper()

    def f(x):
        stop = s(x.sum().item())
        return x * (0 if stop else 1), stop

    return Case(f, lambda: setattr(s, "best", -1.0), lambda: vars(s).clear(), looks_at=s)


@program
def callbacks_by_name():
    class Callback:
        def __getattr__(s, name):
            if name.startswith("on_"):
                return lambda *a: log.append((name, len(a)))
            raise AttributeError(name)

    class Loud(Callback):
        def on_end(s, x):
            log.append(("loud", x.shape[0]))
            return x * 2

    log, cbs = [], [Callback(), Loud()]

    def f(x):
        for c in cbs:
            c.on_start(x, 1)
            r = c.on_end(x)
            x = x if r is None else r
        return x, hasattr(cbs[0], "off")

    return Case(f, cbs.reverse, lambda: cbs.pop() if len(cbs) > 1 else None, looks_at=log)


@program
def registry_by_decorator():
    table = {}

    def register(name=None, **options):
        def wrap(fn):
            table[name or fn.__name__] = functools.partial(fn, **options)
            return fn

        return wrap

    @register()
    def plain(x, k=1):
        return x * k

    @register("scaled", k=3)
    def other(x, k=1):
        return x * k + 1

    b = Box(name="plain")

    def f(x):
        return table[b.name](x), sorted(table)

    return Case(f, *attribute(b, "name", "scaled"), lambda: register("scaled", k=5)(plain))


@program
def configuration_with_defaults():
    @dataclasses.dataclass
    class Inner:
        rate: float = 0.5
        dims: list = dataclasses.field(default_factory=lambda: [1, 2])

    @dataclasses.dataclass
    class Config:
        inner: Inner = dataclasses.field(default_factory=Inner)
        name: str = "a"
        total: int = dataclasses.field(init=False)
        COUNT: typing.ClassVar[int] = 0

        def __post_init__(s):
            s.total = sum(s.inner.dims)
            Config.COUNT += 1

        @property
        def scale(s):
            return s.inner.rate * s.total

    c = Config()

    def f(x):
        d = dataclasses.replace(c, name="b")
        e = Config(Inner(rate=x.shape[0]))
        return x * c.scale + d.total, e.scale, Config.COUNT, d == c, dataclasses.asdict(e)

    return Case(
        f,
        lambda: c.inner.dims.append(5),
        lambda: setattr(c, "inner", Inner(2.0, [7])),
        lambda: setattr(Inner, "rate", 9.0),
        looks_at=(c, Config),
    )


@program
def replay_buffer():
    class Buffer:
        def __init__(s, size):
            s.data, s.place, s.size = torch.zeros(size, 4), 0, size

        def push(s, rows):
            for r in rows:
                s.data[s.place % s.size] = r
                s.place += 1

    b = Buffer(4)

    def f(x):
        b.push(x)
        return b.data.sum(0), b.place, b.data[: min(b.place, b.size)]

    return Case(f, lambda: setattr(b, "place", 1), lambda: b.data.zero_(), args=matrix, looks_at=b)


@program
def batches_from_a_generator():
    def batches(x, size, drop_last=False):
        for i in range(0, x.shape[0], size):
            part = x[i : i + size]
            if drop_last and part.shape[0] < size:
                return "dropped"
            yield part

    b = Box(size=2, drop=False)

    def f(x):
        parts = list(batches(x, b.size, drop_last=b.drop))
        return [p.sum() for p in parts], len(parts)

    return Case(f, *attribute(b, "drop", True), *attribute(b, "size", 3, 1), args=matrix)


@program
def accumulation_steps():
    b = Box(n=0, every=2, acc=None)
    w = nn.Parameter(torch.ones(4))

    def f(x):
        b.n += 1
        y = (x * w).sum()
        b.acc = y if b.acc is None else b.acc + y
        if b.n % b.every == 0:
            out, b.acc = b.acc, None
            return out / b.every
        return y.detach()

    return Case(f, *attribute(b, "every", 3, 1), args=matrix, looks_at=b)


@program
def clipped_by_history():
    h = collections.deque([1.0], maxlen=3)

    def f(x):
        n = float(x.norm())
        limit = sum(h) / len(h)
        h.append(min(n, limit * 2))
        return x * (limit / n if n > limit else 1.0)

    return Case(f, lambda: h.append(0.5), looks_at=h)


@program
def timers_and_counters():
    class Section(contextlib.ContextDecorator):
        counts = collections.Counter()

        def __init__(s, name):
            s.name = name

        def __enter__(s):
            s.counts[s.name] += 1
            return s

        def __exit__(s, *e):
            s.counts[s.name, e[0] is None] += 1

    @Section("inner")
    def inner(x):
        return x * 2

    def f(x):
        with Section("outer") as s, Section(f"n{x.shape[0]}"):
            y = inner(x)
        return y, s.counts["inner"], len(Section.counts)

    return Case(f, Section.counts.clear, looks_at=Section)


@program
def losses_weighted_by_name():
    weights = {"a": 1.0, "b": 0.0}

    def f(x):
        terms = {"a": x.sum(), "b": (x**2).sum(), "c": x.numel()}
        total = sum(w * terms[k] for k, w in weights.items() if w)
        return total, {k: v for k, v in terms.items() if k not in weights}

    return Case(
        f,
        lambda: weights.update(b=2),
        lambda: weights.update(c=0.5),
        lambda: weights.pop("a", None),
    )


@program
def teacher_follows_student():
    s, t = nn.Linear(4, 2), nn.Linear(4, 2)
    with torch.no_grad():
        for p in (*s.parameters(), *t.parameters()):
            p.fill_(0.5)
    b = Box(m=0.5)

    def f(x):
        with torch.no_grad():
            for p, q in zip(t.parameters(), s.parameters(), strict=True):
                p.mul_(b.m).add_(q, alpha=1 - b.m)
        return s(x) - t(x).detach()

    return Case(
        f, *attribute(b, "m", 0.9, 1), lambda: s.weight.data.fill_(2), args=matrix, looks_at=t
    )


@program
def frozen_parts_by_name():
    m = nn.Sequential(collections.OrderedDict(a=nn.Linear(4, 4), b=nn.Linear(4, 2)))
    with torch.no_grad():
        for p in m.parameters():
            p.fill_(0.25)
    frozen = set()

    def f(x):
        for name, p in m.named_parameters():
            p.requires_grad_(name.split(".")[0] not in frozen)
        y = m(x)
        return y, y.requires_grad, sum(p.numel() for p in m.parameters() if p.requires_grad)

    return Case(f, lambda: frozen.add("a"), lambda: frozen.add("b"), frozen.clear, args=matrix)


@program
def model_with_optional_heads():
    class Model(nn.Module):
        def __init__(s):
            super().__init__()
            s.body = nn.Linear(4, 4)
            s.heads = nn.ModuleDict()
            s.extra = None
            with torch.no_grad():
                s.body.weight.fill_(0.5), s.body.bias.fill_(0)

        def forward(s, x):
            y = s.body(x)
            out = {k: h(y) for k, h in s.heads.items()}
            return out | ({"extra": s.extra(y)} if s.extra is not None else {}), y

    m = Model()

    def head():
        h = nn.Linear(4, 1)
        with torch.no_grad():
            h.weight.fill_(1.0), h.bias.fill_(0.5)
        return h

    return Case(
        m,
        lambda: m.heads.update({"b": head()}),
        lambda: m.heads.update({"a": head()}),
        lambda: setattr(m, "extra", head()),
        lambda: m.heads.pop("b") if "b" in m.heads else None,
        lambda: setattr(m, "body", nn.Identity()),
        args=matrix,
    )


@program
def weak_cache_by_module():
    cache = weakref.WeakKeyDictionary()
    lin = nn.Linear(4, 4)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(0.5)

    def f(x):
        if lin not in cache:
            cache[lin] = lin.weight.sum().detach()
        return x * cache[lin], len(cache)

    return Case(
        f, cache.clear, lambda: cache.update({lin: torch.ones(())}), args=matrix, looks_at=lin
    )


@program
def gradients_read_by_a_closure():
    w = nn.Parameter(torch.ones(4))
    norms = []

    def f(x):
        if w.grad is not None:
            norms.append(w.grad.norm())
        return (x * w).sum(), len(norms)

    return Case(f, norms.clear, lambda: setattr(w, "grad", None), args=matrix, backward=True)


@program
def results_logged_by_shape():
    table = collections.defaultdict(lambda: collections.defaultdict(int))

    def f(x):
        table[x.shape[0]]["calls"] += 1
        table[tuple(x.shape)]["sum"] += x.shape[-1]
        best = max(table.items(), key=lambda kv: len(kv[1]))
        return x * table[x.shape[0]]["calls"], best[1], len(table)

    return Case(f, table.clear, lambda: table[3].update(calls=9), args=matrix, looks_at=table)


@program
def seeds_by_epoch():
    b = Box(epoch=0)

    def f(x):
        g = torch.Generator().manual_seed(b.epoch * 10 + x.shape[0])
        i = torch.randperm(x.shape[0], generator=g)
        return x[i], b.epoch

    return Case(f, *attribute(b, "epoch", 1, 2), args=matrix)


@program
def mixed_up_inputs():
    b = Box(alpha=0.25)

    def f(x):
        if x.requires_grad and b.alpha:
            y = x.flip(0)
            return x * b.alpha + y * (1 - b.alpha), True
        return x, False

    return Case(f, *attribute(b, "alpha", 0.5, 0, -0.0), args=leaf)


@program
def parameter_groups():
    ws = [nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4) * 2)]
    groups = [{"params": ws[:1], "lr": 0.1}, {"params": ws[1:], "lr": 0.2, "decay": 0.5}]

    def f(x):
        total = 0
        for g in groups:
            d = g.setdefault("decay", 0.0)
            for p in g["params"]:
                total = total + (x * p).sum() * g["lr"] + d * (p**2).sum()
        return total, [sorted(g) for g in groups]

    return Case(
        f,
        lambda: groups[0].update(lr=0.5),
        lambda: groups[1]["params"].append(ws[0]),
        lambda: groups.pop() if len(groups) > 1 else None,
        args=matrix,
        looks_at=groups,
    )


@program
def checkpoint_in_memory():
    m = nn.Linear(4, 2)
    with torch.no_grad():
        m.weight.fill_(0.5), m.bias.fill_(0.0)
    saved = {}

    def f(x):
        if not saved:
            saved.update({k: v.clone() for k, v in m.state_dict().items()})
        d = sum((v - saved[k]).abs().sum() for k, v in m.state_dict().items())
        return m(x), d, list(saved)

    return Case(f, lambda: m.weight.data.add_(1), saved.clear, args=matrix, looks_at=saved)


@program
def statistics_divided():
    w, p = torch.arange(5.0) + 3, nn.Parameter(torch.arange(5.0) + 7)

    def f(x):
        y = x.sum() + 12
        return w / y, p / y, w % y, w**y, w // y, w - y, torch.arange(5) / y

    return Case(f, lambda: w.add_(0.1), lambda: p.data.mul_(3))
