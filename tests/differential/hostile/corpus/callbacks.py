"""Functions of the user's that code in C calls: what they read and write counts."""

import bisect
import collections
import functools
import heapq
import itertools
import json
import operator
import re
import string
import weakref

import torch

from tests.differential.hostile.program import Case, program

LEVEL = 2.0
LOG = []


def set_level(value):
    global LEVEL
    LEVEL = value


LEVELS = [lambda v=v: set_level(v) for v in (3.0, -1.0)]


def read(v):
    """A callback that reads."""
    return v * LEVEL


def noted(v):
    """A callback that writes."""
    LOG.append(v)
    return v * LEVEL


def called(name, use):
    """Two programs: with a callback that reads, and with one that writes too."""
    for suffix, callback in (("", read), ("_that_writes", noted)):

        def factory(callback=callback):
            def fn(x):
                return x * use(callback, x)

            return Case(fn, *LEVELS, looks_at=LOG)

        factory.__name__ = name + suffix
        program(factory)


called("sorted_key", lambda f, x: sorted([3, 1, 2], key=f)[0])
called("sort_key", lambda f, x: _sorted([3, 1, 2], f))
called("max_key", lambda f, x: max([3, 1, 2], key=f))
called("min_key_of_arguments", lambda f, x: min(3, 1, 2, key=f))
called("map_of_list", lambda f, x: sum(map(f, [1, 2])))
called("map_of_two", lambda f, x: sum(map(lambda a, b: f(a) + b, [1, 2], [3, 4])))
called("map_half_read", lambda f, x: next(map(f, [1, 2])))
called("filter_by", lambda f, x: len(list(filter(lambda v: f(v) > 2, [1, 2, 3]))))
called("reduce_by", lambda f, x: functools.reduce(lambda a, b: a + f(b), [1, 2, 3]))
called("substitute_by", lambda f, x: len(re.sub(r"\d", lambda m: "a" * int(f(2) + 4), "b1c2")))
called("compiled_pattern", lambda f, x: len(PATTERN.sub(lambda m: "a" * int(f(1) + 4), "b1c2")))
called("json_default", lambda f, x: len(json.dumps(object(), default=lambda o: f(10))))
called("json_hook", lambda f, x: json.loads('{"a": 2}', object_hook=lambda d: f(d["a"])))
called("json_parse", lambda f, x: json.loads("[2.5]", parse_float=lambda s: f(float(s)))[0])
called("groupby_key", lambda f, x: len(list(itertools.groupby([1, 1, 3], key=f))))
called("accumulate_by", lambda f, x: list(itertools.accumulate([1, 2], lambda a, b: a + f(b)))[-1])
called("takewhile_by", lambda f, x: len(list(itertools.takewhile(lambda v: f(v) < 5, [1, 2, 3]))))
called("starmap_of", lambda f, x: sum(itertools.starmap(lambda a, b: f(a) + b, [(1, 2), (3, 4)])))
called("iter_until", lambda f, x: len(list(iter(_counter(f), 3))))
called(
    "compare_by", lambda f, x: sorted([3, 1], key=functools.cmp_to_key(lambda a, b: f(a - b)))[0]
)
called("bisect_key", lambda f, x: bisect.bisect([-9.0, 3.0, 9.0], 4.0, key=f))
called("heap_key", lambda f, x: heapq.nsmallest(1, [3, 1, 2], key=f)[0])
called("default_factory", lambda f, x: collections.defaultdict(lambda: f(1))["k"])
called("string_template", lambda f, x: len(string.Template("$a").substitute(_Lazy(f))))
called("format_map", lambda f, x: len("{a}".format_map(_Lazy(f))))
called("method_caller", lambda f, x: operator.methodcaller("run", 2)(_Runner(f)))
called("item_getter", lambda f, x: operator.itemgetter("a")(_Lazy(f)))
called("attribute_getter", lambda f, x: operator.attrgetter("value")(_Runner(f)))
called("partial_of_a_callback", lambda f, x: functools.partial(f, 2)())
called("any_of_generator", lambda f, x: 2 if any(f(v) > 5 for v in (1, 2)) else 3)
called("dict_from_generator", lambda f, x: dict((v, f(v)) for v in (1, 2))[2])
called(
    "zip_longest_of_generator",
    lambda f, x: list(itertools.zip_longest((f(v) for v in (1, 2)), [1]))[1][0],
)
called(
    "chain_from_iterable", lambda f, x: sum(itertools.chain.from_iterable([f(v)] for v in (1, 2)))
)
called("sum_of_generator", lambda f, x: sum(f(v) for v in (1, 2)))
called("apply_of_module", lambda f, x: _applied(f))
called("finalizer", lambda f, x: _finalized(f))
called("weak_callback", lambda f, x: _dropped(f))
called("hash_and_equality", lambda f, x: {_Key(f, 1): 2.0, _Key(f, 2): 3.0}[_Key(f, 2)])
called("equality_in_a_list", lambda f, x: [_Key(f, 1), _Key(f, 2)].index(_Key(f, 2)) + 1)
called("equality_by_in", lambda f, x: 2 if _Key(f, 2) in [_Key(f, 1), _Key(f, 2)] else 3)
called("count_by_equality", lambda f, x: [_Key(f, 1), _Key(f, 1)].count(_Key(f, 1)))
called("set_of_keys", lambda f, x: len({_Key(f, 1), _Key(f, 1), _Key(f, 2)}))
called("order_by_less_than", lambda f, x: sorted([_Key(f, 2), _Key(f, 1)])[0].v)
called("max_by_less_than", lambda f, x: max(_Key(f, 2), _Key(f, 1)).v)
called("index_of_a_list", lambda f, x: [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0][_Index(f)])
called("index_of_a_range", lambda f, x: len(range(_Index(f))))
called("index_of_a_slice", lambda f, x: len([1, 2, 3, 4, 5, 6, 7][: _Index(f)]))
called("index_as_a_factor", lambda f, x: len([1] * _Index(f)))
called("index_of_a_tensor", lambda f, x: x.sum() * 0 + torch.arange(9.0)[_Index(f)])
called("number_by_float", lambda f, x: float(_Index(f)))
called("number_by_int", lambda f, x: int(_Index(f)))
called("number_by_round", lambda f, x: round(_Index(f)))
called("text_by_repr", lambda f, x: len(f"{_Index(f)!r}"))
called("length_hint", lambda f, x: len(list(_Rows(f))))
called("reversed_rows", lambda f, x: next(reversed(_Rows(f))))
called("unpacked_rows", lambda f, x: max(*_Rows(f)))
called("joined_rows", lambda f, x: len(",".join(map(str, _Rows(f)))))
called("extended_rows", lambda f, x: _extended(f))
called("isinstance_by_a_metaclass", lambda f, x: 2 if isinstance(3, _Kind) else f(1))
called("descriptor_get", lambda f, x: _Described(f).value)
called("set_name", lambda f, x: _named(f))

