"""Tiny models of transformers with dynamic batch and length, against eager execution."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import config
from anyshape.errors import ConstraintError, UnsupportedError
from anyshape.trace import capture
from tests.differential.agree import KINDS, Dynamic, State, agrees
from tests.differential.models import (
    Model,
    bert,
    built,
    gpt2,
    llama,
    mixtral,
    registered_caches,
    t5,
    vit,
    whisper,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

B, S = 6, 7  # batch and length of the example; T5 decodes S + 2; no other size is like them


class Case(NamedTuple):
    """A model and the smallest batch for which one program serves.

    Without a mask transformers itself branches on whether the batch is 1, and attention on whether
    the length is 1.
    """

    make: Callable[[], Model]
    least: int = 1


CASES = {
    "BERT": Case(bert),
    "BERT without mask": Case(functools.partial(bert, masked=False)),
    "GPT-2": Case(gpt2, 2),
    "GPT-2 with mask": Case(functools.partial(gpt2, masked=True)),
    "Llama": Case(llama, 2),
    "Llama with mask": Case(functools.partial(llama, masked=True)),
    "Mixtral": Case(mixtral, 2),
    "T5": Case(t5),
    "ViT": Case(vit),
    "Whisper": Case(whisper),
}
OTHERS = ((1, 7), (2, 11), (5, 3), (1, 2))


@functools.cache
def model_of(name: str) -> Model:
    return built(CASES[name].make)


def trace(model: Model, kind: str, least: int) -> Any:
    """The program, with batch and length dynamic and all else as it is."""
    where = {B: {"min": least}, S: {"min": 2}, S + 2: {"min": 2}}
    state = State(model.module)
    with config.patch(specialize_zero_one=False):
        captured = capture(model.module, (), model.inputs(B, S), dynamic=Dynamic(kind, where))
    state.check()
    return captured


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_model(name: str, kind: str) -> None:
    case, model = CASES[name], model_of(name)
    captured = trace(model, kind, case.least)
    for sizes in ((B, S), *OTHERS):
        inputs = model.inputs(*sizes)
        if sizes[0] < case.least:
            with pytest.raises((ConstraintError, RuntimeError)):
                captured(**inputs)
        else:
            agrees(captured, model.module, (), inputs)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.least > 1])
def test_a_batch_of_one_has_its_own_program(name: str) -> None:
    model = model_of(name)
    where = {S: {"min": 2}}
    captured = capture(model.module, (), model.inputs(1, S), dynamic=Dynamic("unbacked", where))
    for length in (2, 5, 11):
        agrees(captured, model.module, (), model.inputs(1, length))


class Prefill(torch.nn.Module):
    """Llama that returns its cache; says what transformers takes for granted."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        torch._check(input_ids.shape[1] == attention_mask.shape[1])
        return self.model(input_ids=input_ids, attention_mask=attention_mask)


def test_a_cache_that_pytree_does_not_know() -> None:
    class Unknown:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.layers = [tensor]

    with pytest.raises(UnsupportedError, match="register_pytree_node"):
        capture(lambda x: (x + 1, Unknown(x * 2)), (torch.randn(B, S),))


@pytest.fixture
def registered_cache() -> Iterator[None]:
    with registered_caches():
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("registered_cache")
def test_a_cache_in_the_output(kind: str) -> None:
    from transformers import DynamicCache

    model = built(functools.partial(llama, masked=True, cache=True))
    model = Model(Prefill(model.module), model.inputs)
    captured = trace(model, kind, 1)
    for sizes in ((B, S), *OTHERS):
        agrees(captured, model.module, (), model.inputs(*sizes))
    assert isinstance(captured(**model.inputs(2, 3)).past_key_values, DynamicCache)


class Step(torch.nn.Module):
    """One step of decoding with a cache; says what transformers takes for granted."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, token: torch.Tensor, cache: Any, attention_mask: torch.Tensor) -> Any:
        length = cache.layers[0].keys.shape[2]
        torch._check(attention_mask.shape[0] == token.shape[0])
        torch._check(attention_mask.shape[1] == length + 1)
        for layer in cache.layers:
            for t in (layer.keys, layer.values):
                torch._check(t.shape[0] == token.shape[0])
                torch._check(t.shape[2] == length)
        out = self.model(input_ids=token, past_key_values=cache, attention_mask=attention_mask)
        return out.logits, out.past_key_values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("registered_cache")
def test_decoding_with_a_cache_of_any_length(kind: str) -> None:
    model = built(functools.partial(llama, masked=True, cache=True))
    step = Step(model.module)

    def inputs(b: int, s: int) -> tuple[Any, ...]:
        torch.manual_seed(b)
        cache = model.module(**model.inputs(b, s)).past_key_values
        return torch.randint(0, 99, (b, 1)), cache, torch.ones(b, s + 1, dtype=torch.long)

    where = {B: {"min": 1}, S: {"min": 2}, S + 1: {"min": 3}}
    choose = Dynamic(kind, where)
    with config.patch(specialize_zero_one=False):
        captured = capture(
            step, inputs(B, S), dynamic=lambda spot: "static" if spot.dim == 3 else choose(spot)
        )
    for sizes in ((B, S), (1, 4), (2, 12)):
        actual, expected = captured(*inputs(*sizes)), step(*inputs(*sizes))
        torch.testing.assert_close(pytree.tree_leaves(actual), pytree.tree_leaves(expected))
