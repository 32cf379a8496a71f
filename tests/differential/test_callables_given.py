"""Callables that functions of C, of NumPy and of Python get, alone, in a container or in an object:
what they read outside when the program runs counts, and what they write is written.
"""

from __future__ import annotations

import csv
import difflib
import functools
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import anyshape
from anyshape.errors import EffectError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

MODES: tuple[dict[str, Any], ...] = ({}, {"dynamic": True}, {"dynamic": "unbacked"})
ONE = np.array([True])


def _vectorized(q: list[float]) -> Any:
    return lambda x: x * float(np.vectorize(q.__getitem__)([0, 1]).sum())


def _vectorized_before(q: list[float]) -> Any:
    call = np.vectorize(q.__getitem__)
    return lambda x: x * float(call([0, 1]).sum())


def _python_vectorized_before(q: list[float]) -> Any:
    call = np.vectorize(lambda i: q[i])
    return lambda x: x * float(call([0, 1]).sum())


def _partial_vectorized(q: list[float]) -> Any:
    call = functools.partial(lambda i: q[int(i)])
    return lambda x: x * float(np.vectorize(call)([0, 1]).sum())


def _plain_partial_vectorized(q: list[float]) -> Any:
    return lambda x: x * float(np.vectorize(functools.partial(q.count))([3.0, 1.0]).sum())


def _from_python(q: list[float]) -> Any:
    return lambda x: x * float(np.frompyfunc(q.__getitem__, 1, 1)(np.array([0, 1])).sum())


def _from_python_before(q: list[float]) -> Any:
    call = np.frompyfunc(lambda i: q[i], 1, 1)
    return lambda x: x * float(call(np.array([0, 1])).sum())


def _in_a_list(q: list[float]) -> Any:
    calls: Any = q.count
    return lambda x: x * float(np.piecewise(np.array([3.0]), [ONE], [calls]).sum())


def _in_a_list_before(q: list[float]) -> Any:
    calls: Any = (q.count,)
    return lambda x: x * float(np.piecewise(np.array([3.0]), [ONE], calls).sum())


def _as_a_key(q: list[float]) -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        places = [0, 1, 2]
        places.sort(key=q.__getitem__)
        return x * places[0] + x

    return fn


def _of_an_object(q: list[float]) -> Any:
    return lambda x: x * difflib.SequenceMatcher(q.__contains__, [1.0, 2.0], [2.0]).ratio() + x


def _python_of_an_object(q: list[float]) -> Any:
    return lambda x: x * difflib.SequenceMatcher(lambda c: c in q, [1.0, 2.0], [2.0]).ratio() + x


def _of_an_encoder(q: list[float]) -> Any:
    encoder = json.JSONEncoder(default=lambda _: q[0])
    return lambda x: x * float(encoder.encode(1j))


def _of_a_new_encoder(q: list[float]) -> Any:
    return lambda x: x * float(json.JSONEncoder(default=lambda _: q[0]).encode(1j))


def _of_a_scanner(q: list[float]) -> Any:
    return lambda x: x * re.Scanner([("a", lambda *_: q[0])]).scan("a")[0][0]  # type: ignore[attr-defined]


class _Answering:
    """Objects whose methods other code calls by name."""

    def __init__(self, q: list[float]) -> None:
        self.q = q

    def write(self, _: Any) -> int:
        self.q.append(4.0)
        return 1

    def read(self) -> str:
        return str(self.q[0])

    def sqrt(self) -> float:
        return self.q[0]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {**np.array(self.q[:1]).__array_interface__}


def _read_from(q: list[float]) -> Any:
    held: Any = _Answering(q)
    return lambda x: x * json.load(held)


def _method_of_an_item(q: list[float]) -> Any:
    items = np.empty(1, object)
    items[0] = _Answering(q)
    return lambda x: x * np.sqrt(items)[0]


def _seen_as_an_array(q: list[float]) -> Any:
    held: Any = _Answering(q)
    return lambda x: x * float(np.asarray(held).sum())


READING = (
    _read_from, _method_of_an_item, _seen_as_an_array,
    _vectorized, _vectorized_before, _python_vectorized_before, _partial_vectorized,
    _plain_partial_vectorized, _from_python, _from_python_before, _in_a_list, _in_a_list_before,
    _as_a_key, _of_an_object, _python_of_an_object, _of_an_encoder, _of_a_new_encoder,
    _of_a_scanner,
)  # fmt: skip


def _adding(q: list[float]) -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        np.vectorize(q.append, otypes=[object])([4.0])
        return x * len(q)

    return fn


def _adding_in_a_list(q: list[float]) -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        def add(v: Any) -> Any:
            q.append(4.0)
            return v

        calls: Any = [add]
        return x * float(np.piecewise(np.array([3.0]), [ONE], calls).sum()) * len(q)

    return fn


def _setting(q: list[float]) -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        np.frompyfunc(q.__setitem__, 2, 1)(np.array([0]), np.array([x.shape[0] * 1.0]))
        return x * q[0]

    return fn


def _writing_to(q: list[float]) -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        json.dump(1, _Answering(q))
        return x * len(q)

    return fn


def _writing_rows(q: list[float]) -> Any:
    held = _Answering(q)

    def fn(x: torch.Tensor) -> torch.Tensor:
        csv.writer(held).writerow([1])
        return x * len(q)

    return fn


WRITING = (_writing_to, _writing_rows, _adding, _adding_in_a_list, _setting)


@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("make", [*READING, *WRITING])
def test_compiled(make: Callable[[list[float]], Any], options: dict[str, Any]) -> None:
    own, other = [3.0, 1.0, 2.0], [3.0, 1.0, 2.0]
    program, eager = anyshape.compile(make(own), **options), make(other)
    for size, first in zip((3, 4, 0, 1, 5), (None, None, 0.5, 2.0, 3.0), strict=True):
        if first is not None:
            own[0] = other[0] = first
        x = torch.ones(size)
        assert torch.equal(program(x), eager(x))
        assert own == other


@pytest.mark.parametrize("make", READING)
def test_exported(make: Callable[[list[float]], Any]) -> None:
    q = [3.0, 1.0, 2.0]
    fn = make(q)
    try:
        program = anyshape.export(fn, (torch.ones(3),))
    except (EffectError, UnsupportedError):
        return
    assert torch.equal(program(torch.ones(3)), fn(torch.ones(3)))
    q[:] = [0.5, 7.0, 6.0]
    assert any(c.is_stale for c in program.constants)


@pytest.mark.parametrize("make", WRITING)
def test_an_export_refuses_what_is_written(make: Callable[[list[float]], Any]) -> None:
    q = [3.0, 1.0, 2.0]
    with pytest.raises((EffectError, UnsupportedError)):
        anyshape.export(make(q), (torch.ones(3),))
    assert q == [3.0, 1.0, 2.0]


def test_no_function_with_an_effect_is_called_by_other_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EffectError, match="print may be called"):
        anyshape.export(lambda x: (np.vectorize(print)(["a"]), x)[1], (torch.ones(3),))
    assert capsys.readouterr().out == ""


def test_an_object_is_given_to_other_code_where_no_profiler_runs() -> None:
    held: Any = _Answering([3.0])
    sys.setprofile(lambda *_: None)
    try:
        with pytest.raises(EffectError, match="in a profile"):
            anyshape.export(lambda x: x * json.load(held), (torch.ones(3),))
    finally:
        sys.setprofile(None)
