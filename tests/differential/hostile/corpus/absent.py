"""What is absent when a program is traced, and there later."""

import collections
import os

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


@program
def getattr_with_a_default():
    o = Box()

    def fn(x):
        return x * getattr(o, "k", 2.0)

    return Case(fn, *attribute(o, "k", 3.0), lambda: delattr(o, "k"))


@program
def hasattr_of_an_object():
    o = Box()

    def fn(x):
        return x * 2 if hasattr(o, "flag") else x

    return Case(fn, *attribute(o, "flag", None), lambda: delattr(o, "flag"))


@program
def hasattr_that_a_class_gets():
    class Kind:
        pass

    o = Kind()

    def fn(x):
        return x * 2 if hasattr(o, "flag") else x

    return Case(fn, *attribute(Kind, "flag", None), lambda: delattr(Kind, "flag"))


@program
def hasattr_that_a_base_gets():
    class Base:
        pass

    class Kind(Base):
        pass

    o = Kind()

    def fn(x):
        return x * getattr(o, "k", 2.0)

    return Case(fn, *attribute(Base, "k", 3.0), lambda: delattr(Base, "k"))


@program
def attribute_error_caught():
    o = Box()

    def fn(x):
        try:
            return x * o.k
        except AttributeError:
            return x

    return Case(fn, *attribute(o, "k", 3.0), lambda: delattr(o, "k"))


@program
def key_in_a_dict():
    d = {}

    def fn(x):
        return x * 2 if "k" in d else x

    return Case(fn, *item(d, "k", 1), d.clear)


@program
def key_not_in_a_dict():
    d = {"k": 1}

    def fn(x):
        return x * 2 if "k" not in d else x

    return Case(fn, d.clear, *item(d, "k", 1))


@program
def get_of_a_dict():
    d = {}

    def fn(x):
        return x * d.get("k", 2.0)

    return Case(fn, *item(d, "k", 3.0), d.clear)


@program
def key_error_caught():
    d = {}

    def fn(x):
        try:
            return x * d["k"]
        except KeyError:
            return x

    return Case(fn, *item(d, "k", 3.0), d.clear)


@program
def key_in_the_keys():
    d = {"a": 1}

    def fn(x):
        return x * 2 if "k" in d.keys() else x  # noqa: SIM118

    return Case(fn, *item(d, "k", 3.0), lambda: d.pop("k"))


@program
def pop_with_a_default():
    d = {}

    def fn(x):
        return x * d.pop("k", 2.0)

    return Case(fn, *item(d, "k", 3.0), *item(d, "k", 4.0))


@program
def value_in_a_list():
    found = []

    def fn(x):
        return x * 2 if 7 in found else x

    return Case(fn, lambda: found.append(7), found.clear)


@program
def value_in_a_set():
    found = set()

    def fn(x):
        return x * 2 if 7 in found else x

    return Case(fn, lambda: found.add(7), found.clear)


@program
def empty_list_is_false():
    found = []

    def fn(x):
        return x * 2 if found else x

    return Case(fn, lambda: found.append(7), found.clear)


@program
def empty_dict_is_false():
    d = {}

    def fn(x):
        return x * 2 if not d else x

    return Case(fn, *item(d, "k", 1), d.clear)


@program
def empty_loop():
    found = []

    def fn(x):
        for k in found:
            x = x * k
        return x

    return Case(fn, lambda: found.append(3.0), found.clear)


@program
def index_error_caught():
    found = [2.0]

    def fn(x):
        try:
            return x * found[1]
        except IndexError:
            return x

    return Case(fn, lambda: found.append(3.0), found.pop)


@program
def missing_of_a_default_dict():
    d = collections.defaultdict(lambda: 2.0)

    def fn(x):
        return x * d["k"]

    return Case(fn, *item(d, "k", 3.0), lambda: d.pop("k"))


@program
def missing_of_a_dict_subclass():
    class Table(dict):
        k = 2.0

        def __missing__(self, key):
            return self.k

    d = Table()

    def fn(x):
        return x * d["k"]

    return Case(fn, *attribute(d, "k", 3.0), *item(d, "k", 4.0))


@program
def none_attribute():
    o = Box(cache=None)

    def fn(x):
        return x if o.cache is None else x * o.cache

    return Case(fn, *attribute(o, "cache", 3.0, None))


@program
def submodule_that_is_added():
    m = torch.nn.Module()

    def fn(x):
        return x * 2 if hasattr(m, "inner") else x

    return Case(fn, *attribute(m, "inner", torch.nn.Identity()), lambda: delattr(m, "inner"))


@program
def buffer_that_is_added():
    class Net(torch.nn.Module):
        def forward(self, x):
            scale = getattr(self, "scale", None)
            return x if scale is None else x * scale

    m = Net()
    return Case(
        m,
        lambda: m.register_buffer("scale", torch.tensor(3.0)),
        lambda: m.__delattr__("scale"),
    )


@program
def named_modules_grow():
    m = torch.nn.Sequential(torch.nn.ReLU())

    def fn(x):
        return x * len(list(m.named_modules()))

    return Case(fn, lambda: m.append(torch.nn.Tanh()), lambda: m.__delitem__(-1))


@program
def environment_variable():
    def fn(x):
        return x * 2 if "HOSTILE_FLAG" in os.environ else x

    return Case(fn, *item(os.environ, "HOSTILE_FLAG", "1"), lambda: os.environ.pop("HOSTILE_FLAG"))


@program
def keyword_that_is_left_out():
    def fn(x, **options):
        return x * options.get("k", 2.0)

    from tests.differential.hostile.program import Call

    def x(n):
        return torch.arange(n) + 1.0

    return Case(
        fn,
        calls=[
            lambda: (x(3),),
            lambda: Call((x(3),), {"k": 3.0}),
            lambda: (x(3),),
            lambda: Call((x(2),), {"k": 3.0, "j": 1}),
            lambda: Call((x(1),), {"j": 1}),
        ],
    )
