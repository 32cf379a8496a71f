"""What `export` promises about specs, coverage and what it gives.

A program here is a check that exports a function and complains of what came of it, with eager
execution of that function as the truth. It runs in the mode "export" alone.
"""

import math
import warnings

import torch

import anyshape
from anyshape.errors import AnyshapeError
from tests.differential.hostile.program import Case, program

SIZES = (0, 1, 2, 3, 5, 9, 14, 16, 33, 64, 100)


def promises(check):
    """A program that is right if `check` has no complaint; eager execution does not ask."""

    def factory():
        def fn(x):
            return x * 2

        def drive(call, x):
            if call is fn:
                return call(x), ""
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return call(x), str(check() or "")

        return Case(fn, calls=[lambda: (torch.ones(2),)], drive=drive)

    factory.__name__ = check.__name__
    factory.__module__ = check.__module__
    program(factory)
    return check


def told(make):
    """The warnings of an export, or its error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            return make(), [str(w.message) for w in found]
        except AnyshapeError as e:
            return None, [str(e)]


def refused_sizes(program, fn, make, sizes=SIZES):
    """Sizes that eager takes and the program refuses, or answers otherwise."""
    wrong = []
    for n in sizes:
        want = fn(*make(n))
        try:
            got = program(*make(n))
        except AnyshapeError:
            wrong.append(n)
            continue
        if not torch.equal(got, want):
            wrong.append((n, "differs"))
    return wrong


@promises
def positional_specs_follow_the_signature():
    def fn(a, b, c=None):
        return a.sum() + b.sum() + c.sum()

    args = (torch.ones(2),)
    kwargs = {"c": torch.ones(4), "b": torch.ones(3)}
    program, _ = told(lambda: anyshape.export(fn, args, kwargs, dynamic_shapes=({}, {0: "n"}, {})))
    if program is None:
        return None
    try:
        program(torch.ones(2), b=torch.ones(5), c=torch.ones(4))
    except AnyshapeError as e:
        return f"b is not dynamic: {e}"
    try:
        program(torch.ones(2), b=torch.ones(3), c=torch.ones(7))
    except AnyshapeError:
        return None
    return "c is dynamic"


@promises
def an_argument_left_out_is_reported():
    def fn(x, y):
        return x.sum() + y.sum()

    args = (torch.ones(3), torch.ones(3))
    program, said = told(lambda: anyshape.export(fn, args, dynamic_shapes={"x": {0: "n"}}))
    return None if program is None or said else "y is static without a word"


@promises
def a_typo_in_a_name_is_reported():
    def fn(x, y):
        return x + y

    args = (torch.ones(3), torch.ones(3))
    program, said = told(
        lambda: anyshape.export(fn, args, dynamic_shapes=({0: "batch"}, {0: "bacth"}))
    )
    return None if program is None or said else "two names, and no word"


@promises
def an_example_that_contradicts_a_derived_dim():
    def fn(x, y):
        return x.sum() + y.sum()

    args = (torch.ones(3), torch.ones(5))
    program, said = told(lambda: anyshape.export(fn, args, dynamic_shapes=({0: "n"}, {0: "2*n"})))
    return None if program is None or said else "5 is not twice 3"


@promises
def a_hole_in_a_product():
    def fn(x):
        h, w = x.shape
        return x + 1 if h * w == 196 and h == w else x

    program, said = told(
        lambda: anyshape.export(fn, (torch.ones(3, 4),), dynamic_shapes=({0: "h", 1: "w"},))
    )
    if program is None:
        return None
    x = torch.ones(14, 14)
    try:
        return None if torch.equal(program(x), fn(x)) else "another result"
    except AnyshapeError:
        return None if said or not getattr(program, "is_complete", False) else "refuses 14x14"


def covered(name, fn, make):
    """A named size that is exported is served at every size, or the export says that it is not."""

    def check():
        program, said = told(lambda: anyshape.export(fn, make(5), dynamic_shapes=({0: "n"},)))
        if program is None or said:
            return None
        return refused_sizes(program, fn, make) or None

    check.__name__ = name
    promises(check)


def column(n):
    return (torch.arange(n) + 1.0,)


covered("half_as_a_float", lambda x: x[: int(x.shape[0] / 2)], column)
covered("range_of_a_size", lambda x: x * len(list(range(x.shape[0]))), column)
covered("logarithm_of_a_size", lambda x: x * math.log2(x.shape[0] + 1), column)
covered(
    "sum_over_a_loop", lambda x: sum((x[i] for i in range(x.shape[0])), torch.zeros(())), column
)
covered("parity_of_a_size", lambda x: x if x.shape[0] % 2 else -x, column)
covered("branch_on_a_size", lambda x: x * 2 if x.shape[0] > 4 else x, column)
covered("list_of_sizes", lambda x: x * [1, 2, 3][min(x.shape[0], 2)], column)
covered("text_of_a_size", lambda x: x * len(str(x.shape[0])), column)
covered("key_of_a_size", lambda x: x * {3: 2.0}.get(x.shape[0], 1.0), column)


@promises
def the_fx_graph_speaks_of_all_variants():
    def fn(x):
        z = torch.relu(x)
        return z[z.sum(1) > 0] if x.size(0) > 1 else z

    example = (torch.ones(5, 8),)
    program, _ = told(lambda: anyshape.export(fn, example, dynamic_shapes=({0: "rows"},)))
    if program is None:
        return None
    graph, said = told(program.to_fx)
    if graph is None or said:
        return None
    x = -torch.ones(1, 8)
    try:
        got = graph(x)
    except Exception:
        return None
    got = got[0] if isinstance(got, list | tuple) else got
    return None if got.shape == fn(x).shape else f"{tuple(got.shape)} at one row, and no word"


@promises
def effects_are_refused():
    log = []

    def fn(x):
        log.append(1)
        return x * 2

    program, said = told(lambda: anyshape.export(fn, (torch.ones(3),)))
    if program is None:
        return None if not log else "the export itself has had the effect"
    before = len(log)
    program(torch.ones(3))
    return None if len(log) == before + 1 or said else "the effect is gone, and no word"


@promises
def constants_made_inside_are_new():
    def fn(x):
        b = torch.Tensor([0.0])
        b += x.sum()
        return b * 1

    program, _ = told(lambda: anyshape.export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},)))
    if program is None:
        return None
    return [v for v in (program(torch.ones(3)).item() for _ in range(3)) if v != 3.0] or None


@promises
def saved_files_hold_no_shared_constant():
    import os
    import tempfile

    def fn(x):
        b = torch.FloatTensor([0.0])
        b += x.sum()
        return b * 1

    program, _ = told(lambda: anyshape.export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},)))
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.zip")
        program.save(path)
        loaded = anyshape.load(path)
    return [v for v in (loaded(torch.ones(3)).item() for _ in range(3)) if v != 3.0] or None


@promises
def a_float_that_raises_is_guarded():
    def fn(x, s):
        try:
            return x * (1.0 / s)
        except ZeroDivisionError:
            return x * 100

    program, _ = told(lambda: anyshape.export(fn, (torch.ones(2), 0.0)))
    if program is None:
        return None
    try:
        got = program(torch.ones(2), 2.0)
    except AnyshapeError:
        return None
    return None if torch.equal(got, fn(torch.ones(2), 2.0)) else "the answer of another number"


def strides(name, fn, make, sizes):
    """With `on_deviation="raise"`, strides at sizes 0 and 1 are eager's, or it raises."""

    def check():
        spec = tuple(dict.fromkeys(range(t.dim()), anyshape.Dim.AUTO) for t in make(4))
        program, _ = told(
            lambda: anyshape.export(
                fn, make(4), dynamic_shapes=spec, on_deviation="raise", allow_partial=True
            )
        )
        if program is None:
            return None
        wrong = []
        for n in sizes:
            try:
                got = program(*make(n))
            except AnyshapeError:
                continue
            want = fn(*make(n))
            mine, own = (tuple(t.stride() for t in pair(v)) for v in (got, want))
            if mine != own:
                wrong.append((n, mine, own))
        return wrong or None

    check.__name__ = name
    promises(check)


def pair(v):
    return [t for t in (v if isinstance(v, list | tuple) else [v]) if isinstance(t, torch.Tensor)]


strides(
    "strides_of_an_einsum",
    lambda x: torch.einsum("ij,jk->ik", x.t(), x),
    lambda n: (torch.ones(n, 3),),
    (0, 1, 2),
)
strides("strides_of_a_product", lambda v: v * v, lambda n: (torch.ones(3, n).t(),), (0, 1, 2))
strides(
    "strides_of_a_mesh",
    lambda a: torch.meshgrid(a, a, indexing="ij")[0],
    lambda n: (torch.ones(n),),
    (0, 1, 2),
)
