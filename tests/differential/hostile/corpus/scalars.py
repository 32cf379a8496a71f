"""Scalars of NumPy as arguments and around tensors: numbers like any other, of their own classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, program

BODIES: dict[str, Any] = {
    "sum": lambda x, n: (x + n, n + x, n),
    "product": lambda x, n: (x * n, n * x, n * 2),
    "quotient": lambda x, n: (x / (n + 1), n / 2, n // 2, n % 3),
    "power": lambda x, n: (x**n, n**2, 2**n),
    "difference": lambda x, n: (n - x, x - n, 1 - n, -n, abs(n), +n),
    "comparison": lambda x, n: (n > 2, n == 3, n != 3, x > n, n <= x),
    "branch": lambda x, n: x + 1 if n > 2 else x - 1,
    "truth": lambda x, n: (x if n else -x, not n, bool(n), n and 1, n or 2),
    "kind": lambda x, n: (type(n).__name__, isinstance(n, int), isinstance(n, np.generic), x),
    "kind_of_results": lambda x, n: ([type(y).__name__ for y in (n + 1, n / 2, n > 1, n * 0.5)], x),
    "conversions": lambda x, n: (int(n), float(n), complex(n), x),
    "item": lambda x, n: (n.item(), n.dtype, n.shape, n.ndim, n.size, x),
    "casts": lambda x, n: (n.astype(np.float32), n.astype(np.int8), x),
    "text": lambda x, n: (f"{n} {n!r} {n:.3}" if n.dtype.kind == "f" else f"{n} {n!r} {n:>4}", x),
    "joined": lambda x, n: (str(n) + repr(n), x * 2),
    "in_a_list": lambda x, n: ([n, n + 1], {"n": n}, x),
    "in_a_dict": lambda x, n: ({0: "a", 1: "b", 2: "c"}.get(n, "none"), x),
    "as_a_key": lambda x, n: ({n: x}, n in {3: 1}),
    "tensor": lambda x, n: (torch.tensor(n), torch.as_tensor(n), torch.full((2,), n), x),
    "tensor_of_several": lambda x, n: torch.tensor([n, n + 1]) + x.sum(),
    "integers": lambda x, n: torch.arange(4, dtype=torch.int32) * n + x.sum().int(),
    "half": lambda x, n: x.half() * n,
    "with_a_scalar_of_its_own": lambda x, n: (
        np.float32(0.5) * n,
        np.int64(3) * n,
        x * np.float64(2),
    ),
    "function": lambda x, n: (np.maximum(n, 2), np.sqrt(abs(n)), np.square(n), x),
    "function_of_math": lambda x, n: (math.sqrt(abs(n)), math.floor(n), math.isfinite(n), x),
    "extremum": lambda x, n: (max(n, 2), min(n, 2), sum([n, 1]), round(n), x),
    "clamp": lambda x, n: (x.clamp(max=n), torch.clamp(x, min=n), torch.where(x > n, x, n)),
    "alpha": lambda x, n: (torch.add(x, x, alpha=n), x.add(n), x.mul(n), torch.pow(x, n)),
    "in_place": lambda x, n: x.clone().add_(n).mul_(n),
    "filled": lambda x, n: (x.new_full((2,), n), torch.full_like(x, n), x.clone().fill_(n)),
    "identity": lambda x, n: (n is n, n is None, x),  # noqa: PLR0124  the object itself
    "attribute_kept": lambda x, n: (setattr(Box, "last", n), x)[1],
    "loop": lambda x, n: [x + i for i in range(int(abs(n)))],
    "real": lambda x, n: (n.real, n.imag, n.conjugate(), x),
    "bytes": lambda x, n: (n.tobytes(), x),
    "error": lambda x, n: _caught(lambda: n.no_such_attribute, x),
    "unpacked": lambda x, n: _caught(lambda: [*n], x),
    "called": lambda x, n: _caught(lambda: n(), x),
}
SIZES: dict[str, Any] = {
    "view": lambda x, n: x.repeat(n).view(n, -1),
    "index": lambda x, n: (x[n - 1], x[:n], x[-n:], x[::n]),
    "shape": lambda x, n: (torch.zeros(n), torch.ones(n, 2), torch.arange(n), x.expand(n, -1)),
    "range": lambda x, n: sum([x * i for i in range(n)], x),
    "list_index": lambda x, n: ([1, 2, 3, 4, 5][n], "abcdef"[n], (1, 2, 3, 4, 5)[:n], x),
    "repeated": lambda x, n: ([1] * n, "a" * n, x),
    "shift": lambda x, n: (n << 1, n >> 1, n & 1, n | 4, n ^ 1, ~n, x),
    "split": lambda x, n: torch.cat([x, x, x]).split(n),
    "narrow": lambda x, n: torch.cat([x, x, x]).narrow(0, n, 1),
    "pad": lambda x, n: torch.nn.functional.pad(x, (n, n)),
    "dimension": lambda x, n: x.unsqueeze(0).sum(n - n),
    "bit_length": lambda x, n: _caught(lambda: n.bit_length(), x),
    "divmod": lambda x, n: (divmod(n, 2), divmod(7, n), pow(n, 2), x),
}
VALUES: dict[str, Any] = {
    "int64": [np.int64(v) for v in (3, 3, 4, 2, 1, 3)],
    "int32": [np.int32(v) for v in (3, 3, 4, 2, 1, 3)],
    "uint8": [np.uint8(v) for v in (3, 3, 4, 2, 1, 3)],
    "float32": [np.float32(v) for v in (0.3, 0.3, 1.7, -2.5, 0.0, -0.0, 0.3)],
    "float64": [np.float64(v) for v in (0.3, 0.3, 1.7, -2.5, 0.0, -0.0, float("inf"), 0.3)],
    "float16": [np.float16(v) for v in (0.3, 0.3, 1.7, 2.5)],
    "bool": [np.bool_(v) for v in (True, True, False, True)],
}
WANTED = {
    "int64": (*BODIES, *SIZES),
    "int32": ("sum", "kind_of_results", "comparison", "tensor", "view", "text"),
    "uint8": ("product", "kind_of_results", "tensor", "index", "joined"),
    "float32": tuple(name for name in BODIES if name not in ("loop", "power")),
    "float64": ("sum", "product", "kind", "kind_of_results", "tensor", "branch", "real", "text"),
    "float16": ("sum", "kind_of_results", "tensor", "with_a_scalar_of_its_own", "function"),
    "bool": ("product", "kind", "branch", "truth", "tensor", "integers", "item"),
}


def _caught(call: Any, x: Any) -> Any:
    try:
        return call(), x
    except (AttributeError, TypeError) as e:
        return type(e).__name__, x + 1


def _case(body: Any, values: list[Any]) -> Case:
    return Case(
        body,
        calls=[lambda v=v, n=n: (torch.arange(n) + 1.0, v) for n, v in zip((3, 3, 3, 5, 3, 4, 3, 3), values, strict=False)],
        looks_at=lambda: vars(Box).get("last"),
    )  # fmt: skip


def _define() -> None:
    for dtype, wanted in WANTED.items():
        for name in wanted:
            body = BODIES.get(name) or SIZES[name]

            def factory(body: Any = body, dtype: str = dtype) -> Case:
                return _case(body, VALUES[dtype])

            factory.__name__ = f"{dtype}_{name}"
            program(factory)


_define()
