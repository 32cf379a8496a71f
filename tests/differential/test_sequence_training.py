"""Training steps of a transformer as one compiled function: batch and length change in every step.

A step breaks where autograd runs; the forward pass and the update are programs. Losses, parameters
and all that optimizers, schedulers, scalers and averages keep are eager's, bit for bit.
Each optimizer trains for 50 steps; `TRAINING_STEPS=50` in the environment does so in all tests.
"""

from __future__ import annotations

import copy
import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

import anyshape
from tests.differential.test_training_steps import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = int(os.environ.get("TRAINING_STEPS", "7"))
SIZES = ((4, 10), (3, 7), (8, 2), (1, 1), (2, 2), (0, 4), (5, 10))
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=False),
    "sgd_foreach": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "adagrad_fused": lambda p: torch.optim.Adagrad(p, 0.01, fused=True),
    "adam": lambda p: torch.optim.Adam(p, 0.01, foreach=False),
    "adam_foreach": lambda p: torch.optim.Adam(p, 0.01, foreach=True),
    "adam_fused": lambda p: torch.optim.Adam(p, 0.01, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01, foreach=False),
    "adamw_foreach": lambda p: torch.optim.AdamW(p, 0.01, foreach=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
}


class Model(nn.Module):
    def __init__(self, *, checkpointed: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.scores = nn.Linear(8, 11)
        self.checkpointed = checkpointed

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        if self.checkpointed:
            return self.scores(checkpoint(self.layer, x, use_reentrant=False))
        return self.scores(self.layer(x))


class Training:
    """A model with an optimizer, and the parts that `extras` names."""

    def __init__(self, optimizer: str, extras: str) -> None:
        torch.manual_seed(0)
        chosen = extras.split("+")
        self.model = Model(checkpointed="checkpoint" in chosen)
        self.optimizer = OPTIMIZERS[optimizer](list(self.model.parameters()))
        self.scheduler: Any = None
        if "lambda" in chosen:
            self.scheduler = lr_scheduler.LambdaLR(self.optimizer, lambda n: 0.95**n)
        if "onecycle" in chosen:
            self.scheduler = lr_scheduler.OneCycleLR(self.optimizer, 0.1, 100)
        if "chained" in chosen:
            first = lr_scheduler.LinearLR(self.optimizer)
            second = lr_scheduler.ExponentialLR(self.optimizer, 0.9)
            self.scheduler = lr_scheduler.SequentialLR(self.optimizer, [first, second], [3])
        self.plateau = "plateau" in chosen and lr_scheduler.ReduceLROnPlateau(
            self.optimizer, patience=1
        )
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
        self.scaler = scaler if "scaler" in chosen else None
        average = get_ema_multi_avg_fn(0.9)
        self.average = "average" in chosen and AveragedModel(self.model, multi_avg_fn=average)
        self.shadow = [p.detach().clone() for p in self.model.parameters()]
        self.accumulated = 3 if "accumulation" in chosen else 1
        self.autocast = "autocast" in chosen
        self.set_to_none = "zeros" not in chosen
        self.count = 0

    def step(self, words: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            scores = self.model(words)
            loss = nn.functional.cross_entropy(
                scores.reshape(-1, 11), wanted.reshape(-1), reduction="sum"
            )
            loss = loss / (words.numel() + 1) / self.accumulated
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()
        self.count += 1
        if self.count % self.accumulated == 0:
            if self.scaler is not None:
                self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            if self.scaler is not None:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=self.set_to_none)
            if self.scheduler is not None:
                self.scheduler.step()
            if self.plateau:
                self.plateau.step(loss.item())
            if self.average:
                self.average.update_parameters(self.model)
            with torch.no_grad():
                for kept, p in zip(self.shadow, self.model.parameters(), strict=True):
                    kept.lerp_(p, 0.1)
        return loss.detach()

    def state(self) -> list[Any]:
        """Everything that a step changes."""
        found: list[Any] = [p.detach().clone() for p in self.model.parameters()]
        found += [p.grad for p in self.model.parameters()]
        found += [self.shadow, self.count, copy.deepcopy(self.optimizer.state_dict())]
        parts = (self.scheduler, self.plateau, self.scaler, self.average)
        return found + [copy.deepcopy(part.state_dict()) for part in parts if part]


def batch(i: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(i)
    words, wanted = torch.randint(0, 11, (2, *SIZES[i % len(SIZES)]))
    return words, wanted


def trained(optimizer: str, extras: str, steps: int = STEPS, **options: Any) -> tuple[str, Any]:
    """The first difference from eager, and the compiled step."""
    eager, other = Training(optimizer, extras), Training(optimizer, extras)
    compiled = anyshape.compile(other.step, **options)
    for i in range(steps):
        want, got = eager.step(*batch(i)), compiled(*batch(i))
        if not same(got, want):
            return f"the loss of step {i}", compiled
        if not same(other.state(), eager.state()):
            return f"the state after step {i}", compiled
    return "", compiled


def parts(compiled: Any) -> Iterator[Any]:
    """A compiled function and all that it consists of."""
    yield compiled
    for part in [] if compiled.pieces is None else compiled.pieces.parts:
        yield from parts(part)


def eager_parts(compiled: Any) -> list[str]:
    """Why parts of a compiled function run eagerly."""
    return [part.eager_because for part in parts(compiled) if part.eager_because is not None]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_of_each_optimizer(optimizer: str) -> None:
    different, compiled = trained(optimizer, "lambda", steps=50)
    assert different == ""
    assert eager_parts(compiled) == []


EXTRAS = (
    "onecycle", "chained", "plateau", "scaler", "average", "accumulation", "checkpoint",
    "autocast", "zeros", "scaler+autocast+accumulation+average+onecycle+checkpoint",
)  # fmt: skip


@pytest.mark.parametrize("extras", EXTRAS)
def test_what_goes_with_an_optimizer(extras: str) -> None:
    different, compiled = trained("adamw", extras)
    assert different == ""
    assert eager_parts(compiled) == []


@pytest.mark.parametrize("dynamic", [True, False, "unbacked"])
def test_every_mode(dynamic: Any) -> None:
    assert trained("adamw", "lambda+accumulation+checkpoint", dynamic=dynamic)[0] == ""


def test_the_rate_of_an_update_is_an_input() -> None:
    """Three programs: the first call, gradients as inputs, the rate as an input."""
    training = Training("adamw", "lambda")
    update = anyshape.compile(training.optimizer.step)
    for i in range(8):
        for p in training.model.parameters():
            p.grad = torch.full_like(p, 0.1 * i)
        update()
        training.scheduler.step()
    assert (update.stats.traces, update.stats.hits, update.stats.breaks) == (3, 5, 0)


# ---------------------------------------------------------------------- copies and workers


@anyshape.compile
def halved(x: torch.Tensor) -> torch.Tensor:
    return x[: x.shape[0] // 2 + 1] * 2


class Rows(Dataset[torch.Tensor]):
    """Rows that a compiled function and a compiled module make, in the workers."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> torch.Tensor:
        with torch.no_grad():
            return self.module(halved(torch.full((i, 3), float(i))))  # type: ignore[no-any-return]


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_that_load_data(context: str) -> None:
    module = nn.Linear(3, 3)
    loader = DataLoader(
        Rows(anyshape.compile(module)), batch_size=None, num_workers=1,
        multiprocessing_context=context,
    )  # fmt: skip
    for i, row in enumerate(loader):
        assert torch.equal(row, module(halved.fn(torch.full((i, 3), float(i)))))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_compiled_model_is_a_model_of_its_own(copied: Any) -> None:
    module = anyshape.compile(nn.Linear(3, 3), dynamic="unbacked")
    module(torch.ones(2, 3))
    other = copied(module)
    assert (other.stats.traces, other.compiled.options) == (0, module.compiled.options)
    with torch.no_grad():
        other.weight.zero_()
    for n in (0, 1, 4):
        x = torch.ones(n, 3)
        assert torch.equal(other(x), other.original(x))
        assert torch.equal(module(x), module.original(x))
    assert not torch.equal(module.weight, other.weight)


def test_a_decorated_function_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(halved)) is halved
    assert copy.deepcopy(halved) is halved
    other = pickle.loads(pickle.dumps(anyshape.compile(batch)))
    assert other.fn is batch
