"""Caches of the user's: nothing symbolic stays in them, and a filled one answers as in eager."""

import functools

import torch

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


def wide(n):
    return (torch.arange(2.0 * n * 4).reshape(2, n, 4),)


def after(fn, cached):
    """Drive a call, then the uncompiled function at the same size and at another."""

    def drive(call, x):
        out = call(x)
        return out, fn(x), cached.cache_info().currsize >= 0

    return drive


@functools.lru_cache(256)
def recipe(pattern, shape, axes):
    """What an einops-like library keeps for a pattern and a shape."""
    known = dict(axes)
    b, n, d = shape
    return (b, n, known["h"], d // known["h"]), (0, 2, 1, 3)


def rearrange(x, pattern, **axes):
    shape, order = recipe(pattern, tuple(x.shape), tuple(sorted(axes.items())))
    return x.reshape(shape).permute(order)


def rearrange_or_slow(x, pattern, **axes):
    try:
        shape, order = recipe(pattern, tuple(x.shape), tuple(sorted(axes.items())))
    except TypeError:
        shape, order = recipe.__wrapped__(pattern, x.shape, tuple(axes.items()))
    return x.reshape(shape).permute(order)


@program
def rearrange_by_a_cached_recipe():
    def fn(x):
        return rearrange(x, "b n (h d) -> b h n d", h=2) + 1

    return Case(fn, args=wide, drive=after(fn, recipe))


@program
def rearrange_with_a_fallback():
    def fn(x):
        return rearrange_or_slow(x, "b n (h d) -> b h n d", h=2) + 1

    return Case(fn, args=wide, drive=after(fn, recipe))


@program
def cache_by_a_size():
    @functools.lru_cache
    def table(n):
        return torch.arange(n).float()

    def fn(x):
        return x + table(x.shape[0])

    return Case(fn, drive=after(fn, table))


@program
def cache_by_a_size_of_a_number():
    @functools.lru_cache
    def half(n):
        return n // 2 + 1

    def fn(x):
        return x * half(x.shape[0])

    return Case(fn, drive=after(fn, half))


@program
def cache_by_a_shape():
    @functools.cache
    def count(shape):
        return len(shape) + sum(shape)

    def fn(x):
        return x * count(x.shape)

    return Case(fn, args=matrix, drive=after(fn, count))


@program
def cache_by_a_dtype():
    @functools.cache
    def least(dtype):
        return torch.finfo(dtype).tiny

    def fn(x):
        return x + least(x.dtype)

    return Case(fn, drive=after(fn, least))


@program
def cache_of_a_method():
    class Net(torch.nn.Module):
        @functools.lru_cache
        def mask(self, n):
            return torch.ones(n).cumsum(0)

        def forward(self, x):
            return x * self.mask(x.shape[0])

    m = Net()
    return Case(m, drive=after(m, Net.mask))


@program
def cache_with_an_effect():
    o = Box(misses=0)

    @functools.lru_cache
    def table(n):
        o.misses += 1
        return n * 2

    def fn(x):
        return x * table(x.shape[0])

    return Case(fn, table.cache_clear, looks_at=o)


@program
def cache_that_is_too_small():
    o = Box(misses=0)

    @functools.lru_cache(maxsize=1)
    def table(n):
        o.misses += 1
        return n * 2.0

    def fn(x):
        return x * table(1) + table(2)

    return Case(fn, looks_at=o)


@program
def cache_information():
    @functools.lru_cache
    def table(n):
        return n * 2.0

    def fn(x):
        return x * table(2), tuple(table.cache_info())

    return Case(fn, table.cache_clear)


@program
def cache_cleared_inside():
    calls = []

    @functools.lru_cache
    def table(n):
        calls.append(n)
        return n * 2.0

    def fn(x):
        y = x * table(2)
        if x.shape[0] == 2:
            table.cache_clear()
        return y + len(calls)

    return Case(fn, looks_at=calls)


@program
def cache_information_by_another_function():
    @functools.lru_cache
    def table(n):
        return n * 2.0

    def report():
        return table.cache_info().hits

    def fn(x):
        return x * table(2), tuple(table.cache_info()), report()

    return Case(fn, table.cache_clear)


@program
def cache_that_gives_one_object():
    @functools.lru_cache
    def table(name):
        return torch.ones(1)

    def fn(x):
        table("a").add_(1)
        return x * table("a"), table("a")

    return Case(fn, table.cache_clear)


@program
def cache_by_hand():
    cache = {}

    def fn(x):
        key = (x.shape[0], x.dtype)
        if key not in cache:
            cache[key] = torch.arange(x.shape[0]) * 2.0
        return x + cache[key]

    return Case(fn, cache.clear, drive=lambda call, x: (call(x), fn(x), len(cache)))


@program
def cache_by_text():
    cache = {}

    def fn(x):
        key = f"{x.shape[0]}-{x.dtype}"
        return x * cache.setdefault(key, len(cache) + 1.0)

    return Case(fn, cache.clear)


@program
def cache_by_identity():
    cache = {}

    def fn(x):
        if id(fn) not in cache:
            cache[id(fn)] = 2.0
        return x * cache[id(fn)]

    def drive(call, x):
        return call(x), list(cache.values())

    return Case(lambda x: fn(x), cache.clear, drive=drive)


@program
def cached_property_by_a_size():
    class Shape:
        def __init__(self, n):
            self.n = n

        @functools.cached_property
        def half(self):
            return self.n // 2

    kept = {}

    def fn(x):
        if "s" not in kept:
            kept["s"] = Shape(x.shape[0])
        return x * kept["s"].half

    return Case(fn, kept.clear)


@program
def cache_filled_before_the_trace():
    @functools.lru_cache
    def table(n):
        return torch.arange(n).float()

    for n in (3, 5):
        table(n)

    def fn(x):
        return x + table(x.shape[0]), table(3)

    return Case(fn, table.cache_clear)


@program
def size_kept_in_a_set():
    seen = set()

    def fn(x):
        new = x.shape[0] not in seen
        seen.add(x.shape[0])
        return x * 2 if new else x * 3

    return Case(fn, seen.clear)


@program
def hash_that_fails_is_handled():
    def fn(x):
        try:
            key = hash((x.shape[0], 1))
        except TypeError:
            return x * 100
        return x * 2 if key == hash((3, 1)) else x * 3

    return Case(fn)


@program
def sizes_kept_in_a_list():
    kept = []

    def fn(x):
        kept.append(x.shape[0] * 2)
        kept.append(x.shape)
        kept.append(x.shape[0] / 2)
        kept.append(x.shape[0] > 2)
        return x + len(kept)

    return Case(fn, kept.clear)


@program
def pattern_cache():
    import re

    def fn(x):
        found = re.compile(r"(\d+)").search(f"n={x.shape[0]}")
        return x * int(found[1])

    return Case(fn)


@program
def type_cache_of_pytree():
    from torch.utils import _pytree as pytree

    def fn(x):
        flat, spec = pytree.tree_flatten({"a": [x, x.shape[0]], "b": (x * 2,)})
        return pytree.tree_unflatten([v * 2 for v in flat], spec)

    return Case(fn)


@program
def registry_by_class():
    registry = {}

    class Kind:
        def __init_subclass__(cls):
            registry[cls.__name__] = cls

    def fn(x):
        return x * (len(registry) + 1)

    return Case(fn, lambda: type("Sub", (Kind,), {}), registry.clear)


@program
def text_as_a_key():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * table[text]

    return Case(fn)


@program
def text_as_a_key_with_a_default():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * table.get(text, 7.0)

    return Case(fn)


@program
def text_in_a_set():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * (2 if text in {"3", "5"} else 3)

    return Case(fn)


@program
def text_counted():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * len(text * 2)

    return Case(fn)


@program
def text_ordered():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * (2 if text < "3" else 3)

    return Case(fn)


@program
def text_taken_apart():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * len([*text, "a"])

    return Case(fn)


@program
def text_hashed():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * (2 if hash(text) == hash("3") else 3)

    return Case(fn)


@program
def text_sorted():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * float(sorted([text, "4"])[0])

    return Case(fn)


@program
def text_as_bytes():
    table = {"3": 2.0, "5": 3.0, "2": 4.0, "0": 5.0, "1": 6.0}

    def fn(x):
        text = f"{x.shape[0]}"
        return x * bytes(text, "ascii")[0]

    return Case(fn)
