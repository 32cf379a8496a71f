"""Every op of torch's own database, traced and compared with eager execution.

    python -m tests.differential.op_db [name ...] [--column backed] [--samples 8] [--write]

A column of the table is one way to trace: "backed" and "unbacked" (every size of at least 2 is such
a symbol, float32 or the first dtype the op takes), "int64", "bool" and "complex64" (unbacked sizes,
that dtype), and "small" (below). An op passes where all its samples are traced in one graph, the
generated program gives what eager gives (values, shapes, dtypes and strides), each intermediate is
as predicted, and on resized inputs the program agrees with eager or refuses.

"strided", "inplace" and "out" are as "unbacked", with inputs that do not lie in order, with the
in-place form, and with results that are written into tensors of the right shape.

The table is of fewer samples than the tool takes by itself: those of `TABLE_SAMPLES`.

"small": traced with unbacked sizes, then run with all dimensions of one size made 1 and made 0. The
program must give what eager gives, refuse, or have noted a deviation for it.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import json
import time
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from anyshape.errors import AnyshapeError
from anyshape.expr import evaluate
from anyshape.trace import capture
from tests.differential.replay import Replay

TABLE = Path(__file__).with_name("op_db.json")
COLUMNS = (
    "backed", "unbacked", "small", "strided", "inplace", "out", "int64", "bool", "complex64",
)  # fmt: skip
MAIN = ("backed", "unbacked", "small")
TABLE_SAMPLES = {column: 3 if column in MAIN else 2 for column in COLUMNS}
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
# Their values are whatever lies in memory.
EMPTY = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
    "resize_", "resize_as_",
}  # fmt: skip
# At other sizes, which their indices do not fit, torch itself reads or writes beyond the data.
BEYOND = {
    "nn.functional.embedding_bag", "_segment_reduce.lengths", "_segment_reduce.offsets",
    "max_pool2d_with_indices_backward", "nn.functional.ctc_loss",
    "nn.functional.multi_margin_loss", "nn.functional.multilabel_margin_loss",
}  # fmt: skip


@functools.cache
def database() -> dict[str, Any]:
    """The ops by their full names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations as invocations
        from torch.testing._internal import common_utils
    # Their own seeding would be traced; the random state is set here.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    seed_all = common_utils.set_rng_seed

    def seed_here(seed: int | None = None) -> None:
        with mock.patch.object(torch, "manual_seed", seed_cpu):
            seed_all(seed)

    common_utils.set_rng_seed = seed_here
    op_db = invocations.op_db
    return {
        op.name + (f".{op.variant_test_name}" if op.variant_test_name else ""): op for op in op_db
    }


def seed_cpu(seed: int = 0) -> None:
    """Set the random state of the CPU; that of devices which are not there costs milliseconds."""
    torch.default_generator.manual_seed(seed)


def dtype_for(op: Any, column: str) -> torch.dtype | None:
    """The dtype to trace with; None where the op does not take it on the CPU."""
    supported = op.supported_dtypes("cpu")
    if column in ("int64", "bool", "complex64"):
        dtype = getattr(torch, column)
        first = next((d for d in DTYPES if d in supported), None)
        return dtype if dtype in supported and dtype is not first else None
    return next((d for d in DTYPES if d in supported), None)


class Call:
    """One sample as a function of its tensors."""

    def __init__(self, op: Any, sample: Any) -> None:
        self.op = op
        given = ((sample.input, *sample.args), sample.kwargs)
        leaves, self.spec = pytree.tree_flatten(given)
        self.leaves = leaves
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [leaves[i] for i in self.places]

    def __call__(self, *tensors: Any) -> Any:
        leaves = list(self.leaves)
        for i, t in zip(self.places, tensors, strict=True):
            leaves[i] = t
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(*args, **kwargs)


