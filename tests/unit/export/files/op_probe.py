"""Calls every op that a file may name with absurd arguments; reports crashes and foreign memory.

    python -m tests.unit.export.files.op_probe [--calls 25] [--seed 0] [--only NAME ...]

Arguments are those of torch's own samples with some of them replaced, or made up from the schema of
the op: huge and negative sizes, strides, offsets and indices, NaN, None, other types and ranks. The
tensors end or begin at a page that must not be touched. Calls run in forked processes; the one that
dies names its last call. The last line is JSON: crashes, results outside their storage, statistics.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import json
import math
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from anyshape.errors import LoadError
from anyshape.export.files import callable_ops
from anyshape.export.files.guarded_op import guarded, unguarded
from anyshape.torch_compat.aten_op import all_op_names, schemas_named
from tests.differential.op_db import database

PAGE = mmap.PAGESIZE
ROOM = 1 << 30  # bytes that a call may allocate
PATIENCE = 1.5  # seconds for a call
SAMPLES = 3  # of each op of torch's database
KEPT = 10  # sample calls of each function
LIBC = ctypes.CDLL(None)
INTS = [-(2**63), 2**63 - 1, -(2**31), 2**31, 2**32 + 1, 2**40, 2**20, 1000, 100, 7, 5]
INTS += [3, 2, 1, 0, -1, -2, -7, -100]
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -1.0, 1.0, 0.5, 1e308, -1e308, 1e-320, 1e10]
TEXTS = ["", "none", "sum", "mean", "max", "trunc", "floor", "x"]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8]
DTYPES += [torch.complex64, torch.bfloat16, torch.float16, torch.int8, torch.int16]
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (2,), (3,), (2, 3), (3, 3), (0, 3), (3, 0), (1, 1)]
SHAPES += [(2, 3, 4), (1, 0, 2), (2, 2, 2), (1, 2, 5, 5), (2, 1, 3, 3), (1, 1, 2, 3, 3)]
PLAIN = (int, float, bool, str, complex, type(None), torch.dtype, torch.memory_format)


# ---------------------------------------------------------------------- what is called


def targets() -> dict[str, Any]:
    """The functions by the names that a file may have, as a loaded program calls them."""
    found = dict(callable_ops._table())
    ops = {full[6:].partition(".")[0] for full in all_op_names() if full.startswith("aten::")}
    for op in sorted(ops):
        packet = getattr(torch.ops.aten, op, None)
        for overload in () if packet is None else packet.overloads():
            path = f"torch.ops.aten.{op}.{overload}"
            with contextlib.suppress(LoadError):
                callable_ops.find(f"torch.ops.aten.{op}")
                found[path] = callable_ops.find(path)
    return {name: guarded(func) for name, func in found.items()}


def stem(name: str) -> str:
    """The name of the op that a function calls."""
    parts = name.split(".")
    if name.startswith("torch.ops."):
        return parts[3]
    prefix = f"{parts[-2]}_" if parts[-2] in ("linalg", "fft", "special") else ""
    return parts[-1] if parts[-1].startswith(prefix) else prefix + parts[-1]


class _Functions(TorchFunctionMode):
    def __init__(self, calls: list[Any]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((_name(func), args, kwargs or {}))
        return func(*args, **(kwargs or {}))


class _Ops(TorchDispatchMode):
    def __init__(self, calls: list[Any]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((_name(func), args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def _name(func: Any) -> str:
    return callable_ops._names().get(func) or callable_ops.path_of(func) or "?.?.?.?"


def samples() -> dict[str, list[Any]]:
    """Valid calls by the name of their op, from torch's own database."""
    found: dict[str, list[Any]] = {}
    for op in database().values():
        supported = op.supported_dtypes("cpu")
        for dtype in [d for d in (torch.float32, torch.int64, torch.bool) if d in supported][:1]:
            try:
                given = list(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES))
            except Exception:
                continue
            for sample in given:
                calls: list[Any] = []
                # where one raises, the calls before it count
                with contextlib.suppress(Exception), _Functions(calls), _Ops(calls):
                    op.op(sample.input, *sample.args, **sample.kwargs)
                for name, args, kwargs in calls[:40]:
                    kept = found.setdefault(stem(name), [])
                    if len(kept) < KEPT and _is_plain((args, kwargs)):
                        kept.append(pytree.tree_map_only(torch.Tensor, _detached, (args, kwargs)))
    return found


def _detached(t: torch.Tensor) -> torch.Tensor:
    return t.detach().clone(memory_format=torch.preserve_format)


def _is_plain(call: Any) -> bool:
    return all(
        isinstance(x, PLAIN)
        or (isinstance(x, torch.Tensor) and x.numel() <= 4096 and x.layout is torch.strided)
        for x in pytree.tree_leaves(call)
    )


# ---------------------------------------------------------------------- absurd arguments


