"""Containers that change while they are gone through, and live views of them."""

import collections
import types

from tests.differential.hostile.program import Case, item, program, vector


def changes(name, make, use, *, outside):
    """A program that goes through a container and changes it; twice as often, if `outside`."""

    def factory():
        kept = make()

        def fn(x):
            c = kept if outside else make()
            return x + use(c), list(c)

        return Case(fn, kept.clear, lambda: None)

    factory.__name__ = f"{name}_outside" if outside else name
    program(factory)


def appended(c):
    for v in c:
        if len(c) < 4:
            c.append(v + 1)
    return sum(c)


def extended(c):
    c.extend((c[-1] if c else 0) + i for i in range(3))
    return sum(c)


def extended_left(c):
    c.extendleft((c[0] if c else 0) + i for i in range(3))
    return sum(c)


def added_in_place(c):
    c += ((c[-1] if c else 0) + i for i in range(3))
    return sum(c)


def updated(c):
    c.update((str(i), len(c)) for i in range(3))
    return sum(c.values())


def grown(c):
    c.update(len(c) + 5 for _ in range(3))
    return sum(c)


def numbered(c):
    total = 0
    for i, v in enumerate(c):
        if len(c) < 4:
            c.append(v + i)
        total += v
    return total


def later_items(c):
    c["z"] = 1
    total = 0
    for k, v in c.items():
        if k != "z":
            c["z"] = total + 10
        total += v
    return total


def keys_after(c):
    keys = c.keys()
    c["new"] = 2
    return len(keys) + ("new" in keys) + len(list(keys)) + (keys == {"a", "new"})


def values_after(c):
    values, items = c.values(), c.items()
    c["a"] = 5
    return sum(values) + max(values) + dict(items)["a"] + (("a", 5) in items)


def advanced(c):
    steps = iter(c)
    first = next(steps, 0)
    c.append(7)
    return first + next(steps)


def zipped(c):
    pairs = zip(c, "abcd")
    first = next(pairs, (0,))[0]
    c.append(9)
    return first + next(pairs)[0]


def refused(c):
    try:
        for v in c:
            c.add(v + 1)
    except RuntimeError:
        return 100
    return len(c)


for of in (False, True):
    changes("list_appended", lambda: [1], appended, outside=of)
    changes("list_extended_by_its_items", lambda: [1], extended, outside=of)
    changes("deque_extended_left", lambda: collections.deque([1]), extended_left, outside=of)
    changes("list_added_in_place", lambda: [1], added_in_place, outside=of)
    changes("dict_updated_by_its_length", lambda: {"a": 1}, updated, outside=of)
    changes("set_updated_by_its_length", lambda: {1}, grown, outside=of)
    changes("list_numbered", lambda: [1], numbered, outside=of)
    changes("items_assigned_later", lambda: {"a": 1}, later_items, outside=of)
    changes("keys_of_a_changed_dict", lambda: {"a": 1}, keys_after, outside=of)
    changes("values_of_a_changed_dict", lambda: {"a": 1}, values_after, outside=of)
    changes("iterator_of_a_changed_list", lambda: [1, 2], advanced, outside=of)
    changes("pairs_of_a_changed_list", lambda: [1, 2], zipped, outside=of)
    changes("set_that_grows", lambda: {1}, refused, outside=of)


@program
def generator_left_early():
    seen = []

    def numbers():
        for i in (1, 2, 3):
            seen.append(i)
            yield i

    def fn(x):
        return x + {2, 4}.isdisjoint(numbers()) + len(seen)

    return Case(fn, seen.clear)


@program
def filled_by_code_with_effects():
    kept, seen = [1], []

    def numbers():
        for i in (1, 2):
            seen.append(len(kept))
            yield i

    def fn(x):
        kept.extend(numbers())
        return x + len(seen)

    return Case(fn, seen.clear)


def proxied(name, use):
    """A program that reads a mapping through a read-only view."""

    def factory():
        held = {"k": 2.0, "j": 1.0}
        proxy = types.MappingProxyType(held)

        def fn(x):
            return x * use(proxy)

        return Case(fn, *item(held, "k", 3.0, 2.0), lambda: held.pop("j", None))

    factory.__name__ = name
    program(factory)


proxied("proxy_values", lambda p: sum(p.values()))
proxied("proxy_items", lambda p: sum(v for _, v in p.items()))
proxied("proxy_get", lambda p: p.get("k"))
proxied("proxy_iterated", lambda p: len([k for k in p]) + p["k"])
proxied("proxy_copied", lambda p: sum(dict(p).values()))
proxied("proxy_length", len)
proxied("proxy_contains", lambda p: 2 if "j" in p else 3)


@program
def name_in_the_dict_of_a_class():
    class Settings:
        k = 2.0

    def fn(x):
        try:
            x = x * Settings.__dict__["late"]
        except KeyError:
            x = x + 1
        return x + len(Settings.__dict__) if "late" in Settings.__dict__ else x * 2

    return Case(fn, lambda: setattr(Settings, "late", 3.0), lambda: delattr(Settings, "late"))


class Hidden:
    """A property over an attribute of the same name in the object's dict."""

    def __init__(self):
        self.__dict__["k"] = 1.0

    @property
    def k(self):
        return self.__dict__["k"]


@program
def property_over_its_own_name():
    def fn(x, o):
        o.__dict__["k"] = o.__dict__["k"] + 1
        return x * o.__dict__["k"]

    held = Hidden()
    return Case(fn, lambda: None, args=lambda n: (*vector(n), held))
