"""What C calls besides functions: methods of containers, partials, classes, caches, modules."""

import bisect
import collections
import contextvars
import functools
import heapq
import itertools
import json
import logging
import operator
import os
import re
import shutil
import sys
import tempfile
import warnings

import torch

from tests.differential.hostile.program import Box, Case, attribute, body, item, program

STATE = Box(k=2, order=[3, 1, 2], rows={"a": 3, "b": 1, "c": 2}, kept=[], flag=False)
MORE = item(STATE.order, 0, 0, 9)


class Rank:
    made = 0

    def __init__(self, i):
        Rank.made += 1
        self.at = STATE.order[i]

    def __lt__(self, other):
        return self.at < other.at


class Fields(dict):
    def __init__(self, given):
        super().__init__(given)
        self["k"] = STATE.k


@functools.lru_cache
def ranked(i):
    STATE.kept.append(i)
    return STATE.order[i]


@body(*MORE)
def keys_by_a_method_of_a_list(x):
    at = STATE.order.__getitem__
    return x, sorted(range(3), key=at), max(range(3), key=at), min(range(3), key=at)


@body(*item(STATE.rows, "b", 9, 0))
def keys_by_a_method_of_a_dict(x):
    return x, sorted("abc", key=STATE.rows.get), heapq.nsmallest(2, "abc", key=STATE.rows.get)


@body(*MORE)
def keys_by_a_partial(x):
    at = functools.partial(operator.getitem, STATE.order)
    return x, sorted(range(3), key=at), [k for k, _ in itertools.groupby(range(3), key=at)]


@body(*MORE, looks_at=Rank)
def keys_by_a_class(x):
    return x, sorted(range(3), key=Rank), max(range(3), key=Rank), Rank.made


@body(*MORE)
def keys_by_a_method_of_a_class(x):
    rows = [STATE.order, [1], [7, 8]]
    return x, sorted(rows, key=list.__len__), sorted(rows, key=len), max(rows, key=tuple)


@body(lambda: STATE.order.extend([1, 2]), looks_at=STATE)
def keys_that_take_items(x):
    rows = [STATE.order, [5, 4, 3]]
    return x, sorted(rows, key=list.pop), sorted([1, 2], key=STATE.kept.append), len(STATE.kept)


@body(looks_at=STATE)
def keys_that_print(x):
    return x, sorted([2, 1], key=lambda i: print(i) or i), sorted([2, 1], key=print)


@body(*MORE)
def bisection_by_methods(x):
    at = bisect.bisect_left([0, 1, 2, 3], 2, key=STATE.order.__getitem__) if x.size(0) > 9 else 0
    return x + at, bisect.bisect([0, 1, 2], 1, key=functools.partial(max, STATE.k))


@body(*attribute(STATE, "k", 5, 1))
def hooks_that_are_classes(x):
    made = json.loads('{"a": 1}', object_hook=Fields)
    return x * made["k"], json.dumps({"a": STATE}, default=lambda o: o.k)


@body(*item(STATE.rows, "b", 9, 0))
def substitution_by_a_method(x):
    names = {"a": "x", "b": str(STATE.rows["b"])}
    return x, re.sub("[ab]", lambda m: names[m[0]], "abc"), [*map(names.get, "abz")]


@body(*item(STATE.rows, "b", 9, 0))
def reduction_by_methods(x):
    total = functools.reduce(STATE.rows.get, ["a", "b"], "c")
    return x, total, [*itertools.accumulate("abc", lambda a, b: STATE.rows[b])]


@body(*MORE, looks_at=STATE)
def keys_by_a_cache(x):
    return x, sorted(range(3), key=ranked), ranked.cache_info().currsize


@body(*item(STATE.rows, "b", 9, 0))
def filters_by_methods(x):
    has = {"a", "b"}.__contains__
    return x, [*filter(STATE.rows.__contains__, "abz")], [*itertools.filterfalse(has, STATE.rows)]


@body(*MORE)
def getters_of_an_outside_object(x):
    return x, sorted([0, 1], key=lambda i: operator.itemgetter(i)(STATE.order)), sorted(
        [STATE, Box(k=3)], key=operator.attrgetter("k"))[0].k  # fmt: skip


@program
def factory_that_is_a_method():
    given = iter(range(100))
    made = collections.defaultdict(functools.partial(next, given))

    def f(x):
        return x * made[x.size(0)], dict(made)

    return Case(f, lambda: made.clear(), looks_at=made)


