"""`dynamic_shapes`: all the ways to write it, and one clear error for each way to get it wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

from anyshape import ArgumentError, ConstraintError, ConstraintViolation, Dim, export
from anyshape.errors import AnyshapeWarning

X, Y = torch.randn(4, 6), torch.randn(4, 3)


def f(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.sum(1) + y.sum(1)


def shapes(program: Any) -> list[str]:
    return [", ".join(i.shape or ()) for i in program.contract().inputs]


B = torch.export.Dim("batch")
SAME = ["batch, 6", "batch, 3"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, ["4, 6", "4, 3"]),
        ({}, ["4, 6", "4, 3"]),
        ({"x": {0: "batch"}, "y": {0: "batch"}}, SAME),
        (({0: "batch"}, {0: "batch"}), SAME),
        ([["batch", None], ("batch", None)], SAME),
        ({"x": {0: Dim("batch")}, "y": {-2: Dim("batch")}}, SAME),
        ({"x": {0: B}, "y": {0: B}}, SAME),
        ({"x": (Dim("batch", min=1, max=9), Dim.STATIC), "y": ("batch", 3)}, SAME),
        ({"x": {1: Dim.UNBACKED}, "y": {1: Dim.UNBACKED}}, ["4, x.size(1)", "4, y.size(1)"]),
        ({"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}, ["x.size(0), 6", "y.size(0), 3"]),
        (
            {"x": {0: Dim.DYNAMIC(min=2)}, "y": {0: torch.export.Dim.AUTO}},
            ["x.size(0), 6", "y.size(0), 3"],
        ),
    ],
)
def test_ways_to_write_it(spec: Any, expected: list[str]) -> None:
    program = export(f, (X, Y), dynamic_shapes=spec)
    assert shapes(program) == expected
    assert torch.equal(program(X, Y), f(X, Y))


@pytest.mark.parametrize(
    "text", ["2*batch", "batch + 4", "batch // 2 + 6", "batch**2 - 8", "3*batch - 4"]
)
def test_derived_sizes(text: str) -> None:
    def g(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.sum() + y.sum()

    program = export(g, (torch.randn(4), torch.randn(8)), dynamic_shapes=({0: "batch"}, {0: text}))
    for n in (4, 6, 9):
        size = eval(text, {"batch": n})
        program(torch.randn(n), torch.randn(size))
        with pytest.raises(ConstraintError, match=r"y\.size\(0\) is"):
            program(torch.randn(n), torch.randn(size + 1))


def test_a_name_that_stands_only_in_an_expression_is_solved_for() -> None:
    program = export(lambda x: x * 2, (torch.randn(7),), dynamic_shapes=({0: "2*batch + 1"},))
    assert shapes(program) == ["2*batch + 1"]
    assert program(torch.randn(11)).shape == (11,)
    with pytest.raises(ConstraintError, match=r"x\.size\(0\) is 8; it must be 2\*batch \+ 1"):
        program(torch.randn(8))


def test_algebra_of_dims() -> None:
    batch, seq = Dim("batch"), Dim("seq")
    assert str(2 * batch + 1) == "2*batch + 1"
    assert str((batch + seq) // 2) == "(batch + seq) // 2"
    assert str(10 - batch) == "-batch + 10"
    assert str(batch % 3) == "batch % 3"
    assert repr(Dim("n", min=1, max=4)) == "Dim('n', min=1, max=4)"
    assert repr(Dim.DYNAMIC(min=2)) == "Dim.DYNAMIC(min=2)"


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def test_nested_inputs() -> None:
    def g(batch: dict[str, Any], pair: Pair, *rest: torch.Tensor, k: int) -> Any:
        return batch["ids"][0].sum() + pair.left.sum() * k + rest[0].sum()

    args = ({"ids": [X, Y]}, Pair(X, Y), Y)
    program = export(
        g,
        args,
        {"k": 3},
        dynamic_shapes={
            "batch": {"ids": [{0: "n"}, None]},
            "pair": [{0: "n"}, {}],
            "rest": [{0: "m"}],
            "k": Dim.DYNAMIC,
        },
    )
    assert [i.name for i in program.contract().inputs] == [
        "batch['ids'][0]", "batch['ids'][1]", "pair.left", "pair.right", "rest[0]", "k",
    ]  # fmt: skip
    other = ({"ids": [torch.randn(7, 6), Y]}, Pair(torch.randn(7, 6), Y), torch.randn(9, 3))
    torch.testing.assert_close(program(*other, k=5), g(*other, k=5))
    with pytest.raises(ConstraintError, match=r"pair\.left\.size\(0\) is 4; it must be n"):
        program(other[0], Pair(X, Y), other[2], k=5)


def test_marks_count_where_the_spec_is_silent() -> None:
    x, y = X.clone(), Y.clone()
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.maybe_mark_dynamic(y, 0)
    program = export(f, (x, y))
    assert shapes(program) == ["x.size(0), 6", "y.size(0), 3"]
    torch._dynamo.decorators.mark_unbacked(x, 1)
    assert program.variants[0].tracer.env.symbols["s0"].kind == "backed"
    again = export(lambda x: x * 2, (x,))
    assert again.symbols["u0"].kind == "unbacked"


def test_the_example_decides_nothing() -> None:
    for n in (0, 1, 6):
        program = export(lambda x: x.sum(1) * 2, (torch.randn(n, 6),), dynamic_shapes=({0: "n"},))
        for m in (0, 1, 2, 5):
            assert program(torch.ones(m, 6)).tolist() == [12.0] * m
    equal = export(lambda x: x.t() * 2, (torch.randn(5, 5),), dynamic_shapes=({0: "n", 1: "m"},))
    assert equal(torch.randn(2, 7)).shape == (7, 2)


@pytest.mark.parametrize(
    ("spec", "error", "text"),
    [
        ({"z": {0: "n"}}, ArgumentError, "names 'z', which is not an argument"),
        (({0: "n"},), ArgumentError, "1 entry for 2 arguments"),
        ("n", ArgumentError, "must be a dict, a list or a tuple, not str"),
        ({"x": {2: "n"}}, ArgumentError, "has dimension 2, and x has rank 2"),
        ({"x": {"a": "n"}}, ArgumentError, "has dimension 'a'"),
        ({"x": {0: "n", -2: "n"}}, ArgumentError, "twice"),
        ({"x": ["n"]}, ArgumentError, "1 entry, and x has rank 2"),
        ({"x": "n"}, ArgumentError, "dynamic_shapes of x is 'n'"),
        ({"x": {0: 2.5}}, ArgumentError, r"x.size\(0\) cannot be 2.5"),
        ({"x": {0: 5}}, ConstraintError, r"x\.size\(0\) is 4 in the example, not 5"),
        ({"x": {0: "n +"}}, ArgumentError, "neither a name of a size nor an expression"),
        ({"x": {0: "2"}}, ArgumentError, "names no size"),
        ({"x": {0: "n > 2"}}, ArgumentError, "not a size"),
        ({"x": {0: Dim("n", min=7)}}, ConstraintError, "outside of Dim"),
        ({"x": {0: Dim.DYNAMIC(max=3)}}, ConstraintError, "outside of Dim.DYNAMIC"),
        (
            {"x": {0: Dim("n", min=1)}, "y": {0: Dim("n", min=2)}},
            ConstraintError,
            "two different Dims",
        ),
        ({"x": {0: "n*m"}}, ConstraintError, "cannot be solved"),
        ({"x": {0: "3*n"}}, ConstraintError, "is not 3\\*n"),
    ],
)
def test_bad_specs(spec: Any, error: type[Exception], text: str) -> None:
    if isinstance(spec, dict) and [*spec] == ["x"]:
        spec = {**spec, "y": None}
    with pytest.raises(error, match=text):
        export(f, (X, Y), dynamic_shapes=spec)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Dim(3), ArgumentError),  # type: ignore[arg-type]
        (lambda: Dim("a b"), ArgumentError),
        (lambda: Dim("n", min=-1), ConstraintError),
        (lambda: Dim("n", min=5, max=3), ConstraintError),
        (lambda: Dim("n", min=1.5), ArgumentError),  # type: ignore[arg-type]
        (lambda: Dim.STATIC(min=2), ArgumentError),
        (lambda: export(3, ()), ArgumentError),  # type: ignore[arg-type]
        (lambda: export(f, X), ArgumentError),  # type: ignore[arg-type]
        (lambda: export(f, (X, Y), on_deviation="odd"), ArgumentError),
        (lambda: export(lambda s: s, ("a",), dynamic_shapes=(Dim.DYNAMIC,)), ArgumentError),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


# ---------------------------------------------------------------------- the call and the example


def three(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
    return x.sum() + y.sum() + z.sum()


@pytest.mark.parametrize("keywords", ["z", "y z", "z y", "z x y"])
def test_positions_are_those_of_the_signature(keywords: str) -> None:
    """As in torch, however the call spells and orders its arguments."""
    given = {"x": torch.ones(4), "y": torch.ones(5), "z": torch.ones(6)}
    kwargs = {name: given[name] for name in keywords.split()}
    args = tuple(t for name, t in given.items() if name not in kwargs)
    program = export(three, args, kwargs, dynamic_shapes=({0: "a"}, {0: "b"}, None))
    inputs = {i.name: i.shape for i in program.contract().inputs}
    assert inputs == {"x": ("a",), "y": ("b",), "z": ("6",)}
    module = torch.nn.Module()
    module.forward = three  # type: ignore[method-assign]
    dims = [torch.export.Dim(name) for name in "ab"]
    theirs = torch.export.export(
        module, args, kwargs, dynamic_shapes=({0: dims[0]}, {0: dims[1]}, None)
    )
    assert len(theirs.range_constraints) == 2


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ({"x": {0: "a"}, "y": None}, "'z'"),
        ({"x": {0: "a"}}, "'y', 'z'"),
        ({"z": None, "y": None}, "'x'"),
    ],
)
def test_an_argument_that_is_left_out(spec: Any, missing: str) -> None:
    args = (torch.ones(4), torch.ones(5), torch.ones(6))
    with pytest.raises(ArgumentError, match=f"dynamic_shapes leaves out {missing}"):
        export(three, args, dynamic_shapes=spec)


def test_an_item_that_is_left_out() -> None:
    def g(batch: dict[str, torch.Tensor]) -> Any:
        return batch["a"].sum() + batch["b"].sum()

    args = ({"a": torch.ones(4), "b": torch.ones(5)},)
    with pytest.raises(ArgumentError, match="dynamic_shapes of batch leaves out 'b'"):
        export(g, args, dynamic_shapes=({"a": {0: "n"}},))
    export(g, args, dynamic_shapes=({"a": {0: "n"}, "b": None},))
    export(g, args, dynamic_shapes={})


def test_keywords_that_the_signature_collects() -> None:
    def g(x: torch.Tensor, **rest: torch.Tensor) -> Any:
        return x.sum() + rest["y"].sum()

    for spec in ({"x": None, "y": {0: "n"}}, {"x": None, "rest": {"y": {0: "n"}}}):
        program = export(g, (X,), {"y": torch.ones(5)}, dynamic_shapes=spec)
        assert {i.name: i.shape for i in program.contract().inputs}["y"] == ("n",)


@pytest.mark.parametrize("text", ["2*n", "n", "n // 2", "n + 3"])
def test_an_example_that_the_spec_does_not_allow(text: str) -> None:
    args = (torch.ones(4), torch.ones(5))
    with pytest.raises(ConstraintError, match=r"y\.size\(0\) is 5 in the example, and"):
        export(lambda x, y: x.sum() + y.sum(), args, dynamic_shapes=({0: "n"}, {0: text}))


def test_two_names_that_a_broadcast_ties() -> None:
    args = (torch.ones(4, 3), torch.ones(4, 3))
    with pytest.warns(AnyshapeWarning, match="(?s)batch and bacth are two.*write batch for both"):
        export(lambda x, y: x + y, args, dynamic_shapes=({0: "batch"}, {0: "bacth"}))
    export(lambda x, y: x + y, args, dynamic_shapes=({0: "batch"}, {0: "batch"}))


# ---------------------------------------------------------------------- what is served


def square(x: torch.Tensor) -> Any:
    h, w = x.shape
    return x + 1 if h * w == 196 and h == w else x


def steps(x: torch.Tensor) -> Any:
    if x.size(0) > 100:
        return x
    if x.size(0) > 50:
        return x + 1
    return x + 2 if x.size(1) > x.size(0) else x + 3


def by_row(x: torch.Tensor) -> Any:
    return sum(x[i] for i in range(x.size(0)))


@pytest.mark.parametrize(
    ("fn", "spec", "is_complete"),
    [
        (square, ({0: "h", 1: "w"},), True),
        (steps, ({0: "h", 1: "w"},), True),
        (lambda x: x * 2, ({0: "h", 1: "w"},), True),
        (lambda x: x if x.size(0) % 4 else x + 1, ({0: "h"},), True),
        (lambda x: x.view(-1, 2), ({0: "h", 1: "w"},), True),
        (by_row, ({0: Dim("h", min=2, max=7)},), True),
    ],
)
def test_complete_is_proved(fn: Any, spec: Any, is_complete: bool) -> None:
    """If a program says that it is complete, it serves every size or raises as eager does."""
    program = export(fn, (torch.ones(4, 6),), dynamic_shapes=spec)
    assert program.is_complete is is_complete
    refused = 0
    for h, w in [(h, w) for h in (0, 1, 2, 5, 7, 14, 51, 196) for w in (1, 6, 14)]:
        x = torch.ones(h, w)
        try:
            wanted = fn(x)
        except RuntimeError:
            continue
        try:
            assert torch.equal(torch.as_tensor(program(x)), torch.as_tensor(wanted))
        except ConstraintError as e:
            refused += "was not exported" in str(e)
    assert not (refused and is_complete and "min" not in str(spec))


def test_a_size_whose_value_the_program_needs() -> None:
    args = (torch.ones(4, 6),)
    with pytest.raises(
        ConstraintViolation,
        match=r"(?s)n is dynamic in the spec, and the program refuses n = \d+; it has 16 variants,"
        r" n is one of 0, 1, .* in them.*n == 4 .* in by_row: .*allow_partial=True",
    ):
        export(by_row, args, dynamic_shapes=({0: "n"},))
    program = export(by_row, args, dynamic_shapes=({0: "n"},), allow_partial=True)
    assert torch.equal(program(torch.ones(3, 6)), torch.full((6,), 3.0))
    assert not program.is_complete
    with pytest.warns(AnyshapeWarning, match=r"x\.size\(0\) is Dim.AUTO .* is one of 0, 1, 2"):
        export(by_row, args, dynamic_shapes=({0: Dim.AUTO},))


def test_programs_of_several_variants_say_so() -> None:
    program = export(lambda x: x if x.size(0) > 1 else x + 1, (X,), dynamic_shapes=({0: "n"},))
    assert len(program.variants) == 2
    for read in (lambda: program.graph, lambda: program.guards, program.to_fx):
        with pytest.raises(
            ArgumentError, match=r"2 variants, each with .*\n.*0: 2 <= n; 1: n <= 1"
        ):
            read()
    assert program.code.count("def run(flat)") == 2
    assert "# if n <= 1:" in program.code
    one = torch.zeros(1, X.size(1))
    (found,) = program.to_fx(variant=1)(one)
    assert torch.equal(found, one + 1)
    with pytest.raises(AssertionError, match="a guard fails: n <= 1"):
        program.to_fx(variant=1)(X)
