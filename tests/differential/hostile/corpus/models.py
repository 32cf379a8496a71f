"""State that models keep: caches, running counters, parametrizations, position tables."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, spectral_norm, weight_norm

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return self.cache.sum(0) + x


def module(name, make, args=matrix, **more):
    def factory():
        return Case(make(), args=args, **more)

    factory.__name__ = name
    program(factory)


def old(norm):
    def make():
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return norm(nn.Linear(4, 2))

    return make


module("key_value_cache", Cached)
module(
    "key_value_cache_trained",
    Cached,
    backward=True,
    args=lambda n: (matrix(n)[0].requires_grad_(),),
)
module("weight_norm_by_hooks", old(weight_norm))
module("spectral_norm_by_hooks", old(spectral_norm))
module("weight_norm_by_parametrization", lambda: parametrizations.weight_norm(nn.Linear(4, 2)))
module("spectral_norm_by_parametrization", lambda: parametrizations.spectral_norm(nn.Linear(4, 2)))
module("spectral_norm_in_eval", lambda: parametrizations.spectral_norm(nn.Linear(4, 2)).eval())
module("batch_norm", lambda: nn.BatchNorm1d(4), sizes=(7,))
module("batch_norm_in_eval", lambda: nn.BatchNorm1d(4).eval())
module("batch_norm_cumulative", lambda: nn.BatchNorm1d(4, momentum=None), sizes=(7,))
module("dropout", lambda: nn.Dropout(0.5))
module("checkpointed", lambda: Checkpointed())
module("lazy_linear", lambda: nn.LazyLinear(2))


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(self.inner, x, use_reentrant=False)


@program
def cache_that_is_reset():
    m = Cached()
    return Case(m, *attribute(m, "cache", None, torch.zeros(1, 4)), args=matrix)


@program
def running_mean_in_a_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            self.mean = self.mean * 0.5 + x.sum(0) * 0.5
            return x - self.mean

    return Case(Net(), args=matrix)


@program
def counter_in_a_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            self.n += 1
            return x * self.n

    return Case(Net())


@program
def position_table_that_grows():
    class Net(nn.Module):
        table = None

        def forward(self, x):
            if self.table is None or self.table.shape[0] < x.shape[0]:
                self.table = torch.arange(x.shape[0]).float()[:, None] * 0.5
            return x + self.table[: x.shape[0]]

    return Case(Net(), args=matrix)


@program
def rotary_cache():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = 0
            self.register_buffer("cos", torch.zeros(0, 4), persistent=False)

        def forward(self, x):
            if x.shape[0] > self.seen:
                self.seen = x.shape[0]
                self.register_buffer("cos", torch.arange(self.seen * 4.0).reshape(-1, 4).cos())
            return x * self.cos[: x.shape[0]]

    return Case(Net(), args=matrix)


@program
def mask_table_by_size():
    masks = {}

    def fn(x):
        n = x.shape[0]
        if n not in masks:
            masks[n] = torch.ones(n, n).tril()
        return masks[n] @ x

    return Case(fn, masks.clear, args=matrix)


@program
def memo_of_a_method():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.memo = {}

        def scale(self, key):
            if key not in self.memo:
                self.memo[key] = len(self.memo) + 1.0
            return self.memo[key]

        def forward(self, x):
            return x * self.scale("a") + self.scale("b")

    m = Net()
    return Case(m, m.memo.clear, lambda: m.memo.update(a=5.0))


@program
def outputs_kept_by_a_hook():
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    kept = {}
    m[0].register_forward_hook(lambda mod, i, o: kept.__setitem__("h", o))
    return Case(m, kept.clear, args=matrix, looks_at=kept)


@program
def losses_collected():
    class Layer(nn.Module):
        loss = None

        def forward(self, x):
            self.loss = (x * x).mean() if x.shape[0] else x.sum()
            return x * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Layer(), Layer()])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x, sum(layer.loss for layer in self.layers)

    return Case(Net(), args=matrix)


@program
def last_shape_kept():
    class Net(nn.Module):
        shape = None

        def forward(self, x):
            same = self.shape == tuple(x.shape)
            self.shape = tuple(x.shape)
            return x * 2 if same else x * 3

    return Case(Net(), args=matrix)


@program
def exponential_average_of_parameters():
    m, average = nn.Linear(4, 2), nn.Linear(4, 2)

    def fn(x):
        with torch.no_grad():
            for a, p in zip(average.parameters(), m.parameters()):
                a.mul_(0.5).add_(p, alpha=0.5)
        return average(x)

    def change():
        with torch.no_grad():
            m.weight.add_(1)

    return Case(fn, change, args=matrix)


@program
def optimizer_step_inside():
    m = nn.Linear(4, 2)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)

    def fn(x):
        opt.zero_grad()
        loss = m(x).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    return Case(fn, args=matrix)


@program
def profiled_range_inside():
    m = nn.Linear(4, 2)

    def fn(x):
        with torch.profiler.record_function("forward"):
            y = m(x)
        return y * 2

    return Case(fn, args=matrix)


@program
def gradients_dropped_inside():
    m = nn.Linear(4, 2)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)

    def fn(x):
        opt.zero_grad()
        return m(x).sum()

    return Case(fn, args=matrix, backward=True)


@program
def dropout_of_everything():
    def fn(x):
        return nn.functional.dropout(x, 1.0) + nn.functional.dropout(x, 0.5)

    return Case(fn, args=matrix)


@program
def buffer_registered_inside():
    class Net(nn.Module):
        def forward(self, x):
            if not hasattr(self, "scale"):
                self.register_buffer("scale", torch.full((4,), 2.0))
            return x * self.scale

    m = Net()
    return Case(m, lambda: delattr(m, "scale"), args=matrix)


@program
def training_mode_set_inside():
    m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

    def fn(x):
        m.eval()
        y = m(x)
        m.train()
        return y

    return Case(fn, args=matrix)


@program
def requires_grad_set_inside():
    m = nn.Linear(4, 2)

    def fn(x):
        m.weight.requires_grad_(False)
        y = m(x)
        m.weight.requires_grad_(True)
        return y

    return Case(fn, args=matrix)


@program
def module_made_inside():
    o = Box(k=2.0)

    def fn(x):
        layer = nn.ReLU()
        layer.k = o.k
        return layer(x) * layer.k

    return Case(fn, *attribute(o, "k", 3.0, 2.0), args=matrix)


@program
def tied_parameters_retied():
    a, b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    own = b.weight

    def fn(x):
        return a(x) + b(x) * (2 if a.weight is b.weight else 1)

    return Case(fn, *attribute(b, "weight", a.weight, own), args=matrix)