class Absurd:
    """Makes arguments by a seed."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        torch.manual_seed(self.rng.randrange(1 << 30))

    def tensor(self, dtype: Any = None, shape: Any = None) -> torch.Tensor:
        """A tensor of any kind."""
        rng = self.rng
        dtype = dtype if dtype in DTYPES else rng.choice(DTYPES)
        shape = rng.choice(SHAPES) if shape is None else shape
        if dtype.is_floating_point or dtype.is_complex:
            made = torch.randn(shape) * rng.choice([1, 100, 1e10])
            if rng.random() < 0.2:
                made = torch.full(shape, rng.choice(FLOATS))
        else:
            made = torch.randint(-1, 4, shape)
            if made.numel() and rng.random() < 0.5:
                made.view(-1)[rng.randrange(made.numel())] = rng.choice(INTS)
            if rng.random() < 0.2:
                made.fill_(rng.choice(INTS))
        made = made.to(dtype)
        if shape and rng.random() < 0.2:
            made = made.transpose(0, -1)
        return made.unsqueeze(0).expand(3, *made.shape) if rng.random() < 0.1 else made

    def like(self, t: torch.Tensor) -> Any:
        """Something in the place of a tensor."""
        rng, shape = self.rng, list(t.shape)
        if shape and rng.random() < 0.5:
            shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 3, 4, 7, 50])
        flat = t.flatten()
        return rng.choice(
            [
                self.tensor,
                lambda: self.tensor(t.dtype),
                lambda: self.tensor(None, tuple(t.shape)),
                lambda: self.tensor(t.dtype, tuple(t.shape)),
                lambda: self.tensor(t.dtype, tuple(shape)),
                lambda: rng.choice([None, flat, t.unsqueeze(0), flat[:0], flat[:1]]),
            ]
        )()

    def other(self, x: Any) -> Any:
        """Something absurd in the place of a value."""
        rng = self.rng
        if isinstance(x, torch.Tensor):
            return self.like(x)
        if isinstance(x, bool):
            return rng.choice([True, False, None, 2])
        if isinstance(x, int):
            return rng.choice([*INTS, None, 1.5, True])
        if isinstance(x, float):
            return rng.choice([*FLOATS, None, 3])
        if isinstance(x, str):
            return rng.choice(TEXTS)
        if isinstance(x, torch.dtype):
            return rng.choice([*DTYPES, None])
        if isinstance(x, list | tuple):
            return self._others(list(x))
        return rng.choice([None, 0, 1, -1, 2**62, [1], [2, 2**62], True, math.nan, self.tensor()])

    def _others(self, x: list[Any]) -> list[Any]:
        kind = self.rng.randrange(4)
        if kind == 0 and x:
            x[self.rng.randrange(len(x))] = self.other(self.rng.choice(x))
        elif kind == 1 and x:
            x.pop()
        elif kind == 2:
            x.append(self.other(x[0] if x else 1))
        else:
            x = [self.other(v) if self.rng.random() < 0.7 else v for v in x]
        return x

    def by_schema(self, schema: Any) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of the types that an op declares."""
        args, kwargs = [], {}
        for a in schema.arguments:
            default = a.has_default_value() and self.rng.random() < 0.6
            value = a.default_value if default else self._typed(str(a.type), a.name)
            if a.kwarg_only:
                kwargs[a.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _typed(self, kind: str, name: str) -> Any:
        rng = self.rng
        if kind.startswith("Optional") and rng.random() < 0.5:
            return None
        if name in ("layout", "device", "pin_memory", "generator"):
            return None
        if name == "dtype":
            return rng.choice(DTYPES)
        makers = {
            "Tensor": self.tensor,
            "float": lambda: rng.choice(FLOATS),
            "bool": lambda: rng.random() < 0.5,
            "str": lambda: rng.choice(TEXTS),
            "int": lambda: rng.choice(INTS if rng.random() < 0.5 else [0, 1, 2, 3]),
            "number": lambda: rng.choice([*INTS, *FLOATS]),
        }
        make: Any = next((m for k, m in makers.items() if k in kind), lambda: None)
        return [make() for _ in range(rng.randrange(5))] if "List" in kind else make()

    def call(self, known: list[Any], schemas: list[Any]) -> Any:
        """The arguments of one call, and where it has some, of an `out=`."""
        rng = self.rng
        if known and (not schemas or rng.random() < 0.8):
            args, kwargs = rng.choice(known)
            args, kwargs = list(args), dict(kwargs)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                places: list[Any] = [*range(len(args)), *kwargs]
                if places:
                    place = rng.choice(places)
                    held: Any = args if type(place) is int else kwargs
                    held[place] = self.other(held[place])
        elif schemas:
            args, kwargs = self.by_schema(rng.choice(schemas))
        else:
            args, kwargs = [self.other(None) for _ in range(rng.randrange(4))], {}
        return pytree.tree_map_only(torch.Tensor, self.fenced, (args, kwargs))

    def fenced(self, t: torch.Tensor) -> torch.Tensor:
        """A copy in memory that ends or begins at a page which must not be touched."""
        storage = t.untyped_storage()
        size = storage.nbytes()
        if not size or size > 1 << 22 or t.is_conj() or t.is_neg() or self.rng.random() < 0.15:
            return _detached(t)
        room = -(-size // PAGE) * PAGE
        memory = mmap.mmap(-1, room + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (start, start + PAGE + room):
            LIBC.mprotect(ctypes.c_void_p(page), PAGE, 0)
        offset = PAGE + (room - size if self.rng.random() < 0.7 else 0)
        ctypes.memmove(start + offset, storage.data_ptr(), size)
        held = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=offset)
        made = torch.empty(0, dtype=t.dtype)
        made.set_(held.untyped_storage(), t.storage_offset(), t.shape, t.stride())
        return made


# ---------------------------------------------------------------------- calls


def is_outside(result: Any) -> bool:
    """Whether a result reaches beyond its storage; reads it all otherwise."""
    for t in pytree.tree_leaves(result):
        if type(t) is not torch.Tensor or t.layout is not torch.strided or not t.numel():
            continue
        if t.device.type != "cpu":
            continue
        reach = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        end = (t.storage_offset() + reach) * t.element_size()
        if t.storage_offset() < 0 or end > t.untyped_storage().nbytes():
            return True
        if t.numel() < 1 << 20 and not t.is_quantized:
            t.clone()
    return False


def _shown(x: Any) -> str:
    if isinstance(x, torch.Tensor):
        values = str(x.tolist()) if x.numel() <= 12 else "..."
        return f"T({x.dtype}, {list(x.shape)}, {list(x.stride())}, {values})"
    if isinstance(x, list | tuple):
        return f"[{', '.join(map(_shown, x))}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{k}={_shown(v)}' for k, v in x.items())}}}"
    return repr(x)


class Probe:
    """Runs calls in forked processes. `last` and `log` are files that both sides see."""

    def __init__(self, functions: dict[str, Any], calls: int, seed: int, folder: Path) -> None:
        self.functions = functions
        self.calls = calls
        self.seed = seed
        self.planted: set[str] = set()
        self.samples = samples()
        self.last = os.open(folder / "last", os.O_RDWR | os.O_CREAT)
        self.log = (folder / "log").open("a+", buffering=1)
        self.errors = folder / "errors"

    def run(self) -> dict[str, Any]:
        """The report."""
        waiting = list(self.functions)
        found: dict[str, Any] = {
            "crashes": {},
            "slow": [],
            "outside": {},
            "calls": 0,
            "returned": 0,
        }
        while waiting:
            child = os.fork()
            if child == 0:
                self._child(waiting)
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
                text = os.pread(self.last, 1 << 16, 0).decode(errors="replace")
                name = text.split(" ", 1)[0]
                number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else status
                if number == signal.SIGALRM:
                    found["slow"].append(name)
                else:
                    found["crashes"][name] = f"signal {number}: {text[:1000]}"
                waiting = waiting[waiting.index(name) + 1 :]
            else:
                waiting = []
        self.log.seek(0)
        for line in self.log:
            kind, *rest = json.loads(line)
            if kind == "outside":
                found["outside"][rest[0]] = rest[1]
            else:
                found["calls"] += rest[0]
                found["returned"] += rest[1]
        return found

    def _child(self, names: list[str]) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        errors = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        for name in names:
            self._op(name)
        os._exit(0)

    def _op(self, name: str) -> None:
        func = self.functions[name]
        absurd = Absurd(f"{name} {self.seed}")
        op = stem(name)
        known = self.samples.get(op) or self.samples.get(op.removesuffix("_"), [])
        schema = getattr(unguarded(func), "_schema", None)
        schemas = [schema] if schema is not None else schemas_named(f"aten::{op}")
        returned = 0
        calls = 40 * self.calls if name in self.planted else self.calls
        for _ in range(calls):
            os.ftruncate(self.last, 0)
            os.pwrite(self.last, f"{name} (no call yet)".encode(), 0)
            try:
                args, kwargs = absurd.call(known, schemas)
                callable_ops.need_types(unguarded(func), args, kwargs, name)
            except (RuntimeError, TypeError, ValueError, OverflowError, LoadError):
                continue
            text = f"{name} {_shown(args)} {_shown(kwargs)}"
            os.pwrite(self.last, text.encode(), 0)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                result = func(*args, **kwargs)
                returned += 1
                if is_outside(result):
                    self.log.write(json.dumps(["outside", name, text[:1000]]) + "\n")
            except Exception:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.log.write(json.dumps(["calls", calls, returned]) + "\n")


def main() -> None:
    """Probe the ops and print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--plant", nargs="*", default=[], help="ops that no file may name")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    functions = targets()
    if given.only:
        functions = {n: f for n, f in functions.items() if any(part in n for part in given.only)}
    planted = {f"torch.ops.aten.{name}.default": name for name in given.plant}
    functions |= {path: getattr(torch.ops.aten, name).default for path, name in planted.items()}
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(functions, given.calls, given.seed, Path(folder))
        probe.planted.update(planted)
        report = probe.run()
    report["ops"] = len(functions)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
