"""Programs that compute with sizes as floats: one program for all sizes, and eager's results.

Compiled functions and exported programs are called at sizes that they were not traced at; nothing
may pin a size, and every bit of the results must be what eager execution gives.
"""

from __future__ import annotations

import math
from math import isqrt, log2, sqrt
from math import pow as math_pow
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def half_of_an_int(x: torch.Tensor) -> Any:
    return x[: int(x.size(0) / 2)] + 1


def half_by_product(x: torch.Tensor) -> Any:
    return x[: int(x.size(0) * 0.5)] + 1


def zeros(x: torch.Tensor) -> Any:
    return torch.zeros(int(x.size(0) / 2)), x.new_zeros(math.ceil(x.size(0) * 0.75))


def narrow(x: torch.Tensor) -> Any:
    return x.narrow(0, 0, int(x.size(0) * 0.25)), x[int(x.size(0) * 0.25) : int(x.size(0) * 0.75)]


def centre_crop(x: torch.Tensor) -> Any:
    top = int(round((x.size(0) - 3) / 2.0))  # noqa: RUF046  as torchvision writes it
    return x[top : top + 3]


def roundings(x: torch.Tensor) -> Any:
    n = x.size(0)
    return x[: math.floor(n / 2)] + math.ceil(n / 3) + math.trunc(n / 4) + round(n / 2)


def logarithms(x: torch.Tensor) -> Any:
    n = x.size(0) + 1
    return x * math.log(n) + math.log2(n) + math.log10(n) + math.log(n, 3) + log2(n)


def further_functions(x: torch.Tensor) -> Any:
    n = x.size(0)
    y = x * math.hypot(n, 3) + math.atan2(n, 2) + math.fmod(n, 3) + math.remainder(n, 4)
    z = x + math.gcd(n, 12) + math.lcm(n, 4) + math.comb(n, 2) + math.factorial(n % 4)
    w = x * math.log1p(n) + math.cbrt(n) + math.erf(n / 9) + math.lgamma(n + 1) + math.tanh(n)
    v = x * math.modf(n / 3)[0] + math.frexp(n)[1] + math.fsum([n, 0.5]) + math.dist((n,), (2.5,))
    return y, z, w, v, torch.zeros(math.gcd(n, 6)), torch.ones(int(math.hypot(n, 3)))


def trigonometry(x: torch.Tensor) -> Any:
    return x * math.sin(x.size(0)) + math.cos(x.size(0)) + math.tan(x.size(0))


def exponential(x: torch.Tensor) -> Any:
    return x * math.exp(-x.size(0) / 10)


def roots(x: torch.Tensor) -> Any:
    n = x.size(0)
    return x / math.sqrt(n + 1) + sqrt(n) + math.pow(n, 1.5) + isqrt(3 * n) + math_pow(n, 0.5)


def root_as_a_size(x: torch.Tensor) -> Any:
    return torch.linspace(0, 1, int(math.sqrt(x.size(0) + 1))), torch.ones(math.isqrt(x.size(0)))


