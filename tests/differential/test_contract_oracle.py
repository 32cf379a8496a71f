"""An exported program keeps its word at every small size, with eager execution as the oracle.

At a size that the spec allows, a complete program gives eager's result, or raises where eager does.
A program that is not complete may refuse a size, and says so before: by a `ConstraintViolation`, a
warning, or `is_complete`. A size that the spec excludes is refused with an error of anyshape's.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import pytest
import torch

import anyshape
from anyshape import AnyshapeError, AnyshapeWarning, ConstraintViolation, DataDependentError, Dim
from tests.differential.contract_programs import PROGRAMS

SIZES = range(7)
ERRORS = (AnyshapeError, RuntimeError, ValueError, IndexError, ArithmeticError, AssertionError)
# the number of results, or a Python value, is another one for each size
ONE_BY_ONE = {"pieces", "as_text", "tried"}


class Spec(NamedTuple):
    dynamic_shapes: Any
    allows: Any
    example: tuple[int, int] = (3, 4)


SPECS = {
    "named": Spec(({0: "n"}, {0: "m"}), lambda n, m: True),
    "bounded": Spec(
        ({0: Dim("n", min=1, max=5)}, {0: Dim("m", min=2)}), lambda n, m: 1 <= n <= 5 and m >= 2
    ),
    "hinted": Spec(({0: Dim.DYNAMIC(max=4)}, {0: Dim.AUTO}), lambda n, m: n <= 4),
    "unbacked": Spec(({0: Dim.UNBACKED}, {0: Dim.UNBACKED(min=1)}), lambda n, m: m >= 1),
    "derived": Spec(({0: "n"}, {0: "2*n+1"}), lambda n, m: m == 2 * n + 1, (2, 5)),
    "one name": Spec(({0: "n"}, {0: "n"}), lambda n, m: n == m, (3, 3)),
}


def args(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(7 * n + m)
    return torch.randn(n, 2, generator=generator), torch.randn(m, generator=generator)


def outcome(f: Any, n: int, m: int) -> Any:
    try:
        return f(*args(n, m))
    except ERRORS as e:
        return e


def exported(f: Any, spec: Spec) -> tuple[Any, bool]:
    """The program, and whether the export told that it refuses sizes."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", AnyshapeWarning)
        given = {"dynamic_shapes": spec.dynamic_shapes}
        try:
            return anyshape.export(f, args(*spec.example), **given), bool(told)
        except ConstraintViolation as e:
            violation = e
    assert "refuses" in violation.what or "always" in violation.what
    assert ".py:" in violation.why  # the line
    return anyshape.export(f, args(*spec.example), **given, allow_partial=True), True


def check(f: Any, program: Any, spec: Spec, *, told: bool) -> None:
    for n, m in itertools.product(SIZES, SIZES):
        got = outcome(program, n, m)
        if not spec.allows(n, m):
            assert isinstance(got, AnyshapeError), (n, m, got)
            continue
        want = outcome(f, n, m)
        if isinstance(want, Exception):
            assert isinstance(got, Exception), (n, m, want, got)
        elif isinstance(got, Exception):
            assert told or not program.is_complete, (n, m, got)
            assert not program.is_complete
            assert isinstance(got, AnyshapeError), (n, m, got)
            assert got.why, (n, m, got)
        elif not any("squeeze" in str(d) for d in program.deviations):  # listed, as documented
            torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_it_keeps_its_word(f: Any, kind: str) -> None:
    spec = SPECS[kind]
    if isinstance(outcome(f, *spec.example), Exception) and kind != "unbacked":
        with pytest.raises(ERRORS):
            anyshape.export(f, args(*spec.example), dynamic_shapes=spec.dynamic_shapes)
        return
    if kind == "unbacked" and f.__name__ in ONE_BY_ONE - {"tried"}:
        with pytest.raises(DataDependentError, match="Python int"):
            exported(f, spec)
        return
    program, told = exported(f, spec)
    check(f, program, spec, told=told)
    if kind == "named":
        assert program.is_complete is (f.__name__ not in ONE_BY_ONE)


def test_a_program_that_takes_too_much_is_found() -> None:
    spec = SPECS["named"]
    program, told = exported(lambda x, y: x + y.sum(), spec)

    def asserted(x: Any, y: Any) -> Any:
        assert x.shape[0] != 5
        return x + y.sum()

    with pytest.raises(AssertionError):
        check(asserted, program, spec, told=told)


def test_a_program_that_refuses_silently_is_found() -> None:
    spec = SPECS["named"]
    program, _ = exported(lambda x, y: x.view(3, 2), spec)
    program.is_complete = True
    with pytest.raises(AssertionError):
        check(lambda x, y: x, program, spec, told=False)