def copies(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Fresh tensors with the same data and strides; one tensor given twice stays one."""
    made: dict[int, torch.Tensor] = {}
    for t in tensors:
        if id(t) not in made:
            copy = (
                torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) if t.numel() else t.clone()
            )
            if t.numel():
                try:
                    copy.copy_(t)
                except RuntimeError:  # strides that overlap
                    copy = t.clone()
            made[id(t)] = copy
    return [made[id(t)] for t in tensors]


def seeded(call: Any, tensors: list[torch.Tensor]) -> Any:
    """The result of a call with a fixed random state, or the error."""
    seed_cpu()
    try:
        return call(*tensors)
    except AnyshapeError:
        raise
    except Exception as e:  # what eager refuses, the program may refuse too
        return e


def difference(name: str, actual: Any, expected: Any) -> str:
    """What differs between two results; empty for nothing."""
    a, _ = pytree.tree_flatten(actual)
    b, _ = pytree.tree_flatten(expected)
    if len(a) != len(b):
        return f"{len(a)} results for {len(b)}"
    for x, y in zip(a, b, strict=True):
        if isinstance(y, torch.Tensor):
            if not isinstance(x, torch.Tensor):
                return f"{type(x).__name__} for a tensor"
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"{x.dtype} {tuple(x.shape)} for {y.dtype} {tuple(y.shape)}"
            if x.stride() != y.stride():
                return f"strides {x.stride()} for {y.stride()}"
            if name.split(".", maxsplit=1)[0] in EMPTY:
                continue
            try:
                torch.testing.assert_close(x, y, equal_nan=True)
            except AssertionError as e:
                return str(e).splitlines()[0]
        elif x != y and not (x != x and y != y):
            return f"{x!r} for {y!r}"
    return ""


def resized(tensors: list[torch.Tensor], by: int) -> list[torch.Tensor]:
    """The tensors with every size of at least 2 larger by `by`; the data are repeated."""
    result = []
    for t in tensors:
        big = t.detach()
        for d, n in enumerate(t.shape):
            if n >= 2:
                places = torch.arange(n + by) % n
                big = big.index_select(d, places)
        result.append(big.contiguous())
    return result


def one_line(e: BaseException) -> str:
    """An error in a line, without the place in this file."""
    text = (str(e).splitlines() or [""])[0]
    return f"{type(e).__name__}: {text.split(' at op_db.py')[0]}"


def trace(call: Call, kind: str) -> Any:
    """The program for a sample with every size of at least 2 symbolic."""

    def choose(spot: Any) -> str:
        return kind if spot.dim is not None and spot.value >= 2 else "static"

    return capture(call, tuple(copies(call.tensors)), dynamic=choose)


def call_of(op: Any, sample: Any, column: str) -> Call | None:
    """The call that a column is about; None where there is none."""
    if column == "inplace":
        return Call(op.get_inplace(), sample) if op.get_inplace() is not None else None
    call = Call(op, sample)
    if any(t.layout is not torch.strided for t in call.tensors):
        return None
    if column == "strided":
        call.tensors = list(map(out_of_order, call.tensors))
    if column == "out":
        if not op.supports_out:
            return None
        results = seeded(call, copies(call.tensors))
        if not isinstance(results, torch.Tensor | tuple):
            return None
        sample = sample.transform(lambda x: x)
        sample.kwargs["out"] = pytree.tree_map(torch.empty_like, results)
        call = Call(op, sample)
    return call


def out_of_order(t: torch.Tensor) -> torch.Tensor:
    """The same elements with the first dimension innermost."""
    if t.dim() < 2 or not t.is_contiguous():
        return t
    return t.detach().movedim(0, -1).contiguous().movedim(-1, 0)


def run_sample(name: str, op: Any, sample: Any, column: str, counts: Any) -> str | None:
    """What is wrong with one sample; empty for nothing, None where there is no such call."""
    call = call_of(op, sample, column)
    if call is None:
        return None
    expected = seeded(call, copies(call.tensors))
    if isinstance(expected, Exception):
        return None
    try:
        captured = trace(call, "backed" if column == "backed" else "unbacked")
        if column == "small":
            return run_small(name, call, captured, counts)
        actual = seeded(captured, copies(call.tensors))
    except Exception as e:
        return one_line(e)
    if isinstance(actual, Exception):
        return f"run: {one_line(actual)}"
    wrong = difference(name, actual, expected)
    if wrong:
        return wrong
    seed_cpu()
    predicted = Replay(captured, copies(call.tensors)).run()
    if predicted:
        return f"prediction: {predicted[0]}"
    if name in BEYOND:
        return ""
    for by in (1, 3) if column in MAIN else (3,):
        try:
            big = resized(call.tensors, by)
        except Exception:
            continue
        wrong = compare(name, call, captured, big, counts)
        if wrong:
            return f"resized: {wrong}"
    return ""


def compare(name: str, call: Call, captured: Any, tensors: list[Any], counts: Any) -> str:
    """What the program does otherwise than eager on these inputs; it may refuse them."""
    expected = seeded(call, copies(tensors))
    failed = isinstance(expected, Exception)
    try:
        actual = seeded(captured, copies(tensors))
    except AnyshapeError:
        counts["both refuse" if failed else "refused"] += 1
        return ""
    if isinstance(expected, Exception):
        if isinstance(actual, Exception):
            counts["both refuse"] += 1
            return ""
        return f"a result where eager raises {one_line(expected)}"
    counts["compared"] += 1
    if isinstance(actual, Exception):
        return one_line(actual)
    wrong = difference(name, actual, expected)
    if wrong and difference(name, seeded(call, copies(tensors)), expected):
        return ""  # eager reads what lies beyond the data
    return wrong


# ---------------------------------------------------------------------- sizes of 1 and 0


def shrunk(tensors: list[torch.Tensor], size: int, to: int) -> list[torch.Tensor]:
    """The tensors with every dimension of `size` cut to `to`."""
    result = []
    for t in tensors:
        small = t.detach()
        for d, n in enumerate(t.shape):
            if n == size:
                small = small.narrow(d, 0, to)
        result.append(small.contiguous() if t.is_contiguous() else small.clone())
    return result


def run_small(name: str, call: Call, captured: Any, counts: Any) -> str:
    """What differs silently at sizes of 1 and 0."""
    sizes = sorted({n for t in call.tensors for n in t.shape if n >= 2})
    for size, to in itertools.product(sizes, (1, 0)):
        small = shrunk(call.tensors, size, to)
        wrong = compare(name, call, captured, small, counts)
        wrong = wrong or predicted_wrong(captured, small)
        if wrong and not deviates(captured, small):
            return f"{size} -> {to}: {wrong}"
    return ""


def predicted_wrong(captured: Any, tensors: list[torch.Tensor]) -> str:
    """What an intermediate is otherwise than predicted, where the program runs."""
    try:
        captured(*copies(tensors))
        seed_cpu()
        wrong = Replay(captured, copies(tensors)).run()
    except Exception:  # compared already
        return ""
    return f"prediction: {wrong[0]}" if wrong else ""


def deviates(captured: Any, tensors: list[torch.Tensor]) -> bool:
    """Whether a noted deviation is about these inputs."""
    symbols = {bind.name: bind.read(tensors) for bind in captured.inputs.binds}
    for deviation in captured.deviations:
        try:
            if evaluate(deviation.condition, symbols):
                return True
        except KeyError:  # about a size that only the run knows
            return True
    return False


# ---------------------------------------------------------------------- all


def run_op(name: str, op: Any, column: str, counts: Any, count: int | None = None) -> str | None:
    """ "pass", or what went wrong first; None where the op has no such form or dtype."""
    count = TABLE_SAMPLES[column] if count is None else count
    dtype = dtype_for(op, column)
    if dtype is None or (column == "small" and name in BEYOND):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            seed_cpu()
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 32))
        except Exception as e:
            return f"no samples: {type(e).__name__}"
        applies = False
        for sample in samples[:: max(1, len(samples) // count)][:count]:
            wrong = run_sample(name, op, sample, column, counts)
            if wrong:
                return wrong
            applies |= wrong is not None
    return "pass" if applies else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--column", nargs="*", default=["unbacked"], choices=(*COLUMNS, "all"))
    parser.add_argument("--kind", choices=("backed", "unbacked", "both"))
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--write", action="store_true", help="all ops and columns into the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    columns = COLUMNS if options.write or "all" in options.column else options.column
    if options.kind:
        columns = ("backed", "unbacked") if options.kind == "both" else (options.kind,)
    samples = None if options.write else options.samples
    place, parts = map(int, options.part.split("/"))
    table: dict[str, Any] = {}
    counts: Any = collections.Counter()
    slow: list[tuple[float, str]] = []
    for i, (name, op) in enumerate(database().items()):
        wanted = not options.names or any(
            n == name or (n.endswith("*") and name.startswith(n[:-1])) for n in options.names
        )
        if i % parts != place or not wanted:
            continue
        for column in columns:
            start = time.perf_counter()
            found = run_op(name, op, column, counts, samples)
            slow.append((time.perf_counter() - start, name))
            if found is None:
                continue
            table.setdefault(name, {})[column] = found
            if found != "pass":
                print(f"{name} [{column}]: {found[:200]}", flush=True)
    for column in columns:
        rows = [row[column] for row in table.values() if column in row]
        print(f"{column}: {rows.count('pass')} of {len(rows)} pass", dict(counts))
    print("slowest:", [f"{n} {t:.1f}s" for t, n in sorted(slow, reverse=True)[:8]])
    if options.write:
        TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
