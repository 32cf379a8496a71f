"""Training steps over state outside that changes in every step: rates, decays, counters, objects.

Whatever changes, the number of programs stops to grow, nothing goes eager, and losses, parameters
and states are eager's, bit for bit.
"""

from __future__ import annotations

import copy
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import SWALR, AveragedModel

import anyshape
from tests.differential.test_sequence_training import eager_parts, parts
from tests.differential.test_training_steps import same

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 32
SETTLED = 18  # programs are made before this step alone
SIZES = (4, 3, 8, 1, 2, 5)


class Training:
    """A model with dropout, an optimizer, and settings of its own."""

    def __init__(self, optimizer: str) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 3))
        parameters = list(self.model.parameters())
        groups = [{"params": parameters[:2]}, {"params": parameters[2:], "weight_decay": 0.1}]
        if optimizer == "sgd":
            self.optimizer: Any = torch.optim.SGD(groups, 0.1, momentum=0.9)
        else:
            self.optimizer = torch.optim.AdamW(groups, 0.01)
        self.shadow = [p.detach().clone() for p in parameters]
        self.clip, self.decay, self.count = 1.0, 0.9, 0
        self.settings = {"smoothing": 0.1}
        self.space = types.SimpleNamespace(scale=1.0)
        self.scaler: Any = None
        self.scheduler: Any = None

    def step(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        scores = self.model(x) * self.space.scale
        smoothing = self.settings["smoothing"]
        loss = nn.functional.cross_entropy(scores, wanted, label_smoothing=smoothing)
        if self.scaler is None:
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
        if self.scheduler is not None:
            self.scheduler.step()
        self.count += 1
        with torch.no_grad():
            for kept, p in zip(self.shadow, self.model.parameters(), strict=True):
                kept.mul_(self.decay).add_(p, alpha=1 - self.decay)
        return loss.detach() * self.count

    def state(self) -> list[Any]:
        """Everything that a step changes."""
        kept = [part for part in (self.optimizer, self.scaler, self.scheduler) if part is not None]
        found: list[Any] = [p.detach().clone() for p in self.model.parameters()]
        return [*found, self.shadow, self.count, *[copy.deepcopy(k.state_dict()) for k in kept]]


def _set(path: str, value: Callable[[int], Any]) -> Callable[[Training, int], None]:
    """What assigns an attribute of the training, by its path."""
    *owners, name = path.split(".")

    def change(training: Training, i: int) -> None:
        owner: Any = training
        for key in owners:
            owner = getattr(owner, key)
        setattr(owner, name, value(i))

    return change


def _group(name: str, value: Callable[[int], Any]) -> Callable[[Training, int], None]:
    """What assigns an entry of a group of parameters."""

    def change(training: Training, i: int) -> None:
        training.optimizer.param_groups[i % 2][name] = value(i)

    return change


def _new_settings(training: Training, i: int) -> None:
    training.settings = {"smoothing": 0.01 * i}


def _new_setting(training: Training, i: int) -> None:
    training.settings["smoothing"] = 0.01 * i


def _dropout(training: Training, i: int) -> None:
    training.model[1].p = 0.05 * (i // 3 % 19)  # between epochs


CHANGES: dict[str, tuple[str, Callable[[Training, int], None]]] = {
    "rate": ("adamw", _group("lr", lambda i: 0.01 / (i + 1))),
    "betas": ("adamw", _group("betas", lambda i: (0.9 - 0.01 * i, 0.999))),
    "decay": ("adamw", _group("weight_decay", lambda i: 0.001 * i)),
    "eps": ("adamw", _group("eps", lambda i: 1e-8 * (i + 1))),
    "momentum": ("sgd", _group("momentum", lambda i: 0.5 + 0.01 * i)),
    "dampening": ("sgd", _group("dampening", lambda i: 0.01 * i)),
    "clip": ("sgd", _set("clip", lambda i: 1.0 + 0.1 * i)),
    "average": ("sgd", _set("decay", lambda i: 1 - 1 / (i + 2))),
    "count": ("sgd", _set("count", lambda i: 3 * i)),
    "scale": ("sgd", _set("space.scale", lambda i: 1 + 0.5 * i)),
    "setting": ("sgd", _new_setting),
    "settings": ("sgd", _new_settings),
    "dropout": ("sgd", _dropout),
}
SCHEDULERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "onecycle": ("sgd", lambda o: lr_scheduler.OneCycleLR(o, 0.1, 40)),
    "onecycle_betas": ("adamw", lambda o: lr_scheduler.OneCycleLR(o, 0.1, 40)),
    "cyclic": ("sgd", lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 5)),
    "cosine": ("adamw", lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 7)),
    "swa": ("adamw", lambda o: SWALR(o, 0.05)),
}