PATTERN = re.compile(r"\d")


def _sorted(items, key):
    items.sort(key=key)
    return items[0]


def _counter(f):
    seen = []

    def step():
        seen.append(f(1))
        return len(seen)

    return step


class _Lazy(dict):
    def __init__(self, f):
        self.f = f

    def __missing__(self, key):
        return self.f(1)

    __hash__ = None


class _Runner:
    def __init__(self, f):
        self.f = f

    def run(self, v):
        return self.f(v)

    @property
    def value(self):
        return self.f(2)


def _applied(f):
    module = torch.nn.Linear(1, 1)
    module.apply(lambda m: setattr(m, "seen", f(2)))
    return module.seen


class _Thing:
    pass


def _finalized(f):
    thing = _Thing()
    weakref.finalize(thing, f, 2)
    del thing
    return len(LOG) + 1


def _dropped(f):
    thing = _Thing()
    ref = weakref.ref(thing, lambda _: f(2))
    del thing
    return len(LOG) + (ref() is None)


class _Key:
    def __init__(self, f, v):
        self.f, self.v = f, v

    def __hash__(self):
        return hash(self.f(1))

    def __eq__(self, other):
        return self.f(self.v) == other.f(other.v)

    def __lt__(self, other):
        return self.f(self.v) < other.f(other.v)

    def __gt__(self, other):
        return self.f(self.v) > other.f(other.v)


class _Index:
    def __init__(self, f):
        self.f = f

    def __index__(self):
        return int(self.f(1) + 2)

    def __int__(self):
        return int(self.f(1) + 2)

    def __float__(self):
        return float(self.f(1) + 2)

    def __round__(self, n=None):
        return int(self.f(1) + 2)

    def __repr__(self):
        return "a" * int(self.f(1) + 2)


class _Rows:
    def __init__(self, f):
        self.f = f

    def __len__(self):
        return 2

    def __iter__(self):
        return iter([self.f(1), self.f(2)])

    def __reversed__(self):
        return iter([self.f(3), self.f(2)])


def _extended(f):
    rows = [1.0]
    rows.extend(_Rows(f))
    return sum(rows)


class _Meta(type):
    def __instancecheck__(cls, x):
        return x > LEVEL


class _Kind(metaclass=_Meta):
    pass


class _Field:
    def __init__(self, f):
        self.f = f

    def __get__(self, o, kind=None):
        return self.f(2)


def _Described(f):
    class Holder:
        value = _Field(f)

    return Holder()


def _named(f):
    seen = []

    class Field:
        def __set_name__(self, owner, name):
            seen.append(f(len(name)))

    class Holder:
        value = Field()

    return seen[0]
