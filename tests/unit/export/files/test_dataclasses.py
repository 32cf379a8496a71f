"""Dataclasses among inputs and outputs, without any registration."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import ArgumentError, ConstraintError, Dim, UnsupportedError
from anyshape.export import StandIn, export, load
from anyshape.trace import tree

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor
    scale: float = 2.0
    names: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.x.shape[0]


@dataclass(frozen=True, slots=True)
class Frozen:
    batch: Batch
    extra: dict[str, torch.Tensor]
    start: InitVar[int] = 5
    offset: int = field(init=False, default=0)

    def __post_init__(self, start: int) -> None:
        object.__setattr__(self, "offset", start * 2)


def loss(batch: Batch) -> Any:
    return (batch.x.sum(1) + batch.y) * batch.scale * batch.rows


def batch_of(n: int) -> Batch:
    torch.manual_seed(n)
    return Batch(torch.randn(n, 3), torch.randn(n), names=["a"])


@pytest.mark.parametrize(
    "spec",
    [
        {"batch": {"x": {0: "n"}, "y": {0: "n"}}},
        ({"x": {0: "n"}, "y": {0: Dim("n")}, "scale": None},),
        (Batch({0: "n"}, {0: "n"}, None, [None]),),  # type: ignore[arg-type]
        ([{0: "n"}, {0: "n"}, None, None],),
    ],
)
def test_by_field_name(spec: Any) -> None:
    program = export(loss, (batch_of(4),), dynamic_shapes=spec)
    assert [i.name for i in program.contract().inputs] == [
        "batch.x", "batch.y", "batch.scale", "batch.names[0]",
    ]  # fmt: skip
    report = program.verify(*[(batch_of(n),) for n in (0, 1, 2, 7)])
    assert report.ok, str(report)
    with pytest.raises(ConstraintError, match=r"batch\.y\.size\(0\) is 3; it must be n"):
        program(Batch(torch.randn(2, 3), torch.randn(3), names=["a"]))
    with pytest.raises(ConstraintError, match=r"batch\.scale is 3\.0"):
        program(dataclasses.replace(batch_of(4), scale=3.0))
    with pytest.raises(ArgumentError, match="another structure"):
        program((torch.randn(2, 3), torch.randn(2)))


def test_a_number_in_a_field_can_vary() -> None:
    program = export(
        loss,
        (batch_of(4),),
        dynamic_shapes={"batch": {"x": {0: "n"}, "y": {0: "n"}, "scale": Dim.DYNAMIC}},
    )
    assert program.verify((dataclasses.replace(batch_of(5), scale=0.25),))


def test_an_unknown_field() -> None:
    with pytest.raises(ArgumentError, match=r"dynamic_shapes of batch names 'z'.*\n.*'x', 'y'"):
        export(loss, (batch_of(4),), dynamic_shapes={"batch": {"z": {0: "n"}}})


def test_frozen_nested_with_slots_and_fields_that_init_does_not_take() -> None:
    def f(given: Frozen) -> Frozen:
        b = given.batch
        made = Batch(b.x * given.offset, b.y + given.extra["z"], names=["out"])
        return Frozen(made, {"sum": b.x.sum()}, start=b.x.shape[1])

    def example(n: int) -> Frozen:
        return Frozen(batch_of(n), {"z": torch.ones(())}, start=7)

    spec = {"given": {"batch": {"x": {0: "n"}, "y": {0: "n"}}}}
    program = export(f, (example(4),), dynamic_shapes=spec)
    for n in (0, 1, 6):
        got, want = program(example(n)), f(example(n))
        assert type(got) is Frozen
        assert type(got.batch) is Batch
        assert got.offset == want.offset == 6
        assert got.batch.names == ["out"]
        torch.testing.assert_close(got.batch.x, want.batch.x, rtol=0, atol=0)
        torch.testing.assert_close(got.extra, want.extra, rtol=0, atol=0)
    with pytest.raises(ConstraintError, match=r"given\.offset is 2; .* for 14"):
        program(Frozen(batch_of(4), {"z": torch.ones(())}, start=1))


def test_a_size_kept_in_a_field() -> None:
    @dataclass
    class Sized:
        x: torch.Tensor
        n: int = field(init=False)

        def __post_init__(self) -> None:
            self.n = self.x.shape[0]

    def f(s: Sized) -> Any:
        return s.x.sum() / s.n

    fixed = export(f, (Sized(torch.ones(4)),), dynamic_shapes={"s": {"x": {0: "n"}}})
    with pytest.raises(ConstraintError, match=r"s\.n is 5; the program was traced for 4"):
        fixed(Sized(torch.ones(5)))
    free = export(f, (Sized(torch.ones(4)),), dynamic_shapes={"s": {"x": {0: "n"}, "n": "n"}})
    assert free.verify((Sized(torch.ones(5)),), (Sized(torch.ones(9)),))
    assert "s.n: int = n" in str(free.contract())
    wrong = Sized(torch.ones(5))
    wrong.n = 4
    with pytest.raises(ConstraintError, match=r"s\.n is 4; it must be n, which is 5"):
        free(wrong)


def test_a_field_without_a_value_and_a_cached_property() -> None:
    @dataclass
    class Lazy:
        x: torch.Tensor
        later: Any = field(init=False)

        @functools.cached_property
        def total(self) -> torch.Tensor:
            return self.x.sum()

    given = Lazy(torch.ones(4))
    assert given.total == 4
    program = export(lambda s: s.total + 1, (given,), dynamic_shapes={"s": {"x": {0: "n"}}})
    assert program(Lazy(torch.ones(6))) == 7
    other = Lazy(torch.ones(6))
    other.later = 1
    with pytest.raises(ArgumentError, match="another structure"):
        program(other)


def test_attributes_that_are_no_fields_are_refused() -> None:
    given = batch_of(3)
    given.hidden = torch.ones(3)  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match="Batch with the attribute hidden"):
        export(loss, (given,))

    def leaks(batch: Batch) -> Batch:
        made = Batch(batch.x, batch.y)
        made.hidden = batch.x * 2  # type: ignore[attr-defined]
        return made

    with pytest.raises(UnsupportedError, match="Batch with the attribute hidden"):
        export(leaks, (batch_of(3),))


def test_a_changed_field_is_refused() -> None:
    def replaced(batch: Batch) -> Any:
        batch.x = batch.x * 2
        return batch.x

    def longer(batch: Batch) -> Any:
        batch.names.append("b")
        return batch.x + 1

    for f in (replaced, longer):
        with pytest.raises(UnsupportedError, match="changes what the argument batch holds"):
            export(f, (batch_of(3),))


def test_what_is_inside_itself_is_refused() -> None:
    given = batch_of(3)
    given.names = [given]  # type: ignore[list-item]
    with pytest.raises(UnsupportedError, match="contains itself"):
        export(loss, (given,))


def test_a_registered_class_is_what_pytree_says(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Known:
        x: torch.Tensor
        note: str = ""

    monkeypatch.setitem(
        pytree.SUPPORTED_NODES,
        Known,
        pytree.NodeDef(Known, lambda k: ([k.x], k.note), lambda xs, note: Known(*xs, note), None),
    )
    program = export(lambda k: k.x + 1, (Known(torch.ones(2), "a"),))
    assert [i.name for i in program.contract().inputs] == ["k[0]"]
    with pytest.raises(ArgumentError, match="another structure"):
        program(Known(torch.ones(2), "b"))


def test_nothing_is_registered() -> None:
    export(loss, (batch_of(3),))
    assert Batch not in pytree.SUPPORTED_NODES
    assert pytree.tree_leaves(batch := batch_of(2)) == [batch]


def test_saved_and_loaded(tmp_path: Path) -> None:
    def f(batch: Batch) -> Batch:
        return Batch(batch.x * 2, batch.y, batch.scale, ["out"])

    spec = {"batch": {"x": {0: "n"}, "y": {0: "n"}}}
    program = export(f, (batch_of(4),), dynamic_shapes=spec)
    program.save(tmp_path / "a")
    for classes, kind in ((None, StandIn), ((), StandIn), ((Batch,), Batch), ((Frozen,), StandIn)):
        loaded = load(tmp_path / "a", classes=classes)
        loaded.save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        given = batch_of(6)
        plain = {"x": given.x, "y": given.y, "scale": 2.0, "names": ["a"]}
        for inputs in (given, plain):
            result: Any = loaded(inputs)
            assert type(result) is kind
            assert torch.equal(result.x, given.x * 2)
            assert torch.equal(result.y, given.y)
            assert (result.scale, result.names) == (2.0, ["out"])
        del plain["scale"]
        with pytest.raises(ArgumentError, match=r"batch is a dict.*not a .*Batch of x, y"):
            loaded(plain)


def test_a_planted_mistake_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields in the wrong order make another program than eager execution."""
    monkeypatch.setattr(tree, "_fields", lambda cls: ("y", "x", "scale", "names"))
    handler = pytree.SUPPORTED_NODES[tree.Fields]
    wrong = handler._replace(
        unflatten_fn=lambda xs, context: handler.unflatten_fn(xs, (context[0], tuple(_FIELDS)))
    )
    monkeypatch.setitem(pytree.SUPPORTED_NODES, tree.Fields, wrong)
    square = Batch(torch.randn(3), torch.randn(3), names=["a"])
    program = export(lambda b: b.x - 2 * b.y, (square,))
    assert not program.verify((square,)).ok


_FIELDS = [f.name for f in dataclasses.fields(Batch)]