def batch(i: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(i)
    n = SIZES[i % len(SIZES)]
    return torch.randn(n, 6), torch.randint(0, 3, (n,))


def traces(compiled: Any) -> int:
    """How many programs were made in all parts."""
    return sum(part.stats.traces + part.stats.extensions for part in parts(compiled))


def trained(
    eager: Training,
    other: Training,
    change: Callable[[Training, int], None],
) -> Any:
    """The compiled step of the other training, which went as the eager one."""
    compiled = anyshape.compile(other.step, dynamic="unbacked")
    settled = 0
    for i in range(STEPS):
        change(eager, i)
        change(other, i)
        data = batch(i)
        torch.manual_seed(i)
        want = eager.step(*data)
        torch.manual_seed(i)
        assert same(compiled(*data), want), f"the loss of step {i}"
        assert same(other.state(), eager.state()), f"the state after step {i}"
        if i == SETTLED:
            settled = traces(compiled)
    assert traces(compiled) == settled
    assert eager_parts(compiled) == []
    return compiled


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_in_every_step(name: str) -> None:
    optimizer, change = CHANGES[name]
    trained(Training(optimizer), Training(optimizer), change)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name: str) -> None:
    optimizer, make = SCHEDULERS[name]
    pair = [Training(optimizer), Training(optimizer)]
    for training in pair:
        training.scheduler = make(training.optimizer)
    trained(*pair, lambda training, i: None)


def test_a_scaler_has_a_new_dictionary_in_every_step() -> None:
    pair = [Training("adamw"), Training("adamw")]
    for training in pair:
        training.scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
    compiled = trained(*pair, lambda training, i: None)
    hits = {p.fn.__qualname__: p.stats.hits for p in parts(compiled)}
    assert max(n for name, n in hits.items() if name.startswith("GradScaler")) > 10, hits


def test_losses_that_are_not_finite_are_skipped() -> None:
    """The scaler skips a step with infinite gradients, and scales less from there on."""

    def change(training: Training, i: int) -> None:
        training.space.scale = float("inf") if i % 7 == 3 else 1.0

    pair = [Training("sgd"), Training("sgd")]
    for training in pair:
        training.scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=100)
    trained(*pair, change)
    assert pair[1].scaler.get_scale() < 256.0


def test_an_object_that_is_replaced_in_every_step() -> None:
    change = _set("space", lambda i: types.SimpleNamespace(scale=1 + 0.5 * i))
    trained(Training("sgd"), Training("sgd"), change)


def test_an_average_that_is_updated_in_the_step() -> None:
    def made() -> tuple[nn.Module, AveragedModel]:
        torch.manual_seed(0)
        model = nn.Linear(6, 3)
        return model, AveragedModel(model)  # its factor is 1 / (count + 1)

    def step(model: nn.Module, average: AveragedModel, x: torch.Tensor) -> None:
        with torch.no_grad():
            for p in model.parameters():
                p.add_(x.sum())
        average.update_parameters(model)

    want, got = made(), made()
    compiled = anyshape.compile(step, dynamic="unbacked")
    for i in range(STEPS):
        x = batch(i)[0]
        step(*want, x)
        compiled(*got, x)
        assert same([*got[1].state_dict().values()], [*want[1].state_dict().values()])
        if i == SETTLED:
            settled = traces(compiled)
    assert traces(compiled) == settled
    assert eager_parts(compiled) == []


def test_a_program_for_the_first_settings_is_found() -> None:
    """A planted bug: what is compared does not change."""
    eager, other = Training("sgd"), Training("sgd")

    def change(training: Training, i: int) -> None:
        if training is eager:
            training.clip = 0.1 * i

    with pytest.raises(AssertionError, match="the state after step"):
        trained(eager, other, change)
