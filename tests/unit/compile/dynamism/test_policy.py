"""Who decides what a size or number is, and that a traced program keeps to it."""

from __future__ import annotations

import inspect
import itertools
import weakref
from typing import Any

import pytest
import torch
from torch._dynamo import decorators as theirs

from anyshape import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from anyshape.compile.dynamism import policy as module
from anyshape.compile.dynamism.policy import Policy
from anyshape.config import config
from anyshape.errors import (
    AnyshapeWarning,
    ArgumentError,
    ConstraintError,
    ConstraintViolation,
    DataDependentError,
    RuntimeAssertError,
)
from anyshape.trace import capture
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED, Spot


def chosen(policy: Policy, **values: Any) -> dict[tuple[str, int | None], str]:
    """The kind of every size and number of a call."""
    choice = policy.choice(list(values), list(values.values()))
    found = {}
    for i, (name, x) in enumerate(values.items()):
        if isinstance(x, torch.Tensor):
            spots = [Spot(i, f"{name}.size({d})", d, n) for d, n in enumerate(x.shape)]
        else:
            spots = [Spot(i, name, None, x)]
        for spot in spots:
            kind = choice(spot)
            found[name, spot.dim] = kind[0] if isinstance(kind, tuple) else kind
    return found


def only(policy: Policy, x: Any) -> str:
    """The kind of the first size, or of the number, of an only input `x`."""
    return next(iter(chosen(policy, x=x).values()))


def traced(fn: Any, *args: Any, policy: Policy | None = None) -> Any:
    inputs = Arguments.of(fn, args, {})
    choice = (policy or Policy()).choice(inputs.names, inputs.flat)
    captured = capture(fn, args, dynamic=choice)
    choice.check(captured)
    return captured


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


# ---------------------------------------------------------------------- who decides

MARKS = {"unbacked": mark_unbacked, "dynamic": mark_dynamic, "maybe": maybe_mark_dynamic}
MARKS["static"] = mark_static
KIND_OF_MARK = {"unbacked": UNBACKED, "dynamic": BACKED, "maybe": BACKED, "static": STATIC}
LISTS = {"unbacked_sources": UNBACKED, "dynamic_sources": BACKED, "static_sources": STATIC}
POLICIES = {None: STATIC, True: BACKED, False: STATIC, "unbacked": UNBACKED}


def subsets(names: Any) -> list[tuple[str, ...]]:
    names = list(names)
    return [c for n in range(len(names) + 1) for c in itertools.combinations(names, n)]


@pytest.mark.parametrize("dynamic", POLICIES)
def test_marks_before_lists_before_the_policy(dynamic: Any) -> None:
    for marks, lists in itertools.product(subsets(MARKS), subsets(LISTS)):
        if marks:
            expected = KIND_OF_MARK[marks[0]]
        elif lists:
            expected = LISTS[lists[0]]
        else:
            expected = POLICIES[dynamic]
        x = zeros(4, 5)
        for mark in reversed(marks):
            MARKS[mark](x, 0)
        with config.patch(**dict.fromkeys(lists, "L['x']:0")):
            found = chosen(Policy(dynamic), x=x)
        assert found["x", 0] == expected, (marks, lists)
        assert found["x", 1] == POLICIES[dynamic], (marks, lists)


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("value", [3, -3, 0, 1, 2.5])
def test_lists_before_the_policy_for_numbers(dynamic: Any, value: float) -> None:
    for lists in subsets(LISTS):
        expected = LISTS[lists[0]] if lists else POLICIES[dynamic]
        if not lists and dynamic == "unbacked" and type(value) is float:
            expected = BACKED
        with config.patch(**dict.fromkeys(lists, "x")):
            assert only(Policy(dynamic), value) == expected, lists


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("value", [True, False, float("nan"), float("inf"), 2**63, -(2**63) - 1])
def test_what_is_never_dynamic(dynamic: Any, value: Any) -> None:
    with config.patch(unbacked_sources="x"):
        assert only(Policy(dynamic), value) == STATIC


@pytest.mark.parametrize("dynamic", POLICIES)
def test_torchs_marks_decide_too(dynamic: Any) -> None:
    x = zeros(4, 5, 6, 7)
    theirs.mark_dynamic(x, 0)
    theirs.mark_static(x, 1)
    theirs.mark_unbacked(x, 2, strict=True)
    found = list(chosen(Policy(dynamic), x=x).values())
    assert found == [BACKED, STATIC, UNBACKED, POLICIES[dynamic]]


@pytest.mark.parametrize("dynamic", [1, 0, "static", "yes", "Unbacked", 2.0, [True]])
def test_other_policies_are_refused(dynamic: Any) -> None:
    with pytest.raises(ArgumentError, match="dynamic cannot be"):
        Policy(dynamic)


