"""Arguments that are one tensor, or views of one, or outputs; draws; the order of evaluation."""

import random

import torch

import anyshape
from tests.differential.hostile.program import Box, Call, Case, attribute, program

LOG = []


def base(n):
    return torch.arange(2.0 * n + 2).reshape(n + 1, 2)


@program
def one_tensor_twice():
    def fn(a, b):
        a.add_(1)
        return a * b, a is b, b.sum()

    def calls(n):
        x, y = base(n), base(n)
        return [lambda: (x, x), lambda: (x, y), lambda: (y.clone(), x), lambda: (y, y)]

    return Case(fn, calls=[*calls(2), *calls(4), *calls(2)])


@program
def overlapping_views():
    def fn(a, b):
        a.mul_(2)
        b.add_(1)
        return a + b

    def calls(n):
        x = base(n)
        return [lambda: (x[:-1], x[1:]), lambda: (x[:-1].clone(), x[1:]), lambda: (x[1:], x[:-1])]

    return Case(fn, calls=[*calls(2), *calls(3), *calls(2)])


@program
def view_and_its_base():
    def fn(a, v, k):
        v.fill_(k)
        y = a.sum(0)
        a.zero_()
        return y, v.sum()

    def calls(n, k):
        x = base(n)
        return [lambda: (x, x[0], k), lambda: (x, x.t()[1], k), lambda: (x, torch.ones(2), k)]

    return Case(fn, calls=[*calls(2, 1.0), *calls(3, 2.0)])


@program
def outputs_as_arguments():
    def fn(x, out, more):
        y = torch.add(x, 1, out=out)
        z = torch.cat([x, x], out=more["cat"])
        torch.mul(out, 2, out=out)
        return y is out, z.shape, more["cat"] is z, out + 0

    def args(n):
        return torch.arange(n) + 1.0, torch.empty(0), {"cat": torch.zeros(2 * n)}

    return Case(fn, args=args, sizes=(1,))


@program
def changed_then_an_error():
    def fn(x, n):
        x.add_(1)
        LOG.append(n)
        x[0] = 100
        if n > 2:
            raise ValueError(n)
        return x * 2

    def calls():
        x = torch.ones(3)
        return [lambda n=n: (x, n) for n in (1, 3, 2, 5, 0)]

    return Case(fn, calls=calls(), looks_at=LOG)


@program
def changed_then_an_error_of_torch():
    def fn(x, y):
        x.mul_(3)
        try:
            x.add_(y)
        except RuntimeError:
            x.sub_(1)
        return x + y.sum()

    return Case(fn, calls=[lambda n=n: (torch.ones(3), torch.ones(n)) for n in (3, 2, 1, 4, 3)])


@program
def tensors_in_shared_containers():
    shared = [torch.ones(2)]

    def fn(a, b, x):
        a.append(x)
        b[0] = b[0] + len(a)
        return a[0] * x.sum(), a is b, len(b)

    calls = [lambda n=n: (shared, shared, torch.ones(n)) for n in (2, 3)]
    calls += [
        lambda: (shared, [torch.zeros(2)], torch.ones(2)),
        lambda: ([torch.ones(1)], shared, torch.ones(4)),
    ]
    return Case(fn, calls=[*calls, *calls], looks_at=shared)


@program
def generator_as_an_argument():
    g = torch.Generator().manual_seed(3)

    def fn(x, g):
        a = torch.rand(x.shape[0], generator=g)
        b = torch.randint(0, 5, (2,), generator=g)
        return x * a, b, torch.randn(2, generator=g) * 0

    return Case(
        fn,
        lambda: g.manual_seed(7),
        args=lambda n: (torch.ones(n), g),
        looks_at=lambda: g.initial_seed(),
    )


@program
def draws_and_seeds_around():
    def fn(x):
        a = torch.rand_like(x)
        k = random.random()
        torch.manual_seed(x.shape[0])
        b = torch.rand(2)
        return a + k, b, torch.bernoulli(torch.full((3,), 0.5))

    return Case(fn, lambda: torch.manual_seed(5), lambda: random.seed(1))


@program
def compiled_inside_compiled():
    k = Box(k=2.0, n=0)

    def inner(x):
        k.n += 1
        return x * k.k

    fast = anyshape.compile(inner)

    def fn(x):
        y = fast(x)
        k.k += 1
        return y + fast(x + 1), k.n

    return Case(fn, *attribute(k, "k", 0.5, -1.0), looks_at=k, exported=False)


