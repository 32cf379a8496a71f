"""Our metadata against torch's fake kernels, on every op of torch's database.

    python -m tests.differential.fake_kernels [name ...] [--column backed ...] [--way aten ...]

Two ways. "call": every recorded call of a trace is made on fake tensors, and what the trace
predicts of its results is compared with what torch's fake kernels give. "aten": the trace is a
program of torch, and the `val` of every node of it is compared with what the fake kernel of its op
gives. In both, the operands are fakes of what eager execution has there, so that sizes are concrete
and a difference is that of one op. What is compared is what the table of ops says to pass.

Eager execution has the last word: where torch's fake kernel differs from it and our metadata does
not, the op is in `wrong_in_torch.py` with the reason.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import json
import logging
import warnings
from typing import Any, Final, NamedTuple

import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

from anyshape.errors import AnyshapeError, UnsupportedError
from anyshape.interop.aten.program import CONSTANT, NamedTensor, to_exported_program
from anyshape.tensor.layout import is_certain, strides_of
from anyshape.torch_compat.aten_op import qualified_name
from anyshape.trace.graph.graph import Value, leaves, op_name
from anyshape.trace.mode.execution_modes import keep_modes
from tests.differential.op_db import (
    COLUMNS,
    TABLE,
    TABLE_SAMPLES,
    call_of,
    copies,
    database,
    dtype_for,
    seed_cpu,
    seeded,
    trace,
)
from tests.differential.replay import Replay
from tests.differential.wrong_in_torch import KNOWN, Known

WAYS: Final = ("call", "aten")
_LISTED: Final = {(known.op, known.what) for known in KNOWN}
# The column "small" is "unbacked" at other sizes.
TRACED: Final = tuple(column for column in COLUMNS if column != "small")


class Difference(NamedTuple):
    """What an op is otherwise than torch's fake kernel says, and who is right."""

    op: str
    what: str  # "shape", "dtype", "device", "strides", "error" of torch, or "refused" by us
    text: str
    eager_agrees: bool  # with us


class Form(NamedTuple):
    """What is compared of a tensor: its sizes, strides, dtype and device. A size of None is any."""

    shape: tuple[int | None, ...]
    dtype: torch.dtype
    device: torch.device
    strides: tuple[int, ...] | None

    @classmethod
    def of(cls, t: torch.Tensor) -> Form:
        known = all(type(n) is int for n in (*t.shape, *t.stride()))
        shape = tuple([n if type(n) is int else None for n in t.shape])
        return cls(shape, t.dtype, t.device, tuple(t.stride()) if known else None)

    def differs(self, other: Form) -> str:
        """What differs; empty for nothing. Strides count where there are several elements."""
        pairs = list(zip(self.shape, other.shape, strict=False))
        if len(self.shape) != len(other.shape) or any(
            m != n and m is not None and n is not None for m, n in pairs
        ):
            return "shape"
        if self.dtype is not other.dtype:
            return "dtype"
        if self.device != other.device:
            return "device"
        if self.strides is None or other.strides is None or 0 in self.shape:
            return ""
        steps = zip(self.shape, self.strides, other.strides, strict=True)
        return "strides" if any(n != 1 and a != b for n, a, b in steps) else ""


def name_of(func: Any) -> str:
    """The name of an op, of which an overload or a method may be called."""
    return (qualified_name(func) or op_name(func)).removeprefix("aten::").removeprefix("Tensor.")


def fakes_of(mode: FakeTensorMode, x: Any) -> Any:
    """Arguments with a fake tensor of the same form for every tensor."""
    return pytree.tree_map_only(torch.Tensor, mode.from_tensor, x)


