"""`verify`: an exported program against eager execution, call by call."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.export.program import ExportedProgram


_MAX_DEPTH: Final = 20
_SHOWN: Final = 40  # lines of a report


class Row(NamedTuple):
    """One call: the shapes of its tensors, the outcome, and how the results differ."""

    call: int
    shapes: str
    outcome: str
    detail: str


class Report(NamedTuple):
    """All calls; true if the program agrees with eager execution in each of them."""

    rows: list[Row]

    @property
    def ok(self) -> bool:
        """Whether in every call the results are equal, or both raise."""
        return all(row.outcome in ("equal", "both raise") for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = str(self).splitlines()
        left_out = len(lines) - _SHOWN
        more = [f"and {left_out} more, which str() lists"] if left_out > 0 else []
        return "\n".join(lines[:_SHOWN] + more)

    def __str__(self) -> str:
        width = max([len(r.shapes) for r in self.rows], default=6)
        lines = [f"{'call':>4}  {'shapes':<{width}}  outcome"]
        for r in self.rows:
            lines.append(
                f"{r.call:>4}  {r.shapes:<{width}}  {r.outcome}"
                + (f": {r.detail}" if r.detail else "")
            )
        return "\n".join(lines)


def verify(program: ExportedProgram, calls: Sequence[Any], eager: Any) -> Report:
    """Compare the program with `eager`, the function that it was made from."""
    eager = eager if eager is not None else program.function
    if eager is None:
        raise ArgumentError("verify needs a function to compare with", fix="pass eager=fn")
    if not callable(eager):
        raise ArgumentError(f"eager must be a function, not {type(eager).__name__}")
    if not calls:
        raise ArgumentError(
            "verify has no calls to compare",
            fix="write verify((x,), (y,)), one tuple for each call",
        )
    rows = []
    for i, call in enumerate(calls):
        args = call if isinstance(call, tuple) else (call,)
        shapes = ", ".join(
            str(tuple(x.shape)) for x in tree.flatten(args)[0] if isinstance(x, torch.Tensor)
        )
        rows.append(Row(i, shapes, *_compare(program, eager, args)))
    return Report(rows)


def _compare(program: Any, eager: Any, args: tuple[Any, ...]) -> tuple[str, str]:
    want = _outcome(eager, args)
    got = _outcome(program, args)
    if isinstance(want, Exception):
        if isinstance(got, Exception):
            return "both raise", ""
        return "differs", f"eager raises {type(want).__name__}: {_brief(want)}"
    if isinstance(got, AnyshapeError):
        return "refused", _brief(got)
    if isinstance(got, Exception):
        return "differs", f"raises {type(got).__name__}: {_brief(got)}"
    return _difference(got, want)


def _outcome(f: Any, args: tuple[Any, ...]) -> Any:
    torch.manual_seed(0)
    try:
        return f(*copy.deepcopy(args))
    except Exception as e:
        return e


def _brief(e: Exception) -> str:
    return (str(e).splitlines() or [""])[0]


def _difference(got: Any, want: Any) -> tuple[str, str]:
    a, b = _leaves(got), _leaves(want)
    if len(a) != len(b):
        return "differs", f"{len(a)} results for {len(b)}"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if isinstance(y, torch.Tensor):
            if not isinstance(x, torch.Tensor) or x.shape != y.shape or x.dtype is not y.dtype:
                return "differs", f"result {i} is {_describe(x)}, not {_describe(y)}"
            if not torch.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True):
                difference = (x.to(torch.complex128) - y.to(torch.complex128)).abs().max().item()
                return "differs", f"result {i} by up to {difference:.3g}"
        elif x != y:
            return "differs", f"result {i} is {x!r}, not {y!r}"
    return "equal", ""


def _leaves(x: Any, depth: int = 0) -> list[Any]:
    """The leaves of a result; an object of a class of Python's is its attributes."""
    found = tree.level(x)
    if found is None and depth < _MAX_DEPTH:
        found = tree.members(x) if tree.has_members(type(x)) else tree.derived(x)
    if found is None:
        return [x]
    kind = [found.context] if found.kind in (tree.Members, tree.Derived) else []
    return kind + [leaf for part in found.parts for leaf in _leaves(part, depth + 1)]


def _describe(x: Any) -> str:
    return f"{x.dtype} {tuple(x.shape)}" if isinstance(x, torch.Tensor) else repr(x)
