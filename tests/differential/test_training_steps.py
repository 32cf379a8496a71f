"""Whole training steps, compiled: what optimizers, schedulers and scalers keep is theirs.

The code of torch that is given such an object runs as a twin: its reads are guarded, its writes are
repeated, and nothing of a trace stays in the object.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import anyshape
from anyshape.trace.record.builtin import builtin
from anyshape.trace.record.call import call, twin_function
from anyshape.trace.record.foreign.territory import is_twinned

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
    "adam_foreach": lambda p: torch.optim.Adam(p, 0.01, foreach=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01),
    "adamw_fused": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p, 0.1),
    "nadam": lambda p: torch.optim.NAdam(p, 0.01),
    "groups": lambda p: torch.optim.SGD(
        [{"params": [q], "lr": 0.1 / (i + 1)} for i, q in enumerate(p)]
    ),
}
SIZES = (4, 7, 1, 5, 2, 4, 0)  # the mean over nothing is NaN, so 0 is last


class Setup:
    """A model, its optimizer, and what goes with them."""

    def __init__(self, optimizer: str, extra: str) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
        self.optimizer = OPTIMIZERS[optimizer](list(self.model.parameters()))
        self.scheduler: Any = None
        self.scaler: Any = None
        self.average: Any = None
        if extra == "cosine":
            self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 5)
        if extra == "steps":
            self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2)
        if extra == "scaler":
            self.scaler = torch.amp.GradScaler("cpu")
        if extra == "average":
            self.average = AveragedModel(self.model)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
        else:
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return loss.detach()

    def state(self) -> list[Any]:
        """Everything that a step changes."""
        found: list[Any] = [p.detach().clone() for p in self.model.parameters()]
        found += [p.grad for p in self.model.parameters()]
        found.append(copy.deepcopy(self.optimizer.state_dict()))
        for part in (self.scheduler, self.scaler, self.average):
            if part is not None:
                found.append(copy.deepcopy(part.state_dict()))
        return found


def batch(i: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(i)
    n = SIZES[i % len(SIZES)]
    return torch.randn(n, 6), torch.randint(0, 3, (n,))


def same(a: Any, b: Any) -> bool:
    """Equal in type and in every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        is_alike = a.dtype is b.dtype and a.shape == b.shape
        return is_alike and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (a != a and b != b)  # NaN


def first_difference(optimizer: str, extra: str, steps: int, **options: Any) -> str | None:
    """Train eagerly and compiled, and compare after every step."""
    eager, other = Setup(optimizer, extra), Setup(optimizer, extra)
    compiled = anyshape.compile(other.step, **options)
    for i in range(steps):
        want = eager.step(*batch(i))
        got = compiled(*batch(i))
        if not same(got, want):
            return f"the loss of step {i}"
        if not same(other.state(), eager.state()):
            return f"the state after step {i}"
    return None


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_of_an_optimizer(optimizer: str) -> None:
    assert first_difference(optimizer, "", 7) is None


@pytest.mark.parametrize("extra", ["cosine", "steps", "scaler", "average"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "adam_foreach"])
def test_schedulers_scalers_and_averages(optimizer: str, extra: str) -> None:
    assert first_difference(optimizer, extra, 7) is None


@pytest.mark.parametrize(
    "options", [{"dynamic": True}, {"dynamic": "unbacked"}, {"dynamic": False}]
)
def test_every_mode(options: dict[str, Any]) -> None:
    assert first_difference("adam", "cosine", 7, **options) is None


def test_an_optimizer_alone_is_one_program() -> None:
    setup = Setup("adam", "")
    for p in setup.model.parameters():
        p.grad = torch.ones_like(p)
    compiled = anyshape.compile(setup.optimizer.step)
    for _ in range(4):
        compiled()
    assert compiled.eager_because is None
    assert compiled.pieces is None
    assert compiled.stats.hits >= 1


def test_code_of_torch_that_is_not_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: nothing holds state, and the code of the scaler has no twin."""
    monkeypatch.setattr(builtin, "has_state", lambda *_: False)
    for module in (call, twin_function):
        monkeypatch.setattr(
            module, "is_twinned", lambda c: is_twinned(c) and "amp" not in c.co_filename
        )
    try:
        found = first_difference("sgd", "scaler", 4)
    except anyshape.AnyshapeError:  # a tensor of a trace is in the scaler
        return
    assert found is not None


def test_gradients_are_inputs() -> None:
    """An update is one program, although every step has new gradients."""
    setup = Setup("adamw", "")
    compiled = anyshape.compile(setup.step)
    for i in range(6):
        compiled(*batch(i))
    update = compiled.pieces.parts[-1]
    assert update.eager_because is None
    assert update.stats.hits == 4
