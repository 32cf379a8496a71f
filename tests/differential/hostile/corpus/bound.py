"""Methods in C that leave a program: each is bound to the object of its own run."""

from __future__ import annotations

import collections
import functools

import torch

from tests.differential.hostile.program import Box, body


@body()
def a_list_and_its_method(x):
    s = []
    return x + 1, s, s.append


@body()
def a_method_before_its_list(x):
    s = [1]
    return s.append, x + 1, s


@body(drive=lambda f, x: (lambda r: (r[1](5), r[0], r[1].__self__ is r[0]))(f(x)))
def a_method_is_called_outside(x):
    s = [x.shape[0]]
    return s, s.append


@body(drive=lambda f, x: (lambda r: (r(5), r(x), r.__self__))(f(x)))
def only_the_method(x):
    s = [x * 2]
    return s.append


@body(drive=lambda f, x: (lambda r: (r[0]("k", 0), r[0]("q", 3), r[1]))(f(x)))
def a_method_of_a_dict(x):
    d = {"k": x.shape[0]}
    return d.get, d


STATE = Box(push=None, items=None)


@body(drive=lambda f, x: (f(x), STATE.push(7), STATE.items))
def a_method_stored_outside(x):
    items = [x.shape[0]]
    STATE.items = items
    STATE.push = items.append
    items.append(2)
    return x * 2


@body(drive=lambda f, x: (lambda r: (r["add"](7), sorted(map(str, r["set"]))))(f(x)))
def methods_in_a_dict(x):
    s = set()
    s.add(x.shape[0])
    return {"add": s.add, "set": s}


@body(drive=lambda f, x, l: (lambda r: (r(9), l))(f(x, l)), args=lambda n: (torch.ones(n), [n]))
def a_method_of_an_argument(x, l):
    l.append(3)
    return l.append


@body(drive=lambda f, x: (lambda r: (r(), r() if len(r.__self__) else None))(f(x)))
def a_method_of_a_deque(x):
    d = collections.deque([x.shape[0], 2, 3])
    d.append(4)
    return d.pop


@body(drive=lambda f, x: (lambda r: (r(0), r.__self__))(f(x)))
def a_slot_of_a_list(x):
    l = [x + 1, 2]
    return l.__getitem__


@body(drive=lambda f, x: (lambda r: (r(3), r.args[0], len(r.func.__self__)))(f(x)))
def a_partial_of_a_method(x):
    l = []
    return functools.partial(l.insert, 0)


class Holder:
    def __init__(self, items):
        self.items = items
        self.push = items.append


@body(drive=lambda f, x: (lambda h: (h.push(5), h.items))(f(x)))
def an_object_with_a_method_in_c(x):
    return Holder([x.shape[0]])


@body(drive=lambda f, x: (lambda h: (list(h), h))(f(x)))
def a_map_over_a_method(x):
    seen = []
    return map(seen.append, [1, 2])


@body(drive=lambda f, x: f(x)())
def a_method_of_the_input(x):
    return x.sum


@body()
def lists_twice_empty(x):
    l = []
    return x + 1, l, l, {"a": l}


@body()
def key_of_sort(x):
    order = {"b": 1, "a": 2}
    return x + 1, sorted(order, key=order.get), max(order, key=order.__getitem__), order.get


LOG = []
PUSH = LOG.append


@body()
def a_method_from_outside(x):
    PUSH(x.shape[0])
    return x * len(LOG), PUSH


@body(drive=lambda f, x: (lambda r: (r(), r.__self__))(f(x)))
def a_method_of_text(x):
    return f"n={x.shape[0]}".upper


@body()
def pieces_with_methods(x):
    count = 0
    seen = set()
    add = seen.add
    get = {}.get
    print(end="")
    add(x.shape[0])
    try:
        exec("pass")
    except Exception:
        pass
    add(7)
    return x + 1, sorted(seen), get(1)


@body(drive=lambda f, x: (lambda r: (r["a"](), r["b"](), r["c"](0), r["c"].__name__))(f(x)))
def methods_of_results(x):
    y = x * 2
    return {"a": y.relu, "b": y.sum, "c": y.size}


@body(drive=lambda f, x: (f(x), STATE.push()))
def a_method_of_a_result_is_stored(x):
    y = x * 2
    STATE.push = y.exp
    return y
