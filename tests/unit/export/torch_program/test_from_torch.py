"""Programs of `torch.export` as ours: the same results, refusals, names, modules and lines."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.utils._pytree import tree_flatten

import anyshape
from anyshape import ArgumentError, from_torch
from tests.unit.export.torch_program.programs import (
    PROGRAMS,
    Net,
    Stateful,
    decomposed,
    loaded,
    made,
    rows,
    without_example,
)

SIZES = (0, 1, 2, 3, 5, 7)
# torch's own, while it decomposes a program
pytestmark = pytest.mark.filterwarnings(r"ignore:.isinstance\(treespec, LeafSpec:FutureWarning")


def outcome(run: Any, call: Any) -> Any:
    """The result of a call with its changed arguments, or that it raises."""
    args, kwargs = copy.deepcopy(call)
    try:
        result = run(*args, **kwargs)
    except Exception as e:
        return type(e).__name__
    leaves, spec = tree_flatten((result, args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return tensors, [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)], spec


def put(tensors: dict[str, torch.Tensor], values: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, t in tensors.items():
            if name in values:
                t.copy_(values[name])


def run_from(
    before: dict[str, torch.Tensor], tensors: dict[str, torch.Tensor], run: Any, call: Any
) -> Any:
    """The outcome of a call with given values of tensors, and their values after it."""
    put(tensors, before)
    found = outcome(run, call)
    return found, {name: t.detach().clone() for name, t in tensors.items()}


def same(ours: Any, theirs: Any, **tolerance: float) -> None:
    """Compare two outcomes of `run_from`."""
    (tensors, others, spec), after = ours
    torch.testing.assert_close(tensors, theirs[0][0], equal_nan=True, **tolerance)
    assert [(type(x), x) for x in others] == [(type(x), x) for x in theirs[0][1]]
    assert spec == theirs[0][2]
    for name, t in theirs[1].items():
        torch.testing.assert_close(after[name], t, equal_nan=True)


def agree(program: Any, torchs: Any, call: Any, eager: Any = None) -> bool:
    """Compare a call with torch's program, and with eager execution where torch allows it: results,
    changed arguments and changed buffers. Returns whether the call ran.

    Sizes that torch's ranges exclude may run in torch, which checks no lower bound of 2 or less.
    """
    tensors = dict(program.state)  # those of torch's program, too
    before = {name: t.detach().clone() for name, t in tensors.items()}
    ours = run_from(before, tensors, program, call)
    theirs = run_from(before, tensors, torchs, call)
    if isinstance(ours[0], str):
        least = min([r.lo for r in program.range_constraints.values()], default=0)
        assert isinstance(theirs[0], str) or least == 2
        return False
    assert not isinstance(theirs[0], str), theirs[0]
    same(ours, theirs, rtol=0, atol=0)
    if eager is not None:
        own = {**dict(eager.named_parameters()), **dict(eager.named_buffers())}
        same(ours, run_from(before, own, eager, call))
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_at_every_size(name: str) -> None:
    module, exported = made(name)
    program = from_torch(exported)
    torchs = exported.module()
    ran = [agree(program, torchs, PROGRAMS[name].call(n), module) for n in SIZES]
    served = {"norm": SIZES[2:], "even": (2,)}.get(name, SIZES)
    assert [n for n, ok in zip(SIZES, ran, strict=True) if ok] == list(served)


@pytest.mark.parametrize("form", [decomposed, loaded, without_example])
@pytest.mark.parametrize(
    "name", ["stateful", "branches", "modes", "from data", "variadic", "changed by op"]
)
def test_other_forms(name: str, form: Any) -> None:
    exported = form(made(name)[1])
    program = from_torch(exported)
    torchs = exported.module()
    assert all(agree(program, torchs, PROGRAMS[name].call(n)) for n in SIZES)


def test_a_strict_program() -> None:
    module, exported = made("stateful", strict=True)
    program = from_torch(exported)
    torchs = exported.module()
    assert all(agree(program, torchs, PROGRAMS["stateful"].call(n), module) for n in SIZES)


def change(program: Any) -> None:
    program.state["seen"].add_(1)


def test_planted_differences_are_found() -> None:
    module, exported = made("stateful")
    program, call = from_torch(exported), PROGRAMS["stateful"].call(3)
    other = copy.deepcopy(module)
    other.offset = torch.zeros(4)
    with pytest.raises(AssertionError, match=r"not (close|equal)"):
        agree(program, other, call)
    other = copy.deepcopy(module)
    other.register_forward_pre_hook(lambda *_: change(program))
    with pytest.raises(AssertionError, match=r"not (close|equal)"):
        agree(program, other, call)


# ---------------------------------------------------------------------- what it is


def test_names_ranges_and_relations_are_in_the_contract() -> None:
    contract = str(from_torch(made("twice")[1]).contract())
    assert "x: float32[b, 4]" in contract
    assert "y: float32[2*b, 4]" in contract
    assert "b >= 0" in contract
    contract = str(from_torch(made("norm")[1]).contract())
    assert "b >= 2" in contract


def test_a_file_of_torch_has_no_names() -> None:
    exported = loaded(made("net")[1])
    (symbol,) = exported.range_constraints
    assert list(from_torch(exported).range_constraints) == [str(symbol)]


def test_the_name_is_that_of_the_class() -> None:
    assert from_torch(made("net")[1]).name == "Net"
    assert from_torch(loaded(made("net")[1])).name == "Net"


def test_variants() -> None:
    program = from_torch(made("size branch")[1])
    assert len(program.variants) == 2
    assert program.is_complete


def test_tensors_have_their_names_and_kinds() -> None:
    module, exported = Stateful(), None
    exported = torch.export.export(module, (rows(5),), dynamic_shapes=({0: Dim("b")},))
    program = from_torch(exported)
    found = {e.name: (e.kind, e.alias_of) for e in program.state.entries}
    assert found["seen"] == ("buffer", None)
    assert found["scale"] == ("non_persistent_buffer", None)
    assert found["offset"] == ("constant", None)
    weights = ["inner.weight", "again.weight", "out.weight"]
    assert [found[w][0] for w in weights] == ["parameter"] * 3
    assert [found[w][1] for w in weights].count(None) == 1
    assert program.state["inner.weight"] is module.inner.weight
    assert program.state.mutated == {"seen", "scale"}
    assert program.state.training is None


def test_nodes_have_their_modules() -> None:
    class Again(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def forward(self, x):
            return self.net(x) + self.net(x.flip(0))

    exported = torch.export.export(Again(), (rows(5),), dynamic_shapes=({0: Dim("b")},))
    for each in (exported, loaded(exported)):
        program = from_torch(each)
        calls = {(c.path, c.number) for c in program.module_calls}
        for number in (0, 1):
            assert {("net", number), ("net.layers.1", number)} <= calls
        kinds = {c.path: c.class_name.rpartition(".")[2] for c in program.module_calls}
        assert kinds["net.first"] == "Linear"
        assert kinds["net"] == "Net"


def test_lines_are_those_of_the_user() -> None:
    for exported in (made("net")[1], loaded(made("net")[1])):
        program = from_torch(exported)
        sites = [str(node.site) for node in program.graph.nodes]
        assert any("programs.py" in s and "x = self.first(x)" in s for s in sites)
        assert not any("eval_with_key" in s or "linear.py" in s for s in sites)


def test_lines_where_sites_are_switched_off() -> None:
    with anyshape.config.patch(do_not_emit_stack_traces=True):
        program = from_torch(made("net")[1])
    assert {"first", "layers.1"} <= {c.path for c in program.module_calls}


@pytest.mark.parametrize(
    "name", ["stateful", "branches", "from data", "nested", "size branch", "changed by op"]
)
def test_save_and_load(name: str, tmp_path: Any) -> None:
    exported = made(name)[1]
    program = from_torch(decomposed(exported) if name == "changed by op" else exported)
    program.save(tmp_path / "program")
    again = anyshape.load(tmp_path / "program")
    assert {c.path for c in again.module_calls} == {c.path for c in program.module_calls}
    for n in SIZES:
        call = PROGRAMS[name].call(n)
        same((outcome(again, call), {}), (outcome(program, call), {}))


def test_verify_explain_and_fx() -> None:
    program = from_torch(made("net")[1])
    report = program.verify(*[(rows(n),) for n in SIZES])
    assert [r.outcome for r in report.rows] == ["equal"] * len(SIZES)
    assert "programs.py" in str(program.graph)
    x = rows(3)
    assert torch.equal(program.to_fx()(x)[0], program(x))


def test_gradients_flow() -> None:
    module = Net()
    exported = torch.export.export(module, (rows(5),), dynamic_shapes=({0: Dim("b")},))
    x = rows(3)
    from_torch(exported)(x).sum().backward()
    ours = [p.grad.clone() for p in module.parameters() if p.grad is not None]
    module.zero_grad()
    module(x).sum().backward()
    theirs = [p.grad for p in module.parameters()]
    torch.testing.assert_close(ours, theirs)


# ---------------------------------------------------------------------- what it refuses


def test_what_torch_refuses() -> None:
    exported = made("twice")[1]
    program = from_torch(exported)
    for call in ((rows(3), rows(5)), (rows(3, 5), rows(6, 5)), (rows(3).long(), rows(6))):
        with pytest.raises(anyshape.AnyshapeError):
            program(*call)
    limited = torch.export.export(Net(), (rows(5),), dynamic_shapes=({0: Dim("b", min=3, max=6)},))
    program = from_torch(limited)
    for n, ok in ((2, False), (3, True), (6, True), (7, False)):
        assert isinstance(outcome(program, ((rows(n),), {})), str) is not ok


def test_asserts_about_data_are_kept() -> None:
    program = from_torch(made("from data")[1])
    for count in (-1, 4):
        with pytest.raises(RuntimeError):
            program(rows(3), torch.tensor(count))


def test_a_guard_that_is_no_range_is_kept() -> None:
    program = from_torch(made("even")[1])
    assert program(rows(8)).shape == (16, 2)
    with pytest.raises(anyshape.AnyshapeError, match="% 2 == 0"):
        program(rows(7))


@pytest.mark.parametrize("other", [Net(), None, "program", Net])
def test_other_arguments(other: Any) -> None:
    with pytest.raises(ArgumentError, match="from_torch takes"):
        from_torch(other)


def test_a_wrong_option() -> None:
    with pytest.raises(ArgumentError, match="on_deviation"):
        from_torch(made("net")[1], on_deviation="never")


def test_again_through_the_module_of_torch() -> None:
    module, exported = made("net")
    program = anyshape.export(exported.module(), (rows(5),), dynamic_shapes=({0: "b"},))
    for n in SIZES:
        x = rows(n)
        assert torch.equal(program(x), module(x))


def test_transforms_that_torch_has_begun_are_ended() -> None:
    class Slope(torch.nn.Module):
        def forward(self, x):
            return torch.func.grad(lambda x: (x**2).sum())(x)

    exported = torch.export.export(Slope(), (rows(5),), dynamic_shapes=({0: Dim("b")},))
    with pytest.raises(anyshape.UnsupportedError, match="Cannot access storage"):
        from_torch(exported)
    with pytest.raises(anyshape.UnsupportedError, match=r"run_decompositions\(\{\}\)"):
        anyshape.export(made("mapped")[1].module(), (rows(5),))
    assert torch._C._functorch.maybe_current_level() is None


# ---------------------------------------------------------------------- there and back


@pytest.mark.parametrize("name", ["stateful", "modes", "from data", "nested", "twice", "numbers"])
def test_there_and_back(name: str) -> None:
    torch.manual_seed(0)
    case = PROGRAMS[name]
    module = case.make()
    args, kwargs = case.call(case.example)
    there = anyshape.export(
        copy.deepcopy(module), args, kwargs, dynamic_shapes=case.shapes
    ).to_torch()
    for exported in (there, decomposed(there)):
        program = from_torch(exported)
        assert all(agree(program, exported.module(), case.call(n), module) for n in SIZES)
        assert "b" in program.range_constraints
        assert program.name == type(module).__name__


def test_there_and_back_keeps_names_ranges_and_modules() -> None:
    first = anyshape.export(
        Net(), (rows(5),), dynamic_shapes=({0: anyshape.Dim("rows", min=3, max=9)},)
    )
    program = from_torch(first.to_torch())
    assert program.range_constraints == first.range_constraints
    assert {c.path for c in program.module_calls} == {c.path for c in first.module_calls}
    assert [e.name for e in program.state.entries] == [e.name for e in first.state.entries]


def test_floats_that_vary_there_and_back() -> None:
    def scaled(x: torch.Tensor, factor: float, times: int) -> Any:
        return x * factor + times, factor + 1

    dynamic = {"x": {0: "n"}, "factor": anyshape.Dim.DYNAMIC, "times": anyshape.Dim.DYNAMIC}
    example = (torch.ones(3), 2.5, 4)
    exported = anyshape.export(scaled, example, dynamic_shapes=dynamic)
    with pytest.warns(anyshape.AnyshapeWarning, match="factor is a float that varies"):
        program = from_torch(exported.to_torch())
    for call in ((torch.ones(1), 0.5, 0), (torch.ones(0), -1.0, 1), (torch.ones(4), 3.0, 7)):
        (got, factor), (want, wanted) = program(*call), scaled(*call)
        assert torch.equal(got, want)
        assert factor == wanted


def test_back_and_there(tmp_path: Any) -> None:
    program = from_torch(made("stateful")[1])
    program.save(tmp_path / "program")
    for each in (program, anyshape.load(tmp_path / "program")):
        again = from_torch(each.to_torch())
        assert again.name == "Stateful"
        assert {c.path for c in again.module_calls} == {c.path for c in program.module_calls}
        assert set(again.state_dict()) == set(program.state_dict())


def test_a_module_with_the_names_of_the_model() -> None:
    program = from_torch(made("stateful")[1])
    module = program.module()
    assert set(module.state_dict()) == set(Stateful().state_dict())
    assert module.inner.weight is module.out.weight
    x = rows(1)
    before = {name: t.clone() for name, t in program.state.items()}
    ours = run_from(before, dict(program.state), program, ((x,), {}))
    same(run_from(before, dict(program.state), module, ((x,), {})), ours)
