"""Every op of torch's own database, traced and compared with eager execution.

    python -m tests.differential.op_db [name ...] [--dtype float32] [--write]

An op passes for a kind of size ("backed" or "unbacked": every size of at least 2) when all its
samples are traced in one graph, the generated program gives what eager gives (values, shapes, dtypes
and strides), and each intermediate is as predicted. Programs are then run on resized inputs too:
there they must agree with eager or refuse.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from anyshape.errors import AnyshapeError
from anyshape.trace import capture
from tests.differential.replay import Replay

TABLE = Path(__file__).with_name("op_db.json")
KINDS = ("backed", "unbacked")
SAMPLES = 8
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
# Their values are whatever lies in memory.
EMPTY = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
}  # fmt: skip


def database() -> dict[str, Any]:
    """The ops by their full names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations as invocations
    # Their own seeding would be traced; the random state is set here.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    op_db = invocations.op_db
    return {
        op.name + (f".{op.variant_test_name}" if op.variant_test_name else ""): op for op in op_db
    }


def dtype_for(op: Any) -> torch.dtype | None:
    """float32, or the first other dtype that the op takes on the CPU."""
    supported = op.supported_dtypes("cpu")
    return next((d for d in DTYPES if d in supported), None)


class Call:
    """One sample as a function of its tensors."""

    def __init__(self, op: Any, sample: Any) -> None:
        self.op = op
        leaves, self.spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
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
    torch.manual_seed(0)
    try:
        return call(*tensors)
    except AnyshapeError:
        raise
    except Exception as e:  # what eager refuses, the program may refuse too
        return e


def difference(name: str, actual: Any, expected: Any) -> str:
    """What differs between two results; empty for nothing."""
    a, spec_a = pytree.tree_flatten(actual)
    b, spec_b = pytree.tree_flatten(expected)
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


def run_sample(name: str, op: Any, sample: Any, kind: str, counts: Any) -> str:
    """What is wrong with one sample; empty for nothing."""
    call = Call(op, sample)
    if any(t.layout is not torch.strided for t in call.tensors):
        return ""
    expected = seeded(call, copies(call.tensors))
    if isinstance(expected, Exception):
        return ""
    choose = lambda spot: kind if spot.dim is not None and spot.value >= 2 else "static"  # noqa: E731
    try:
        captured = capture(call, tuple(copies(call.tensors)), dynamic=choose)
        actual = seeded(captured, copies(call.tensors))
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
    if isinstance(actual, Exception):
        return f"run: {type(actual).__name__}: {actual}"
    wrong = difference(name, actual, expected)
    if wrong:
        return wrong
    torch.manual_seed(0)
    predicted = Replay(captured, copies(call.tensors)).run()
    if predicted:
        return f"prediction: {predicted[0]}"
    for by in (1, 3):
        try:
            big = resized(call.tensors, by)
        except Exception:
            continue
        expected = seeded(call, copies(big))
        try:
            actual = seeded(captured, copies(big))
        except AnyshapeError:
            counts["refused" if not isinstance(expected, Exception) else "both refuse"] += 1
            continue
        if isinstance(expected, Exception):
            if not isinstance(actual, Exception):
                return f"resized: a result where eager raises {type(expected).__name__}: {str(expected).splitlines()[0]}"
            continue
        counts["resized"] += 1
        if isinstance(actual, Exception):
            return f"resized: {type(actual).__name__}: {str(actual).splitlines()[0]}"
        wrong = difference(name, actual, expected)
        if wrong:
            return f"resized: {wrong}"
    return ""


def run_op(name: str, op: Any, dtype: torch.dtype, kind: str, counts: Any) -> str:
    """ "pass", or what went wrong first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES * 4))
        except Exception as e:
            return f"no samples: {type(e).__name__}"
        for sample in samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]:
            wrong = run_sample(name, op, sample, kind, counts)
            if wrong:
                return wrong
    return "pass"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kind", default="unbacked", choices=(*KINDS, "both"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ops = database()
    place, parts = map(int, options.part.split("/"))
    table: dict[str, Any] = {}
    counts: Any = collections.Counter()
    slow: list[tuple[float, str]] = []
    kinds = KINDS if options.kind == "both" else (options.kind,)
    for i, (name, op) in enumerate(ops.items()):
        if i % parts != place or (
            options.names
            and not any(
                n == name or (n.endswith("*") and name.startswith(n[:-1])) for n in options.names
            )
        ):
            continue
        dtype = dtype_for(op)
        if dtype is None:
            continue
        for kind in kinds:
            start = time.perf_counter()
            found = run_op(name, op, dtype, kind, counts)
            slow.append((time.perf_counter() - start, name))
            table.setdefault(name, {})[kind] = found
            if found != "pass":
                print(f"{name} [{kind}]: {found[:200]}", flush=True)
    for kind in kinds:
        passed = sum(row[kind] == "pass" for row in table.values())
        print(f"{kind}: {passed} of {len(table)} pass", dict(counts))
    print("slowest:", [f"{n} {t:.1f}s" for t, n in sorted(slow, reverse=True)[:8]])
    if options.write:
        TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
