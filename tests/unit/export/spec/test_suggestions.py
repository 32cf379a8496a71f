"""What a `ConstraintViolation` says to write is written, and the export works."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape import ConstraintViolation, Dim, export
from anyshape.export.spec import specialized_dim

if TYPE_CHECKING:
    from collections.abc import Sequence

X, Y = torch.randn(6), torch.randn(3)


def six(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.view(6) + y.sum()


def six_and_three(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.view(2, 3) + y.view(3)


def between(x: torch.Tensor, y: torch.Tensor) -> Any:
    torch._check(x.size(0) > 5)
    torch._check(x.size(0) < 7)
    return x * y.sum()


def up_to_here(x: torch.Tensor, y: torch.Tensor) -> Any:
    torch._check(x.size(0) >= 6)
    return x * y.sum()


def from_here(x: torch.Tensor, y: torch.Tensor) -> Any:
    torch._check(x.size(0) <= 6)
    return x * y.sum()


def even(x: torch.Tensor, y: torch.Tensor) -> Any:
    torch._check(x.size(0) % 2 == 0)
    torch._check(x.size(0) > 5)
    torch._check(x.size(0) < 8)
    return x * y.sum()


def multiple(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.view(2, 3) * y.sum()


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "a name": (six, ({0: "a"}, {0: "b"})),
    "a Dim": (six, ({0: Dim("a")}, None)),
    "a bounded Dim": (six, ({0: Dim("a", min=2, max=9)}, None)),
    "a hint": (six, ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})),
    "a bounded hint": (six, ({0: Dim.DYNAMIC(min=1, max=8)}, None)),
    "unbacked": (six, ({0: Dim.UNBACKED}, None)),
    "two names": (six_and_three, ({0: "a"}, {0: "b"})),
    "twice a name": (six, ({0: "2*a"}, {0: "a"})),
    "twice a name that stands nowhere": (six, ({0: "2*a"}, None)),
    "an odd size": (six, ({0: "2*a + 4"}, {0: "2*a + 1"})),
    "half a name": (six_and_three, ({0: "a"}, {0: "a // 2"})),
    "Dims that are multiplied": (six_and_three, ({0: 2 * Dim("a")}, {0: Dim("a")})),
    "a list": (six, (["a"], [None])),
    "by bounds": (between, ({0: "a"}, {0: "b"})),
    "by the largest size": (up_to_here, ({0: Dim("a", max=6)}, None)),
    "by the smallest size": (from_here, ({0: Dim("a", min=6)}, None)),
    "by parity": (even, ({0: "a"}, None)),
    "by parity of a multiple": (even, ({0: "3*a"}, {0: "a + 1"})),
    "by a view": (multiple, ({0: "a"}, {0: "b"})),
}
_FIX = re.compile(r"  fix: write (.*), or change the lines above$")


def suggested(error: ConstraintViolation) -> dict[str, Any]:
    """The specs that an error says to write, by place."""
    (text,) = [m[1] for line in str(error).splitlines() if (m := _FIX.match(line))]
    entries = [entry.rpartition(" for ") for entry in text.split(", ")]
    return {place: ast.literal_eval(spec) for spec, _, place in entries}


def applied(
    spec: tuple[Any, ...], changes: dict[str, Any], names: Sequence[str] = "xy"
) -> list[Any]:
    """A spec of one-dimensional tensors and numbers with other entries at some places."""
    found = list(spec)
    for place, entry in changes.items():
        name, _, dim = place.partition(".size")
        assert dim in ("", "(0)")
        found[names.index(name)] = {0: entry} if dim else entry
    return found


def check(
    fn: Any, args: tuple[Any, ...], spec: tuple[Any, ...], names: Sequence[str] = "xy"
) -> Any:
    """Export is refused with a suggestion; with it, the program exports and is right."""
    with pytest.raises(ConstraintViolation) as caught:
        export(fn, args, dynamic_shapes=spec)
    assert "9223372036854775807" not in str(caught.value)
    better = applied(spec, suggested(caught.value), names)
    program = export(fn, args, dynamic_shapes=better)
    assert program.verify(args).ok
    return program


@pytest.mark.parametrize("name", CASES)
def test_the_suggestion_works(name: str) -> None:
    fn, spec = CASES[name]
    check(fn, (X, Y), spec)


def test_what_is_free_stays_free() -> None:
    def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        return x.unflatten(0, (3, -1)).sum(0) * y.view(3).sum() + z

    program = check(f, (X, Y, torch.randn(2)), ({0: "a*b"}, {0: "a"}, {0: "b"}), list("xyz"))
    assert [i.shape for i in program.contract().inputs] == [("3*b",), ("3",), ("b",)]
    assert program.verify((torch.randn(12), Y, torch.randn(4))).ok


def test_numbers() -> None:
    def f(x: torch.Tensor, k: int, flip: bool) -> Any:
        torch._check(k == 2)
        torch._check(flip)
        return x[:k]

    check(f, (X, 2, True), ({0: "n"}, Dim.DYNAMIC, Dim.DYNAMIC), ["x", "k", "flip"])


def test_what_the_spec_itself_pins_is_no_violation() -> None:
    for entry in (Dim("a", min=6, max=6), Dim.DYNAMIC(min=6, max=6)):
        export(six, (X, Y), dynamic_shapes=({0: entry}, None))


def test_a_wrong_suggestion_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the value of a name where the size is an expression of it."""
    monkeypatch.setattr(specialized_dim, "_reduced", lambda entry, values: str(values["a"]))
    with pytest.raises(ValueError, match="in the example"):
        check(six, (X, Y), ({0: "2*a"}, {0: "a"}))


# ---------------------------------------------------------------------- contracts


def joined(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.stack([x, y])


def doubled(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.stack([torch.cat([y, y]), x])


def at_least(x: torch.Tensor, y: torch.Tensor) -> Any:
    torch._check(x.size(0) >= 3)
    torch._check(x.size(0) <= 40)
    return x[:3] + y.sum()


def halves(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.view(2, -1) * y.sum()


@pytest.mark.parametrize(
    ("fn", "sizes", "guard", "spec"),
    [
        (joined, (3, 3), "a == b", ({0: "a"}, {0: "a"})),
        (doubled, (6, 3), "a == 2*b", ({0: "2*b"}, {0: "b"})),
        (at_least, (6, 3), "3 <= a", ({0: Dim("a", min=3, max=40)}, {0: "b"})),
        (halves, (6, 3), "a % 2 == 0", ({0: "2*a"}, {0: "b"})),
    ],
)
def test_what_a_contract_says_can_be_written(fn: Any, sizes: Any, guard: str, spec: Any) -> None:
    """A relation of sizes is no violation: it is in the contract, and in a spec it is no guard."""
    args = tuple(torch.randn(n) for n in sizes)
    loose = export(fn, args, dynamic_shapes=({0: "a"}, {0: "b"}))
    assert guard in [g for variant in loose.contract().variants for g in variant]
    assert loose.refused
    tight = export(fn, args, dynamic_shapes=spec)
    assert tight.contract().variants == [[]]
    assert not tight.refused
    assert tight.verify(args).ok