def fake_call(func: Any, args: Any, kwargs: Any) -> Any:
    """What a call gives over torch's fake kernels, or the error."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
    args, kwargs = fakes_of(mode, (args, kwargs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with mode:
                return func(*args, **kwargs)
        except Exception as e:  # what eager execution does not raise, as the caller finds out
            return e


def compared(op: str, ours: Form, fake: Any, real: torch.Tensor) -> list[Difference]:
    """How our form of a result differs from the fake one."""
    if not isinstance(fake, torch.Tensor):
        return [Difference(op, "shape", f"a tensor, torch's fake is {type(fake).__name__}", True)]
    torchs, eager = Form.of(fake), Form.of(real)
    what = ours.differs(torchs)
    if not what:
        return []
    text = f"{ours}, torch's fake kernel: {torchs}, eager: {eager}"
    return [Difference(op, what, text, not ours.differs(eager))]


# ---------------------------------------------------------------------- recorded calls


class CallCheck(Replay):
    """A run of a trace on real tensors, with every call made on fakes as well."""

    def __init__(self, captured: Any, flat: list[Any]) -> None:
        super().__init__(captured, flat)
        self.found: list[Difference] = []

    def check(self) -> list[Difference]:
        late: list[Any] = []
        with keep_modes():
            for node in self.captured.graph.nodes:
                args, kwargs = self.real(node.args), self.real(node.kwargs)
                fake = None
                if any(type(x) is Value for x in leaves(node.outs)):
                    fake = fake_call(node.func, args, kwargs)
                self.bind(node.outs, node.func(*args, **kwargs))
                late.append((name_of(node.func), node.outs, fake))
                late = [one for one in late if not self.done(*one)]
        assert not late
        return self.found

    def done(self, op: str, outs: Any, fake: Any) -> bool:
        """Compare the results of a call, unless a size of theirs is not known yet."""
        if isinstance(fake, Exception):
            self.found.append(refused_by_torch(op, fake))
            return True
        try:
            self.results(op, outs, fake)
        except KeyError:
            return False
        return True

    def results(self, op: str, outs: Any, fake: Any) -> None:
        if type(outs) is Value:
            meta = outs.meta
            strides = self.real(tuple(strides_of(meta))) if is_certain(meta) else None
            ours = Form(self.real(tuple(meta.shape)), meta.dtype, meta.device, strides)
            self.found += compared(op, ours, fake, self.values[outs])
        elif type(outs) is tuple and isinstance(fake, tuple | list):
            for part, f in zip(outs, fake, strict=True):
                self.results(op, part, f)


def refused_by_torch(op: str, e: Exception) -> Difference:
    return Difference(op, "error", f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}", True)


# ---------------------------------------------------------------------- programs of torch


class AtenCheck(torch.fx.Interpreter):
    """A run of a program of torch on real tensors, with every op called on fakes as well."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.found: list[Difference] = []
        self.symbols: dict[Any, int] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        fake = None
        if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if has_tensors(n.meta["val"]):
                fake = fake_call(n.target, args, kwargs)
        real = super().run_node(n)
        val = n.meta.get("val")
        self.learn(val, real)
        if isinstance(fake, Exception):
            self.found.append(refused_by_torch(name_of(n.target), fake))
        elif fake is not None:
            self.results(name_of(n.target), val, fake, real)
        return real

    def learn(self, val: Any, real: Any) -> None:
        """Take the values of symbols that a node shows."""
        if isinstance(val, torch.Tensor):
            for n, size in zip(val.shape, real.shape, strict=False):
                self.learn(n, size)
        elif isinstance(val, torch.SymInt | torch.SymFloat) and val.node.expr.is_Symbol:
            self.symbols.setdefault(val.node.expr, real)
        elif isinstance(val, tuple | list):
            for v, r in zip(val, real, strict=True):
                self.learn(v, r)

    def results(self, op: str, val: Any, fake: Any, real: Any) -> None:
        if isinstance(val, torch.Tensor):
            shape, strides = [[self.value(n) for n in x] for x in (val.shape, val.stride())]
            ours = Form(tuple(shape), val.dtype, val.device, tuple(strides))
            self.found += compared(op, ours, fake, real)
        elif isinstance(val, tuple | list):
            for v, f, r in zip(val, fake, real, strict=True):
                self.results(op, v, f, r)

    def value(self, n: Any) -> int:
        return n if type(n) is int else int(n.node.expr.xreplace(self.symbols))


