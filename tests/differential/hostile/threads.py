"""Threads around a trace: each check returns what it has to complain about.

    python -m tests.differential.hostile.threads

prints the complaints by check as JSON. It is a process of its own: threads that are deadlocked
never end, and what a trace may leave behind must not reach other tests.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 1.5  # of a stress
PATIENCE = 6.0  # until threads count as deadlocked
SOURCE = """
import torch

SCALE = 2.0
COUNT = 0


def plain(x):
    n = int(x.shape[0])
    return x * max(n, 2) + torch.zeros(2, dtype=int).sum()


def kinds(x):
    return x * 2 if isinstance(x.shape[0], int) and type(x) is torch.Tensor else x * 3


def loops(x):
    for i in range(len(x)):
        x = x + i * SCALE
    return x


def noisy(x):
    return x + torch.rand(x.shape, generator=torch.Generator().manual_seed(3)) + min(1, abs(-2))


def branchy(x):
    return x * 2 if x.sum() > 3 else x * 3


FUNCTIONS = (plain, kinds, loops, noisy, branchy)
"""
CHECKS: dict[str, Callable[[], Any]] = {}


def check(function: Callable[[], Any]) -> Callable[[], Any]:
    CHECKS[function.__name__] = function
    return function


NAMES = {"torch", "SCALE", "COUNT", "FUNCTIONS", "plain", "kinds", "loops", "noisy", "branchy"}
NAMES |= {name for name in vars(threading) if name.startswith("__")} | {"__warningregistry__"}


def module() -> Any:
    """A user's module, from a file of its own."""
    folder = tempfile.mkdtemp()
    path = Path(folder) / "user_module.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"user_module_{len(sys.modules)}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def together(*jobs: Callable[[], Any], patience: float = 60.0) -> list[str]:
    """Run jobs in threads that start at once; what they raised, and which did not end."""
    start, wrong = threading.Barrier(len(jobs)), []

    def work(job: Callable[[], Any]) -> None:
        start.wait()
        try:
            job()
        except Exception as e:
            wrong.append(f"{type(e).__name__}: {e}")

    threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    until = time.monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = sum(thread.is_alive() for thread in threads)
    return [*wrong, *([f"{late} threads did not end"] if late else [])]


def tracing(user: Any, until: float) -> Callable[[], None]:
    """A job that traces all functions of a module, again and again."""

    def job() -> None:
        while time.monotonic() < until:
            for fn in user.FUNCTIONS:
                for mode in (True, "unbacked", None):
                    compiled = anyshape.compile(fn, dynamic=mode)
                    for n in (3, 4):
                        compiled(torch.ones(n))

    return job


def watched(look: Callable[[Any], Any]) -> list[str]:
    """What a thread sees that only looks, while another one traces."""
    user = module()
    until = time.monotonic() + SECONDS
    seen: set[str] = set()

    def job() -> None:
        while time.monotonic() < until:
            found = look(user)
            if found:
                seen.add(str(found))

    return [*together(tracing(user, until), job), *sorted(seen)[:3]]


# ---------------------------------------------------------------------- what others see


@check
def traces_in_four_threads_leave_the_module_intact() -> Any:
    user = module()
    before = dict(vars(user))
    until = time.monotonic() + SECONDS
    wrong = together(*[tracing(user, until) for _ in range(4)])
    after = dict(vars(user))
    changed = [k for k in {**before, **after} if before.get(k) is not after.get(k)]
    torch.zeros(2, dtype=after.get("int", int))
    return [*wrong, *changed]


@check
def eager_code_of_the_module_is_right() -> Any:
    x = torch.ones(3)
    want = [fn(x) for fn in module().FUNCTIONS]

    def look(user: Any) -> Any:
        got = [fn(x) for fn in user.FUNCTIONS]
        return not all(torch.equal(a, b) for a, b in zip(got, want, strict=True))

    return watched(look)


@check
def nobody_else_is_compiling() -> Any:
    return watched(lambda user: torch.compiler.is_compiling() or torch._dynamo.is_compiling())


@check
def module_globals_are_never_replaced() -> Any:
    def look(user: Any) -> Any:
        now = dict(vars(user))
        return [k for k in now if k not in NAMES]

    return watched(look)


def _names(owner: Any) -> dict[str, Any]:
    return {k: v for k, v in list(vars(owner).items()) if not k.startswith("__")}


def _replaced(*owners: Any) -> Any:
    before = [_names(owner) for owner in owners]
    for name in before[0]:
        getattr(owners[0], name)

    def look(user: Any) -> Any:
        found = []
        for owner, first in zip(owners, before, strict=True):
            now = _names(owner)
            found += [k for k, v in first.items() if k in now and now[k] is not v]
        return found

    return watched(look)