# ---------------------------------------------------------------------- static first


def test_only_what_changed_is_dynamic() -> None:
    policy = Policy()
    steps = [
        (zeros(4, 5), 3, [STATIC, STATIC, STATIC]),
        (zeros(4, 5), 3, [STATIC, STATIC, STATIC]),
        (zeros(6, 5), 3, [BACKED, STATIC, STATIC]),
        (zeros(7, 5), 4, [BACKED, STATIC, BACKED]),
        (zeros(7, 8), 4, [BACKED, BACKED, BACKED]),
        (zeros(4, 5), 3, [BACKED, BACKED, BACKED]),
    ]
    for x, k, expected in steps:
        assert list(chosen(policy, x=x, k=k).values()) == expected


def test_other_policies_do_not_look_at_what_changed() -> None:
    policy = Policy(False)
    assert only(policy, zeros(4)) == only(policy, zeros(5)) == STATIC
    assert policy.history.is_dynamic("x", 0)


def test_sizes_of_torch_and_ours_in_one_sequence() -> None:
    """The shapes of the graphs are those that torch compiles for the same calls."""
    policy = Policy()
    shapes = []
    for shape in [(4, 5), (6, 5), (7, 8), (1, 5), (0, 5), (3, 1)]:
        captured = traced(lambda x: x + 1, zeros(*shape), policy=policy)
        shapes.append(tuple(n if type(n) is int else "s" for n in captured.inputs.leaves[0].shape))
    assert shapes == [(4, 5), ("s", 5), ("s", "s"), (1, "s"), (0, "s"), ("s", 1)]


def test_true_shares_no_symbols() -> None:
    captured = traced(lambda x, y: (x + 1, y + 1), zeros(4, 4), zeros(4), policy=Policy(True))
    assert len(captured.inputs.binds) == 3
    captured(zeros(5, 6), zeros(7))


# ---------------------------------------------------------------------- ranges and hints


def test_a_declared_range_is_guarded() -> None:
    x = zeros(4)
    mark_dynamic(x, 0, min=3)
    captured = traced(lambda x: x + 1, x)
    assert [g.text for g in captured.guards] == ["3 <= x.size(0)"]
    captured(zeros(3))
    with pytest.raises(ConstraintError):
        captured(zeros(2))


@pytest.mark.parametrize("n", [0, 1])
def test_zero_and_one_of_a_dynamic_mark(n: int) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1

    x = zeros(n)
    mark_dynamic(x, 0)
    assert traced(f, x).inputs.leaves[0].shape == (n,)
    with config.patch(specialize_zero_one=False):
        assert traced(f, x).inputs.binds
    mark_dynamic(x, 0, min=0, max=9)
    captured = traced(f, x)
    for size in (0, 1, 9):
        assert captured(zeros(size)).shape == (size,)


def test_a_hint_decides_nothing() -> None:
    x = zeros(5)
    theirs.mark_dynamic(x, 0, hint_override=100)
    captured = traced(lambda x: x + 1 if x.shape[0] < 50 else x - 1, x)
    assert captured(x)[0] == 1
    y = zeros(5)
    mark_unbacked(y, 0, hint=100)
    captured = traced(lambda y: y * y.shape[0], y)
    env = captured.tracer.env
    assert env.hint_of(env.symbols["u0"].expr) == 100
    assert captured(torch.ones(3)).tolist() == [3, 3, 3]


def test_bounds_of_an_unbacked_mark_are_asserted() -> None:
    x = zeros(5)
    mark_unbacked(x, 0, min=2, max=8)
    captured = traced(lambda x: x + 1, x)
    captured(zeros(8))
    for n in (1, 9):
        with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\)"):
            captured(zeros(n))


def test_an_unbacked_integer_may_be_negative() -> None:
    with config.patch(unbacked_sources="k"):
        captured = traced(lambda x, k: x * k, torch.ones(2), -3)
    for k in (-3, 0, 1, 7):
        assert captured(torch.ones(2), k).tolist() == [k, k]
    with config.patch(unbacked_sources="k"), pytest.raises(DataDependentError):
        traced(lambda x, k: x if k > 0 else -x, torch.ones(2), -3)


# ---------------------------------------------------------------------- sizes with one id


def same_batch(*shapes: tuple[int, ...], shape_id: str = "batch") -> list[torch.Tensor]:
    found = [zeros(*shape) for shape in shapes]
    for t in found:
        mark_unbacked(t, 0, shape_id=shape_id)
    return found


