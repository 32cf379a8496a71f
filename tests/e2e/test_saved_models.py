"""Models of transformers, exported with their own classes, run where there is no transformers."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch

from anyshape import export, load
from anyshape.export import ExportedProgram, StandIn
from anyshape.export.files import structure
from tests.differential.models import Model, bert, built, ids, llama, mask, registered_caches

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((3, 7), (1, 4), (2, 1), (5, 11))
TOKENS = 5
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
LAYER = [{0: "batch", 2: "length"}] * 2
PROMPT = {name: {0: "batch", 1: "length"} for name in ("input_ids", "attention_mask")}
STEP = {
    "input_ids": {0: "batch"},
    "attention_mask": {0: "batch", 1: "length + 1"},
    "past_key_values": {"key_cache": LAYER, "value_cache": LAYER},
}


class Case(NamedTuple):
    """A model and its name; one with a cache is exported for a prompt and for a step."""

    name: str
    model: Model
    cached: bool


def gpt2() -> Model:
    from transformers import GPT2Config, GPT2LMHeadModel

    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, use_cache=True, **tokens
    )
    return Model(GPT2LMHeadModel(config), prompt)


def prompt(batch: int, length: int) -> dict[str, Any]:
    return {"input_ids": ids(batch, length), "attention_mask": mask(batch, length)}


def step(model: Any, batch: int, length: int) -> dict[str, Any]:
    """The inputs of a step after a prompt of that length."""
    given = prompt(batch, length)
    cache = model(**given).past_key_values
    ones = torch.ones(batch, 1, dtype=torch.long)
    return {
        "input_ids": ids(batch, 1),
        "attention_mask": torch.cat([given["attention_mask"], ones], 1),
        "past_key_values": cache,
    }


def plain(x: Any) -> Any:
    """The same with containers of Python in place of those of transformers."""
    from transformers import DynamicCache
    from transformers.utils import ModelOutput

    if isinstance(x, DynamicCache):
        return {
            "key_cache": [layer.keys.clone() for layer in x.layers],
            "value_cache": [layer.values.clone() for layer in x.layers],
        }
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict | ModelOutput) else x


def continued(prefill: Any, decode: Any, given: dict[str, Any]) -> torch.Tensor:
    """The tokens that come next, the likeliest one each time."""
    found = []
    result, attention = prefill(**given), given["attention_mask"]
    for _ in range(TOKENS):
        token = result.logits[:, -1].argmax(-1, keepdim=True)
        found.append(token)
        attention = torch.cat([attention, torch.ones_like(token)], 1)
        result = decode(
            input_ids=token, attention_mask=attention, past_key_values=result.past_key_values
        )
    return torch.cat(found, 1)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny ops lose more time on more threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", name="cases")
def _cases() -> Iterator[list[Case]]:
    with registered_caches():
        yield [
            Case("bert", built(bert), cached=False),
            Case("gpt2", built(gpt2), cached=True),
            Case("llama", built(functools.partial(llama, masked=True, cache=True)), cached=True),
        ]


@pytest.fixture(scope="module", name="folder")
def _saved(cases: list[Case], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs, and what the models do: inputs, results and tokens as plain containers."""
    folder = tmp_path_factory.mktemp("models")
    calls: dict[str, list[Any]] = {}
    tokens: dict[str, Any] = {}
    for name, model, cached in cases:
        module: Any = model.module
        with torch.no_grad():
            kinds: dict[str, tuple[Any, Any]] = {name: (model.inputs, PROMPT)}
            if cached:
                kinds[f"{name}_step"] = (functools.partial(step, module), STEP)
                given = prompt(2, 6)
                tokens[name] = (given, continued(module, module, given))
            for kind, (make, spec) in kinds.items():
                program = export(module, (), make(3, 7), dynamic_shapes=spec)
                assert program.is_complete
                program.save(folder / kind)
                calls[kind] = []
                for sizes in SIZES:
                    inputs = make(*sizes)
                    before = plain(inputs)
                    calls[kind].append((before, plain(module(**inputs))))
    torch.save({"calls": calls, "tokens": tokens}, folder / "expected.pt")
    return folder


def found(x: Any) -> Any:
    """The same with containers of Python in place of stand-ins."""
    if type(x) is StandIn:
        return {key: found(x[key]) for key in x._of.names or ()}
    return [found(part) for part in x] if isinstance(x, list | tuple) else x


def check(folder: Path) -> None:
    """Load all programs with stand-ins only, and compare them with what the models did."""
    expected = torch.load(folder / "expected.pt", weights_only=True)
    programs = {kind: load(folder / kind, classes=()) for kind in expected["calls"]}
    with torch.no_grad():
        for kind, calls in expected["calls"].items():
            for inputs, wanted in calls:
                got = found(programs[kind](**inputs))
                torch.testing.assert_close(got, wanted, **TOLERANCE)
        for name, (given, wanted) in expected["tokens"].items():
            got = continued(programs[name], programs[f"{name}_step"], given)
            assert torch.equal(got, wanted), name


def test_without_transformers(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.e2e.test_saved_models import check\n"
        f"check(Path({str(folder)!r}))\n"
        "print([name for name in sys.modules if name.startswith('transformers')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_with_transformers(cases: list[Case], folder: Path) -> None:
    """The classes are registered here, so results are of them, caches included."""
    from transformers import DynamicCache
    from transformers.utils import ModelOutput

    for name, model, cached in cases:
        module: Any = model.module
        with torch.no_grad():
            program = load(folder / name)
            inputs = model.inputs(4, 5)
            got, wanted = program(**inputs), module(**inputs)
            assert isinstance(got, ModelOutput)
            assert type(got) is type(wanted)
            torch.testing.assert_close(plain(got), plain(wanted), **TOLERANCE)
            if cached:
                again = load(folder / f"{name}_step")
                assert type(again(**step(module, 4, 5)).past_key_values) is DynamicCache
                given = prompt(3, 4)
                assert torch.equal(
                    continued(program, again, given), continued(module, module, given)
                )
            loaded: ExportedProgram = load(folder / name, classes=())
            loaded.save(folder / "again")
            assert (folder / "again").read_bytes() == (folder / name).read_bytes()


def test_a_planted_mistake_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tensors of the results in the wrong order: the comparison fails."""
    rebuilt = structure.rebuilt
    monkeypatch.setattr(structure, "rebuilt", lambda xs, spec: rebuilt(xs[::-1], spec))
    with pytest.raises(AssertionError):
        check(folder)
