"""How many lowerings a model needs for twelve pairs of sizes, with 1s among them.

    python benchmarks/lowerings.py [--models gpt,encoder,experts,bert] [--json out.json]

Each model is traced with unbacked sizes and lowered by Inductor, for CUDA where there is a device.
One lowering is the goal. Results are compared with eager execution; "wrong" counts the pairs where
they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set

import anyshape  # noqa: E402
from anyshape.errors import counted  # noqa: E402
from anyshape.events import Lowering, subscribe  # noqa: E402
from benchmarks.compile import experts  # noqa: E402
from benchmarks.regions import make  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = (
    (4, 9), (1, 9), (4, 1), (1, 1), (2, 2), (7, 33), (1, 64), (16, 1), (3, 5), (8, 17), (2, 1),
    (5, 40),
)  # fmt: skip


def tokens(b: int, s: int) -> tuple[Any, ...]:
    return (torch.randint(0, 99, (b, s)),)


def gpt() -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    return make(3, 32), tokens


def encoder() -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return model, lambda b, s: (torch.randn(b, s, 32),)


def routed() -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    return experts().model, lambda b, s: (torch.randn(b * s, 32),)


def bert() -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    from transformers import BertConfig, BertModel

    settings = BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64,
    )  # fmt: skip
    return BertModel(settings).eval(), tokens


MODELS = {"gpt": gpt, "encoder": encoder, "experts": routed, "bert": bert}


def measure(name: str) -> dict[str, Any]:
    """The number of lowerings, and of pairs with wrong results."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    place = "cuda" if torch.cuda.is_available() else "cpu"
    model.eval().float().to(place)
    compiled = anyshape.compile(model, dynamic="unbacked", fullgraph=True, backend="inductor")
    seen: list[Any] = []
    wrong = 0
    with torch.no_grad(), subscribe(seen.append, Lowering):
        for b, s in PAIRS:
            given = [x.to(place) for x in inputs(b, s)]
            want, found = model(*given), compiled(*given)
            want, found = (r if type(r) is torch.Tensor else r[0] for r in (want, found))
            wrong += not torch.allclose(want, found, atol=1e-4)
    return {"lowerings": len(seen), "wrong": wrong, "pairs": len(PAIRS)}


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {}
    for name in options.models.split(","):
        found[name] = measure(name)
        count = counted(found[name]["lowerings"], "lowering", "lowerings")
        print(f"{name:8} {count} for {len(PAIRS)} pairs of sizes, "
              f"{found[name]['wrong']} wrong", flush=True)  # fmt: skip
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