def has_tensors(val: Any) -> bool:
    return any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(val))


def check_aten(captured: Any, flat: list[Any]) -> list[Difference]:
    """How a trace as a program of torch differs from torch's fake kernels."""
    constants = [t for _, t in captured.graph.constants]
    named = [NamedTensor(f"held_{i}", CONSTANT, t, False) for i, t in enumerate(constants)]
    made = to_exported_program(captured, named, "Module")
    check = AtenCheck(made.graph_module)
    given = [s.target for s in made.graph_signature.input_specs if s.target is not None]
    plain = [made.constants[name] for name in given]
    check.run(*plain, *flat)
    return check.found


# ---------------------------------------------------------------------- all


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """What passes, which alone is compared."""
    found: dict[str, dict[str, str]] = json.loads(TABLE.read_text())
    return found


def check_op(
    name: str, op: Any, column: str, way: str, count: int | None = None
) -> list[Difference] | None:
    """The differences of an op; None where there is nothing to compare."""
    dtype = dtype_for(op, column)
    if dtype is None or table().get(name, {}).get(column) != "pass":
        return None
    count = TABLE_SAMPLES[column] if count is None else count
    found: list[Difference] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed_cpu()
        try:
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 32))
        except Exception:  # that of the table of what passes
            return None
        for sample in samples[:: max(1, len(samples) // count)][:count]:
            call = call_of(op, sample, column)
            if call is None or isinstance(seeded(call, copies(call.tensors)), Exception):
                continue
            found = found or []
            try:
                captured = trace(call, "backed" if column == "backed" else "unbacked")
            except AnyshapeError as e:  # the table says that it passes, of fewer samples
                found.append(Difference(name, "not traced", str(e).splitlines()[0], False))
                continue
            seed_cpu()
            tensors = copies(call.tensors)
            if way == "call":
                found += CallCheck(captured, tensors).check()
            else:
                try:
                    found += check_aten(captured, tensors)
                except UnsupportedError as e:
                    found.append(Difference(name, "refused", str(e), True))
    return found


def unknown(found: list[Difference]) -> list[Difference]:
    """The differences that are not listed as torch's, each once."""
    return [d for d in dict.fromkeys(found) if not (d.eager_agrees and (d.op, d.what) in _LISTED)]


def shows(known: Known) -> bool:
    """Whether a difference that is listed is still there."""
    name, column, way = known.shown_by.split()
    found = check_op(name, database()[name], column, way) or []
    return any((d.op, d.what) == (known.op, known.what) and d.eager_agrees for d in found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--column", nargs="*", default=list(TRACED), choices=TRACED)
    parser.add_argument("--way", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    torch.set_num_threads(1)
    place, parts = map(int, options.part.split("/"))
    logging.disable(logging.ERROR)  # torch's own, of kernels that fail
    counts: Any = collections.Counter()
    for i, (name, op) in enumerate(database().items()):
        if i % parts != place or (options.names and name not in options.names):
            continue
        for column, way in itertools.product(options.column, options.way):
            found = check_op(name, op, column, way)
            if found is None:
                continue
            counts["calls"] += 1
            counts["torch's"] += len(dict.fromkeys(found)) - len(unknown(found))
            for d in unknown(found):
                counts["wrong"] += 1
                who = "torch" if d.eager_agrees else "ours"
                print(f"{name} [{column} {way}] {who}: {d.op} {d.what}: {d.text}", flush=True)
    gone = [known for known in KNOWN if not options.names and place == 0 and not shows(known)]
    for known in gone:
        print(f"{known.op} {known.what} is listed and no longer differs: {known.shown_by}")
    print(dict(counts))
    if counts["wrong"] or gone:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