def test_one_id_is_one_size() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.cat([x, y], 1)  # needs the sizes to be equal, and knows it

    captured = traced(f, *same_batch((4, 2), (4, 3)))
    for n in (0, 1, 7):
        assert captured(zeros(n, 2), zeros(n, 3)).shape == (n, 5)
    with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\) and y\.size\(0\)"):
        captured(zeros(4, 2), zeros(5, 3))


def test_an_id_that_is_violated_by_the_traced_call_itself() -> None:
    with pytest.raises(RuntimeAssertError, match="by shape_id 'batch'") as e:
        traced(lambda x, y: (x + 1, y + 1), *same_batch((4, 2), (5, 3)))
    assert e.value.why == "they are 4 and 5"


# those of torch's marks that take bounds: `mark_unbacked` does since torch 2.12
BOUNDED = [
    mark
    for mark in (theirs.mark_dynamic, theirs.mark_unbacked)
    if {"min", "max"} <= inspect.signature(mark).parameters.keys()
]


@pytest.mark.parametrize("mark", BOUNDED)
@pytest.mark.parametrize("bounds", [{"min": 6}, {"max": 4}, {"min": 6, "max": 9}])
def test_a_range_that_is_violated_by_the_traced_call_itself(mark: Any, bounds: Any) -> None:
    x = zeros(5)
    mark(x, 0, **bounds)  # torch does not look at the size
    with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\) is 5 and marked to be in \["):
        traced(lambda x: x + 1, x)


def test_ids_inside_one_tensor_and_across_three() -> None:
    x, y, z = same_batch((4, 4), (4, 2), (4, 3))
    mark_unbacked(x, 1, shape_id="batch")
    mark_unbacked(y, 1, shape_id="other")
    captured = traced(lambda x, y, z: x.sum() + y.sum() + z.sum(), x, y, z)
    assert len(captured.inputs.binds) == 5
    captured(zeros(5, 5), zeros(5, 9), zeros(5, 3))
    for shapes in [((5, 6), (5, 9), (5, 3)), ((5, 5), (4, 4), (5, 3)), ((5, 5), (5, 5), (6, 3))]:
        with pytest.raises(RuntimeAssertError, match="by shape_id 'batch'"):
            captured(*map(zeros, *zip(*shapes, strict=True)))


def test_one_tensor_given_twice_has_one_size() -> None:
    (x,) = same_batch((4, 2))
    captured = traced(lambda a, b: a + b, x, x)
    assert len(captured.inputs.binds) == 1
    y = zeros(6, 2)
    assert captured(y, y).shape == (6, 2)


def test_a_choice_serves_more_than_one_trace() -> None:
    args = tuple(same_batch((4, 2), (4, 3)))
    inputs = Arguments.of(lambda x, y: (x, y), args, {})
    choice = Policy().choice(["x", "y"], inputs.flat)
    for _ in range(2):
        captured = capture(lambda x, y: x.sum() + y.sum(), args, dynamic=choice)
        with pytest.raises(RuntimeAssertError):
            captured(zeros(4, 2), zeros(5, 3))


def test_a_choice_stays_what_it_was() -> None:
    policy = Policy()
    spots = [Spot(0, "x.size(0)", 0, 4), Spot(1, "k", None, 3), Spot(2, "r", None, 0.5)]
    choice = policy.choice(["x", "k", "r"], [zeros(4), 3, 0.5])
    assert [choice(spot) for spot in spots] == [STATIC] * 3
    other = policy.choice(["x", "k", "r"], [zeros(5), 4, 1.5])
    with config.patch(unbacked_sources="x,k"):
        assert [choice(spot) for spot in spots] == [STATIC] * 3
        assert [other(spot) for spot in spots] == [BACKED] * 3
    assert other(spots[2]._replace(value=float("nan"))) == BACKED


def test_a_choice_keeps_no_input_alive() -> None:
    x = zeros(4)
    mark_dynamic(x, 0)
    policy = Policy()
    choice = policy.choice(["x"], [x])
    there = weakref.ref(x)
    del x
    assert there() is None
    assert choice(Spot(0, "x.size(0)", 0, 4)) == (BACKED, {})


def test_ranges_of_one_id_meet() -> None:
    x, y = zeros(5), zeros(5)
    mark_unbacked(x, 0, max=6, shape_id="batch")
    mark_unbacked(y, 0, min=4, shape_id="batch")
    captured = traced(lambda x, y: x.sum() + y.sum(), x, y)
    for n in (4, 6):
        captured(zeros(n), zeros(n))
    for n in (3, 7):
        with pytest.raises(RuntimeAssertError):
            captured(zeros(n), zeros(n))


# ---------------------------------------------------------------------- marks that do not hold


def pins(x: torch.Tensor) -> Any:
    return x + torch.zeros(4)


def branches(x: torch.Tensor) -> Any:
    return x + 1 if x.shape[0] > 3 else x - 1


def halves(x: torch.Tensor) -> Any:
    return x + 1 if x.shape[0] % 2 == 0 else x - 1


def keeps(x: torch.Tensor) -> Any:
    return x * 2


def dynamic(**bounds: int) -> Any:
    return lambda x: mark_dynamic(x, 0, **bounds)


@pytest.mark.parametrize(
    ("fn", "mark", "text"),
    [
        (pins, dynamic(), r"x\.size\(0\) is marked dynamic and always 4 in the program"),
        (pins, dynamic(min=2, max=8), "always 4 in the program"),
        (pins, lambda x: theirs.mark_dynamic(x, 0), "always 4 in the program"),
        (pins, lambda x: theirs.mark_unbacked(x, 0, strict=True), "marked unbacked and always 4"),
        (pins, lambda x: maybe_mark_dynamic(x, 0), None),
        (pins, lambda x: mark_unbacked(x, 0), None),
        (pins, lambda x: mark_static(x, 0), None),
        (pins, dynamic(min=4, max=4), None),
        (branches, dynamic(), None),
        (branches, dynamic(min=4), None),
        (branches, dynamic(min=2, max=8), r"in \[2, 8\] and the program needs 4 <= x\.size\(0\)"),
        (branches, dynamic(max=8), r"in \[2, 8\] and the program needs 4 <= x\.size\(0\)"),
        (branches, dynamic(min=3), r"in \[3, inf\) and the program needs 4 <= x\.size\(0\)"),
        (halves, dynamic(), None),
        (halves, dynamic(min=2, max=8), r"needs x\.size\(0\) % 2 == 0"),
        (keeps, dynamic(min=2, max=8), None),
        (keeps, dynamic(max=8), None),
        (keeps, dynamic(), None),
    ],
)
def test_a_mark_that_the_program_does_not_keep(fn: Any, mark: Any, text: str | None) -> None:
    x = zeros(4)
    mark(x)
    if text is None:
        traced(fn, x)
        return
    with pytest.raises(ConstraintViolation, match=text) as e:
        traced(fn, x)
    assert "test_policy.py" in e.value.why
    assert "return x + " in e.value.why
    assert "use " in e.value.fix


@pytest.mark.parametrize(
    ("fn", "mark"), [(pins, dynamic()), (pins, dynamic(max=8)), (halves, dynamic(min=2))]
)
def test_the_fix_works(fn: Any, mark: Any) -> None:
    x = zeros(4)
    mark(x)
    with pytest.raises(ConstraintViolation) as e:
        traced(fn, x)
    line = e.value.fix.removeprefix("use ").split(")")[0] + ")"
    x = zeros(4)
    exec(line, {"x": x, "mark_dynamic": mark_dynamic, "maybe_mark_dynamic": maybe_mark_dynamic})
    assert torch.equal(traced(fn, x)(x), fn(x))


def test_all_violations_are_told_at_once() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x + torch.zeros(4, 6), y if y.shape[0] > 2 else -y

    x, y = zeros(4, 6), zeros(3)
    mark_dynamic(x, [0, 1])
    mark_dynamic(y, 0, min=2)
    with pytest.raises(ConstraintViolation) as e:
        traced(f, x, y)
    for part in ("x.size(0) is", "always 4", "x.size(1) is", "always 6", "3 <= y.size(0)"):
        assert part in e.value.what
    assert "maybe_mark_dynamic(x, 1)" in e.value.fix


def test_equal_marked_sizes_may_be_equal() -> None:
    x, y = zeros(4), zeros(4)
    mark_dynamic(x, 0)
    mark_dynamic(y, 0)
    captured = traced(lambda x, y: x + y, x, y)
    assert captured(zeros(7), zeros(7)).shape == (7,)


# ---------------------------------------------------------------------- names that are not


def test_a_name_that_matches_nothing_is_one_warning() -> None:
    policy = Policy()
    with config.patch(dynamic_sources="L['x'],y"):
        with pytest.warns(AnyshapeWarning, match="y in the source lists matched nothing; .*: x, k"):
            policy.choice(["x", "k"], [zeros(4), 3])
        policy.choice(["x", "k"], [zeros(5), 3])  # warnings are errors here


# ---------------------------------------------------------------------- planted bugs


def test_lists_before_marks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_marks(self: Any, spot: Spot) -> Any:
        return self._kinds[spot.leaf, spot.dim]

    monkeypatch.setattr(module.Choice, "__call__", no_marks)
    with pytest.raises(AssertionError):
        test_marks_before_lists_before_the_policy(True)


def test_a_check_that_finds_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "need_free", lambda captured, marks: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_mark_that_the_program_does_not_keep(pins, dynamic(), "always 4")
