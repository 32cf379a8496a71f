"""The state of a program by name: `state_dict`, `load_state_dict`, parameters, buffers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from anyshape import StateError, export
from tests.unit.export.state.modules import ByData, BySize, Norm, Tied

IDS = torch.arange(3)


def exported(fn: Any, example: Any = None) -> Any:
    example = torch.randn(3, 4) if example is None else example
    return export(fn, (example,), dynamic_shapes=({0: "n"},))


def random_state(model: nn.Module) -> dict[str, torch.Tensor]:
    """Other values for all tensors; tied ones get one value."""
    made: dict[int, torch.Tensor] = {}
    for t in model.state_dict(keep_vars=True).values():
        new = torch.rand(t.shape) + 0.5 if t.is_floating_point() else torch.full(t.shape, 3)
        made.setdefault(id(t), new.to(t.dtype))
    return {name: made[id(t)] for name, t in model.state_dict(keep_vars=True).items()}


def test_it_has_what_the_module_has() -> None:
    for model, example in ((Tied(), IDS), (Norm(), None), (BySize(), None), (ByData(), None)):
        program = exported(model, example)
        want, got = model.state_dict(), program.state_dict()
        assert [*got] == [*want]
        assert all(got[name].data_ptr() == want[name].data_ptr() for name in want)
        assert not any(t.requires_grad for t in got.values())
        for mine, theirs in (
            (program.named_parameters(), model.named_parameters()),
            (program.named_buffers(), model.named_buffers()),
        ):
            pairs = [*theirs]
            assert [(n, id(t)) for n, t in mine] == [(n, id(t)) for n, t in pairs]
        assert [id(t) for t in program.parameters()] == [id(t) for t in model.parameters()]
        assert [id(t) for t in program.buffers()] == [id(t) for t in model.buffers()]


@pytest.mark.parametrize("assign", [False, True])
def test_other_values(assign: bool) -> None:
    for make, example in ((Tied, IDS), (BySize, None), (ByData, None)):
        model, other = make(), make()
        program = exported(model, example)
        other.load_state_dict(random_state(other))
        keys = program.load_state_dict(other.state_dict(), assign=assign)
        assert keys == ([], [])
        other = make()
        if make is Tied:  # tensors that no state dict has
            other.scale, other.hidden = model.scale, model.hidden
        other.load_state_dict(program.state_dict())
        for n in (0, 1, 2, 7):
            x = torch.arange(n) if make is Tied else torch.randn(n, 4)
            torch.testing.assert_close(program(x), other(x))
        name, tensor = next(program.named_parameters())
        assert torch.equal(model.get_parameter(name), tensor) is not assign


def test_all_that_does_not_fit_is_one_error() -> None:
    model = Tied()
    program = exported(model, IDS)
    before = {name: t.clone() for name, t in model.state_dict().items()}
    given = random_state(model)
    del given["layers.1.bias"]
    given["extra"] = torch.ones(1)
    given["count"] = torch.zeros(2)
    given["unused.bias"] = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(StateError) as found:
        program.load_state_dict(given)
    why = found.value.why
    assert "missing: layers.1.bias" in why
    assert "not in the program: extra" in why
    assert "count is float32[2] on cpu, and the program needs float32[1] on cpu" in why
    assert "unused.bias is float64[2]" in why
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    del given["count"], given["unused.bias"]
    missing, unexpected = program.load_state_dict(given, strict=False)
    assert missing == ["count", "layers.1.bias", "unused.bias"]
    assert unexpected == ["extra"]
    assert torch.equal(model.layers[0].weight, given["layers.0.weight"])


def test_one_name_of_a_tied_tensor_is_enough_and_values_must_agree() -> None:
    model = Tied()
    program = exported(model, IDS)
    given = random_state(model)
    partial = {n: t for n, t in given.items() if n not in ("embed.weight", "again.weight")}
    assert program.load_state_dict(partial) == ([], [])
    assert torch.equal(model.embed.weight, given["out.weight"])
    given["out.weight"] = given["out.weight"].clone()
    program.load_state_dict(given)
    given["out.weight"] += 1
    with pytest.raises(StateError, match=r"embed.weight and out.weight are tied"):
        program.load_state_dict(given)


def test_what_is_no_state_dict() -> None:
    program = exported(Norm())
    with pytest.raises(TypeError, match="a state dict is a mapping, not int"):
        program.load_state_dict(3)
    with pytest.raises(TypeError, match="the state dict has list for 'a'"):
        program.load_state_dict({"a": [1.0]})
    absent = {n: t.to("meta") for n, t in program.state_dict().items()}
    with pytest.raises(StateError, match="has no data"):
        program.load_state_dict(absent)


def test_memory_that_the_program_changes_is_its_own() -> None:
    program = exported(Norm())
    given = dict(program.state_dict())
    given["net.1.running_var"] = given["net.1.running_mean"]
    with pytest.raises(StateError, match="share memory"):
        program.load_state_dict(given, assign=True)


def test_a_program_whose_tensors_were_replaced_has_no_function() -> None:
    model = BySize()
    program = exported(model)
    assert program.verify(torch.ones(1, 4))
    program.load_state_dict(random_state(model), assign=True)
    with pytest.raises(TypeError, match="pass eager"):
        program.verify(torch.ones(1, 4))
    assert program.verify(torch.ones(1, 4), eager=program.module())


def test_branches_on_values_of_the_state_follow_new_values() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("gate", torch.tensor(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1 if self.gate.item() > 0 else x - 1

    program = exported(Gated())
    x = torch.zeros(2, 4)
    assert program(x)[0, 0] == 1
    program.load_state_dict({"gate": torch.tensor(-1)})
    assert program(x)[0, 0] == -1
    program.load_state_dict({"gate": torch.tensor(2)}, assign=True)
    assert program(x)[0, 0] == 1