@program
def module_as_a_key():
    m = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(m.weight, -1.0)
    torch.nn.init.zeros_(m.bias)

    def f(x):
        rows = [torch.ones(1), torch.ones(1) * 2]
        return x, torch.cat(sorted(rows, key=m)), max(rows, key=m)

    def flip():
        with torch.no_grad():
            m.weight.neg_()

    return Case(f, flip)


# ---------------------------------------------------------------------- what listens


class Tee:
    def __init__(self, of):
        self.of, self.kept = of, []

    def write(self, text):
        self.kept.append(text)
        return self.of.write(text)

    def flush(self):
        self.of.flush()


@program
def output_that_is_kept():
    tee = Tee(None)

    def f(x):
        print("rows", x.size(0))
        return x * len(tee.kept)

    def drive(g, x):
        tee.of = before = sys.stdout
        sys.stdout = tee
        try:
            return g(x)
        finally:
            sys.stdout, tee.of = before, None

    return Case(f, drive=drive, looks_at=tee)


@program
def warnings_that_are_shown_by_ours():
    kept = []

    def f(x):
        warnings.warn("rows", UserWarning, stacklevel=1)
        return x * len(kept)

    def drive(g, x):
        before = warnings.showwarning
        warnings.showwarning = lambda *a, **b: kept.append(str(a[0]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                return g(x)
        finally:
            warnings.showwarning = before

    return Case(f, drive=drive, looks_at=kept)


@program
def records_that_a_filter_counts():
    log = logging.getLogger(f"hostile.odd.{__name__}")
    log.handlers[:] = [logging.NullHandler()]
    log.propagate = False
    seen = []

    def f(x):
        log.warning("rows %d", x.size(0))
        return x + len(seen)

    def put():
        log.addFilter(lambda record: seen.append(record.msg) or True)

    return Case(f, put, lambda: log.filters.clear(), looks_at=seen)


@program
def records_of_a_parent():
    parent = logging.getLogger(f"hostile.parent.{__name__}")
    child = parent.getChild("child")
    parent.propagate = False
    seen = []

    class Listening(logging.StreamHandler):
        def format(self, record):
            seen.append(record.getMessage())
            return super().format(record)

    handler = Listening(sys.stderr)

    def f(x):
        child.error("rows")
        return x + len(seen)

    return Case(f, lambda: parent.addHandler(handler), lambda: parent.removeHandler(handler),
                looks_at=seen)  # fmt: skip


# ---------------------------------------------------------------------- objects of C, made anew


@body()
def context_made_and_kept_over_a_cut(x):
    held = contextvars.copy_context()
    open("/dev/null").close()
    held.run(VARIABLE.set, held.get(VARIABLE, 0) + 1)
    return x * held[VARIABLE]


VARIABLE = contextvars.ContextVar("VARIABLE", default=1)


@body()
def context_copied_over_a_cut(x):
    held = contextvars.copy_context()
    other = held.copy()
    open("/dev/null").close()
    other.run(VARIABLE.set, other.get(VARIABLE, 0) + 1)
    return x * other[VARIABLE]


@body()
def iterator_of_c_kept_over_a_cut(x):
    found = re.finditer("a", "aaa")
    scan = re.compile("a").scanner("aaa")
    open("/dev/null").close()
    return x, next(found).start(), next(found).start(), scan.search().start()


@body()
def memory_kept_over_a_cut(x):
    view = memoryview(bytearray(b"abc"))
    open("/dev/null").close()
    view[0] += 1
    return x, bytes(view)


@body()
def lock_and_queue_kept_over_a_cut(x):
    import queue
    import threading

    lock, waiting = threading.Lock(), queue.SimpleQueue()
    open("/dev/null").close()
    waiting.put(1)
    return x, lock.acquire(blocking=False), waiting.qsize()


# ---------------------------------------------------------------------- files


def own_folder():
    """An empty folder, the same in each execution of this process."""
    folder = os.path.join(tempfile.gettempdir(), f"anyshape_hostile_{os.getpid()}")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return folder


@program
def file_that_appears():
    folder = own_folder()
    path = os.path.join(folder, "one")

    def f(x):
        return x * 3 if os.path.exists(path) else x + 1, os.path.isdir(folder)

    def make():
        with open(path, "w"):
            pass

    return Case(f, make, lambda: os.remove(path), cleanup=lambda: shutil.rmtree(folder))


@program
def file_that_grows():
    folder = own_folder()
    path = os.path.join(folder, "one")

    def write(text):
        with open(path, "a") as out:
            out.write(text)

    write("a")
    return Case(lambda x: x * os.path.getsize(path), lambda: write("bc"),
                cleanup=lambda: shutil.rmtree(folder))  # fmt: skip
