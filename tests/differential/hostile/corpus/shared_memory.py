"""Arrays and buffers of Python that share their memory with tensors."""

from __future__ import annotations

import numpy as np
import torch

from tests.differential.hostile.program import Case, program


@program
def shared_constant():
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)

    def fn(x):
        t.add_(1)
        return x.sum() + t, a.sum()

    return Case(fn, lambda: a.fill(5.0), looks_at=t, exported=False)


@program
def shared_before():
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)

    def fn(x):
        s = a.sum()
        t.add_(1)
        return x.sum() + t, s

    return Case(fn, lambda: a.fill(5.0), looks_at=t, exported=False)


@program
def shared_after_branch():
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)

    def fn(x):
        t.add_(1)
        if x.sum() > 4:
            return x * float(a.sum())
        return x + float(a[0])

    return Case(fn, lambda: a.fill(5.0), looks_at=t, exported=False)


@program
def shared_input():
    a = np.ones(3, dtype=np.float32)

    def fn(x):
        x.add_(1)
        return x * 2, a.sum(), float(a[0])

    def mk(n):
        return (torch.from_numpy(a),) if n == 3 else (torch.ones(n),)

    return Case(fn, lambda: a.fill(5.0), args=mk, looks_at=a, exported=False)


@program
def shared_input_after_branch():
    a = np.ones(3, dtype=np.float32)

    def fn(x):
        x.add_(1)
        if x.sum() > 2:
            return x * 2, a.sum(), float(a[0])
        return x, a.mean()

    def mk(n):
        return (torch.from_numpy(a),) if n in (3, 5) else (torch.ones(n),)

    return Case(fn, lambda: a.fill(5.0), args=mk, looks_at=a, exported=False)


@program
def a_buffer_of_python():
    raw = bytearray(b"\x01\x02\x03\x04")
    t = torch.frombuffer(raw, dtype=torch.uint8)

    def fn(x):
        t.add_(1)
        return x * raw[0], len(raw)

    return Case(fn, lambda: raw.__setitem__(0, 9), looks_at=[t], exported=False)


@program
def array_of_an_input():
    def fn(x):
        a = x.numpy()
        x.add_(1)
        return x * 2, a.sum()

    return Case(fn)


@program
def unrelated():
    a = np.ones(3, dtype=np.float32)
    t = torch.ones(3)

    def fn(x):
        t.add_(1)
        return x.sum() + t, a.sum()

    return Case(fn, lambda: a.fill(5.0), looks_at=t, exported=False)