@check
def names_of_torch_are_never_replaced() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _replaced(torch, torch.nn.functional, torch.random, torch.compiler)


@check
def builtins_are_never_replaced() -> Any:
    return _replaced(builtins)


@check
def classes_of_torch_are_never_changed() -> Any:
    return _replaced(torch.Tensor, torch.nn.Module, torch.Generator)


@check
def functions_keep_their_code() -> Any:
    kept: dict[Any, Any] = {}

    def look(user: Any) -> Any:
        for fn in user.FUNCTIONS:
            now = (fn.__code__, fn.__globals__, fn.__defaults__)
            if kept.setdefault(fn, now) != now:
                return fn.__name__
        return None

    return watched(look)


@check
def state_of_the_process_is_never_changed() -> Any:
    def state() -> Any:
        return (
            gc.isenabled(),
            (gc.get_threshold(), len(gc.callbacks)),
            sys.getrecursionlimit(),
            sys.stdout,
            sys.stderr,
            sys.getswitchinterval(),
            os.getcwd(),
            threading.gettrace(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
        )

    first = state()
    names = (
        "gc",
        "collector",
        "recursion",
        "stdout",
        "stderr",
        "switch",
        "folder",
        "trace",
        "dtype",
        "flag",
    )

    def look(user: Any) -> Any:
        return [n for n, a, b in zip(names, state(), first, strict=True) if a is not b and a != b]

    return watched(look)


@check
def profile_and_trace_functions_are_never_set() -> Any:
    own: list[Any] = []  # those of who measures coverage, if anybody does

    def look(user: Any) -> Any:
        own.append((sys.getprofile(), sys.gettrace()))
        return own.pop() != own[0] if len(own) > 1 else None

    return watched(look)


@check
def warnings_of_others_arrive() -> Any:
    def look(user: Any) -> Any:
        try:
            warnings.warn("an error here", ResourceWarning, stacklevel=1)
        except ResourceWarning:
            return None
        return "a filter is gone"

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        return watched(look)


@check
def random_numbers_of_others_are_theirs() -> Any:
    def look(user: Any) -> Any:
        own = torch.Generator().manual_seed(5)
        a, b = torch.rand(2, generator=own), torch.rand(2, generator=own.manual_seed(5))
        return not torch.equal(a, b)

    return watched(look)


@check
def tensors_of_others_are_tensors() -> Any:
    def look(user: Any) -> Any:
        t = torch.ones(2) * torch.nn.Parameter(torch.ones(2))
        return type(t) is not torch.Tensor or type(t.shape[0]) is not int or str(t)[:6] != "tensor"

    return watched(look)


# ---------------------------------------------------------------------- deadlocks


@check
def two_functions_that_call_each_other() -> Any:
    log: list[int] = []
    meet = threading.Barrier(2)
    once = threading.local()

    def wait() -> None:
        if not getattr(once, "done", False):
            once.done = True
            with contextlib.suppress(threading.BrokenBarrierError):
                meet.wait(2.0)

    def one(x: Any, deep: bool = True) -> Any:
        log.append(1)
        wait()
        return two_c(x, False) + 1 if deep else x * 2

    def two(x: Any, deep: bool = True) -> Any:
        log.append(2)
        wait()
        return one_c(x, False) + 1 if deep else x * 3

    one_c, two_c = anyshape.compile(one), anyshape.compile(two)
    x = torch.ones(3)
    return together(lambda: one_c(x), lambda: two_c(x), patience=PATIENCE)


@check
def a_lock_that_the_caller_holds() -> Any:
    lock, ready = threading.Lock(), threading.Event()

    def fn(x: Any) -> Any:
        ready.set()
        with lock:
            return x * 2

    compiled = anyshape.compile(fn)
    x = torch.ones(3)

    def holder() -> None:
        with lock:
            ready.wait(2.0)
            compiled_other(x)

    def other(x: Any) -> Any:
        return x * 3

    compiled_other = anyshape.compile(other)
    shared = anyshape.compile(fn)

    def caller() -> None:
        with lock:
            ready.wait(2.0)

    return [
        *together(lambda: compiled(x), holder, patience=PATIENCE),
        *together(lambda: shared(x), lambda: shared(x), caller, patience=PATIENCE),
    ]


@check
def a_lock_around_one_call_and_inside_another() -> Any:
    """One thread holds a lock and calls; the other traces the same function, which takes it."""
    lock = threading.RLock()
    inside = threading.Event()

    def fn(x: Any) -> Any:
        inside.set()
        with lock:
            return x * 2

    compiled = anyshape.compile(fn)

    def holder() -> None:
        with lock:
            inside.wait(2.0)
            compiled(torch.ones(3))

    return together(lambda: compiled(torch.ones(4)), holder, patience=PATIENCE)


@check
def a_barrier_between_two_calls() -> Any:
    meet = threading.Barrier(2)

    def fn(x: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            meet.wait(3.0)
        return x * 2

    compiled = anyshape.compile(fn)
    start = time.monotonic()
    wrong = together(
        lambda: compiled(torch.ones(3)), lambda: compiled(torch.ones(4)), patience=2 * PATIENCE
    )
    return [
        *wrong,
        *(["the calls waited for each other"] if time.monotonic() - start > 2.9 else []),
    ]


# ---------------------------------------------------------------------- many callers


def _race(fn: Any, make: Callable[[int, int], tuple[Any, ...]], **options: Any) -> list[str]:
    compiled = anyshape.compile(fn, recompile_limit=64, **options)

    def job(thread: int) -> Callable[[], None]:
        def work() -> None:
            for i in range(12):
                args = make(thread, i)
                want = fn(*make(thread, i))
                got = compiled(*args)
                if not torch.equal(got, want):
                    raise AssertionError(f"{got} for {want}")

        return work

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return together(*[job(t) for t in range(8)])


@check
def eight_threads_with_different_shapes() -> Any:
    def fn(x: Any) -> Any:
        y = x * x.shape[0] + 1
        return y if x.shape[0] % 2 else y.sum() + x

    make = lambda t, i: (torch.arange((t + i) % 7) + 1.0,)  # noqa: E731
    return [w for mode in (None, True, False, "unbacked") for w in _race(fn, make, dynamic=mode)][
        :3
    ]


@check
def eight_threads_with_branches_on_data() -> Any:
    def fn(x: Any) -> Any:
        return x * 2 if x.sum() > 6 else x - 1

    return _race(fn, lambda t, i: (torch.arange((t + i) % 5 + 1) * 1.0,))[:3]


@check
def eight_threads_with_objects_of_their_own() -> Any:
    def fn(x: Any, state: dict[str, Any]) -> Any:
        state["n"] += 1
        return x * state["n"]

    return _race(fn, lambda t, i: (torch.ones(t % 3 + 2), {"n": i}))[:3]


@check
def effects_of_eight_threads_are_all_there() -> Any:
    wrong: list[str] = []
    for mode in (True, None, "unbacked") * 12:
        if wrong:
            break
        log: list[int] = []

        def fn(x: Any, log: list[int] = log) -> Any:
            log.append(x.shape[0])
            return x * 2

        compiled = anyshape.compile(fn, dynamic=mode)

        def job(compiled: Any = compiled) -> None:
            for i in range(20):
                compiled(torch.ones(i % 4 + 2))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong += together(*[job] * 8)
        total = 8 * sum(i % 4 + 2 for i in range(20))
        if not (len(log) == 160 and all(type(n) is int for n in log) and sum(log) == total):
            wrong.append(f"{len(log)} effects of 160")
    return wrong[:3]


@check
def each_thread_reads_its_own() -> Any:
    local = threading.local()
    var: contextvars.ContextVar[float] = contextvars.ContextVar("var", default=0.0)

    def fn(x: Any) -> Any:
        return x * local.k + var.get()

    compiled = anyshape.compile(fn, recompile_limit=64)

    def job(k: float) -> Callable[[], None]:
        def work() -> None:
            local.k = k
            var.set(k * 10)
            for _ in range(10):
                got = compiled(torch.ones(2))
                if got[0].item() != k + k * 10:
                    raise AssertionError(f"{got} in the thread of {k}")

        return work

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return together(*[job(float(k)) for k in range(1, 5)])[:2]


@check
def grad_mode_of_each_thread() -> Any:
    def fn(x: Any) -> Any:
        return x * 2

    compiled = anyshape.compile(fn)

    def job(on: bool) -> Callable[[], None]:
        def work() -> None:
            with torch.set_grad_enabled(on):
                for n in (2, 3, 4, 2, 3):
                    got = compiled(torch.ones(n, requires_grad=True))
                    if got.requires_grad != on:
                        raise AssertionError(f"requires_grad {got.requires_grad} for {on}")

        return work

    return together(job(True), job(False), job(True), job(False))[:2]


@functools.cache
def complaints() -> dict[str, list[str]]:
    """The complaints of all checks, which run in a process of their own."""
    command = [sys.executable, "-m", "tests.differential.hostile.threads"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run all checks, those that may deadlock last."""
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-5)
    found = {}
    hard = ("call_each_other", "lock", "barrier")
    for name in sorted(CHECKS, key=lambda name: any(word in name for word in hard)):
        try:
            found[name] = [str(c)[:300] for c in CHECKS[name]()]
        except Exception as e:
            found[name] = [f"{type(e).__name__}: {e}"[:300]]
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # threads that never end


if __name__ == "__main__":
    main()