@program
def sorted_with_effects():
    def fn(x, words):
        def key(w):
            LOG.append(w)
            return -len(w), w

        words.sort(key=key)
        return (
            x * len(words[0]),
            sorted(words, key=len, reverse=True),
            max(words, key=lambda w: LOG.append("m") or w[-1]),
        )

    return Case(fn, LOG.clear, args=lambda n: (torch.ones(n), ["b" * n, "aaa", "cc"]), looks_at=LOG)


class Sized:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        LOG.append("index")
        return self.n

    def __bool__(self):
        LOG.append("bool")
        return self.n > 2

    def __format__(self, spec):
        LOG.append(spec)
        return f"<{self.n:{spec or 'd'}}>"

    def __float__(self):
        LOG.append("float")
        return self.n / 2

    def __iter__(self):
        LOG.append("iter")
        return iter(range(self.n))


@program
def numbers_that_log():
    s = Sized(2)

    def fn(x):
        text = f"{s:03d}|{s}|{x.shape[0]:>{s.n}}|{x.shape[0] * 2!s:4}"
        y = x[: s.__index__()] if s else x
        a, *b = s
        return (
            y * float(s),
            text,
            [*s, *b],
            range(5)[s],
            "abcdef"[s:],
            (lambda *v: len(v))(*s),
            not s,
            s and 1,
        )

    return Case(fn, *attribute(s, "n", 3, 1), looks_at=LOG)


@program
def sizes_in_texts():
    def fn(x):
        n = x.shape[0]
        names = {f"layer{n}": 1, f"{n=}": 2, f"{n:05.1f}": 3, f"{n:#x}": 4, "%s-%03d" % (n, n): 5}
        LOG.append(f"{x.shape}")
        return x * names.get("layer3", 0), sorted(names), f"{n if n > 3 else -n:+}", str(n)[::-1]

    return Case(fn, LOG.clear, looks_at=LOG)


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self._y, self.asked = x, y, 0

    @property
    def y(self):
        self.asked += 1
        return self._y


@program
def matched_by_class():
    p = Point(1, 2.0)

    def fn(x):
        found = []
        for o in (p, {"a": [1, x], "n": x.shape[0]}, (1, 2, 3), x.shape[0]):
            match o:
                case Point(1, y=k) if k > x.shape[0]:
                    found.append(x * k)
                case Point(a, b):
                    found.append((a, b))
                case {"a": [n, torch.Tensor() as t], **rest}:
                    found.append((t * n, rest))
                case (first, *_, last):
                    found.append(first + last)
                case 3 | 5 as n:
                    found.append(n * 10)
                case _:
                    found.append(None)
        return found, p.asked

    return Case(fn, *attribute(p, "_y", 50.0), *attribute(p, "x", 2), looks_at=p)


@program
def order_of_evaluation():
    def say(v, what):
        LOG.append(what)
        return v

    def fn(x):
        d = {}
        d[say("k", "key")] = say(x, "value") * say(2, "right")
        a = say(x, "a")[say(0, "lo") : say(x.shape[0], "hi")]
        b = say(1, "x") < say(x.shape[0], "y") < say(4, "z")
        say(d, "target")[say("k", "index")] += say(1, "increment")
        return d["k"], a, b, (lambda p=say(3, "default"), *q, r=say(4, "named"): p + r)()

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def arguments_by_all_ways():
    def inner(a, /, b, *rest, k, **named):
        named["k"] = k
        return a * b + sum(rest) + k, sorted(named), rest

    def fn(x, *args, **kwargs):
        return inner(x, *args, k=x.shape[0], **kwargs)

    def args(n):
        return Call((torch.ones(n), 2.0, *range(n)), {"z": n, "y": [n]})

    return Case(fn, args=args)


@program
def written_through_a_view_kept_outside():
    held = Box(v=None, base=torch.zeros(4))

    def fn(x):
        held.v = held.base[1:3]
        held.v += x.sum()
        held.base.mul_(2)
        return held.v * 1, held.base.sum()

    return Case(
        fn, lambda: setattr(held, "base", torch.ones(4)), lambda: held.v.fill_(9), looks_at=held
    )


@program
def returned_and_changed_by_the_caller():
    table = {}

    def fn(x):
        y = table.setdefault(x.shape[0], torch.zeros(x.shape[0]))
        y += 1
        return {"y": y, "all": table, "list": [y, y]}

    def drive(f, x):
        out = f(x)
        out["y"].add_(10)
        out["list"].append(None)
        return out

    return Case(fn, table.clear, drive=drive, looks_at=table, exported=False)