def floor_division(x: torch.Tensor) -> Any:
    return x * (x.size(0) // 2.0) + x.size(0) % 2.5


def divmods(x: torch.Tensor) -> Any:
    return x * sum(divmod(x.size(0), 3)) + sum(divmod(x.size(0), 2.5))


def modular_powers(x: torch.Tensor) -> Any:
    return x * pow(x.size(0), 2, 5) + pow(3, x.size(0), 7)


def bits(x: torch.Tensor) -> Any:
    return x * x.size(0).bit_length() + x.size(0).bit_count()


def extremes(x: torch.Tensor) -> Any:
    return x * max(x.size(0), 2.5) + min(x.size(0), 3.5) + max(1, x.size(0) * 0.5)


def symbolic_extremes(x: torch.Tensor) -> Any:
    return x * anyshape.sym_max(x.size(0), 2.5) + torch.sym_min(x.size(0), 3.5)


def rounded(x: torch.Tensor) -> Any:
    return x * round(x.size(0) / 3, 1) + abs(x.size(0) - 3.5) + round(x.size(0), -1)


def conversions(x: torch.Tensor) -> Any:
    return x * float(x.size(0)) + int(x.size(0)), x + torch.tensor(x.size(0) * 0.5)


def results(x: torch.Tensor) -> Any:
    n = x.size(0)
    return int(n / 2), float(n), max(n, 2.5), n // 2.0, math.sqrt(n), round(n / 3, 2), n / 3 > 1


def numpy_scalars(x: torch.Tensor) -> Any:
    return x * (np.int64(3) * x.size(0)) + x.size(0) * np.float64(0.5)


def numpy_functions(x: torch.Tensor) -> Any:
    n = x.size(0)
    return (
        x[: int(np.floor(n / 2))] * float(np.sqrt(n)) + int(np.ceil(n / 3)) + int(np.prod(x.shape))
    )


def numpy_precisions(x: torch.Tensor) -> Any:
    n = x.size(0)
    half, third = n * np.float32(0.5), np.float16(0.3) * n
    return x[: int(half)] * third + float(half + 0.1) + 0.1, x * (half * 0.3 - np.float64(1) / 3)


def numpy_logarithms(x: torch.Tensor) -> Any:
    n = x.size(0)
    return x[: int(np.log2(n + 1))] + float(np.exp(-n / np.float32(7))) + np.power(n, 0.3)


def numpy_extremes(x: torch.Tensor) -> Any:
    n = x.size(0)
    return x[: np.maximum(n - 3, 0)] * np.minimum(n, 2.5) + np.round(n / 3, 1) + np.abs(n - 9)


def numpy_shapes(x: torch.Tensor) -> Any:
    y = x[:, None].expand(-1, 3)
    first, total = np.cumsum(y.shape)
    return x * np.prod(y.shape) + np.sum(y.shape), x.new_zeros(total - first) + first


def numpy_results(x: torch.Tensor) -> Any:
    n = x.size(0)
    return n * np.float32(0.1), np.float16(0.3) * n, np.sqrt(n), n * 0.5, torch.Size((n, 2))


def numpy_tensors(x: torch.Tensor) -> Any:
    n = x.size(0)
    half, single, double = n * np.float16(0.3), n * np.float32(0.3), np.log2(n + 1)
    made = [torch.tensor(half), torch.as_tensor(single), torch.tensor(double)]
    made += [torch.tensor([half, 1.0]), torch.tensor([half, half]), torch.tensor([[double, n]])]
    made += [torch.full((2,), double), torch.scalar_tensor(double), torch.tensor(np.float64(0.1))]
    return (*made, x.half() * single, x.int() * double, torch.tensor(half, dtype=torch.float64))


def numpy_conversions(x: torch.Tensor) -> Any:
    n = x.size(0)
    third = np.int64(n / 3)
    made = np.int64(n) + 1, np.float64(n) / 2, np.float32(n / 3), np.float16(n * 7)
    return x[:third] * float(made[1]), *made, third, np.int64(np.int64(n)), np.float64("2.5")


def interpolated(x: torch.Tensor) -> Any:
    y = x[None, None].repeat(1, 1, 2)
    return interpolate(y, scale_factor=1.5), interpolate(y, size=int(x.size(0) * 0.5) + 1)


def below_a_limit(x: torch.Tensor) -> Any:
    return x[: min(int(x.size(0) * 0.8), 5)]


PROGRAMS = [
    *(half_of_an_int, half_by_product, zeros, narrow, centre_crop, roundings, logarithms),
    further_functions,
    *(trigonometry, exponential, roots, root_as_a_size, floor_division, divmods, modular_powers),
    *(bits, extremes, symbolic_extremes, rounded, conversions, results, numpy_scalars),
    *(numpy_functions, interpolated, below_a_limit),
    *(numpy_precisions, numpy_logarithms, numpy_extremes, numpy_shapes),
    *(numpy_results, numpy_tensors, numpy_conversions),
]
# a negative start; an empty input is refused; the class of an extremum depends on which one it is
PARTS = {centre_crop: 2, interpolated: 1, extremes: 3, results: 2}
MADE: dict[Any, dict[Any, tuple[int, int, int]]] = {
    extremes: {True: (2, 2, 0), "unbacked": (1, 1, 1)}
}


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected), (found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_once(program: Callable[..., Any]) -> None:
    for dynamic in (True, "unbacked"):
        compiled = anyshape.compile(program, dynamic=dynamic)
        for n in (5, 7, 8, 4, 3, 11, 12, 25, 100):
            x = torch.arange(n) * 1.0
            assert_same(compiled(x), program(x))
        made = len(compiled.entries), compiled.stats.traces, compiled.stats.extensions
        assert made == MADE.get(program, {}).get(dynamic, (1, 1, 0))
        assert compiled.eager_because is None


@pytest.mark.parametrize("dynamic", [True, "unbacked"])
def test_precision_at_large_sizes(dynamic: Any) -> None:
    """Sizes that a float32 and a float16 cannot hold are rounded as NumPy rounds them."""

    def scaled(x: torch.Tensor) -> Any:
        n = x.size(0)
        return x[0] * (n * np.float32(0.1)), int(n * np.float32(1)), int(n // np.float32(0.7))

    compiled = anyshape.compile(scaled, dynamic=dynamic)
    for n in (5, 1000, 2**24 - 1, 2**24 + 1, 2**24 + 3, 2**25 + 5, 2**31 + 129):
        x = torch.ones(1, dtype=torch.float64).expand(n)
        assert_same(compiled(x), scaled(x))
    assert (len(compiled.entries), compiled.eager_because) == (1, None)


@pytest.mark.parametrize("program", PROGRAMS)
def test_exported_once(program: Callable[..., Any]) -> None:
    exported = anyshape.export(program, (torch.arange(5) * 1.0,), dynamic_shapes=({0: "n"},))
    assert len(exported.variants) == PARTS.get(program, 1)
    for n in (5, *([] if program is interpolated else [0]), 1, 2, 3, 4, 7, 8, 25, 1001):
        x = torch.arange(n) * 1.0
        assert_same(exported(x), program(x))


@pytest.mark.parametrize(
    "program",
    [rounded, bits, modular_powers, roots, extremes, narrow, numpy_precisions, numpy_tensors],
)
def test_lowered(program: Callable[..., Any]) -> None:
    """torch's compilers get the same numbers, at a value where torch has no symbolic op."""
    compiled = anyshape.compile(program, dynamic=True, backend="aot_eager", fullgraph=True)
    for n in (5, 7, 12):
        x = torch.arange(n) * 1.0
        assert_same(compiled(x), program(x))


@pytest.mark.parametrize(
    "program",
    [
        results,
        bits,
        rounded,
        extremes,
        floor_division,
        logarithms,
        numpy_precisions,
        numpy_results,
        numpy_tensors,
    ],
)
def test_saved(program: Callable[..., Any], tmp_path: Path) -> None:
    exported = anyshape.export(program, (torch.arange(5) * 1.0,), dynamic_shapes=({0: "n"},))
    exported.save(tmp_path / "program")
    loaded = anyshape.load(tmp_path / "program")
    for n in (0, 1, 7, 12):
        x = torch.arange(n) * 1.0
        assert_same(loaded(x), program(x))
