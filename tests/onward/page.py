"""The page of the docs about programs in torch's tools, from what a run found."""

from __future__ import annotations

import datetime
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "torch-tools.md"
MEANINGS = {
    "module": "`made.module()`, where `made` is `program.to_torch()`",
    "save": "`torch.export.save` and `load`",
    "decompose": "`made.run_decompositions()`",
    "unflatten": "`torch.export.unflatten(made)`",
    "back": "`anyshape.from_torch(made)`",
    "again": "`anyshape.export(program.module())`",
    "quantize": "torchao's quantization for x86, within 5 % of the norm, and exported again",
    "executorch": "ExecuTorch's `to_edge` and its runtime",
    "onnx": "`torch.onnx.export`, run by onnxruntime at three sizes",
    "aoti": "AOTInductor's package at three sizes, also in a process without anyshape",
}
PACKAGES = ("transformers", "torchao", "executorch", "onnxruntime")
TEXT = """\
# Programs in torch's tools

`make onward` exports each program, makes a program of torch of it with `to_torch()`, gives that to
each tool, and compares what comes out with eager execution at five sizes, 1 among them. The command
writes this page. The transformers are tiny, made from their configurations; `experts` is a mixture
of experts, `detector` a detection head; `documents` splits documents at sizes that only data knows.

{meanings}

Measured on {date}, Python {python}, PyTorch {torch}{packages}. An empty cell was not run.

{outcomes}
"""
TIMES = """
## Time

`python benchmarks/to_torch.py`: processor time of one thread in milliseconds, the best of several
runs in one process; both sides give a `torch.export.ExportedProgram`. `4x32` is the model of
`documents` with four times 32 sizes.

{times}
"""


def write_page(
    tools: Sequence[str], outcomes: Mapping[str, Mapping[str, str]], times: Path | None
) -> None:
    """Write the page."""
    text = TEXT.format(
        meanings="\n".join(f"- **{tool}**: {MEANINGS[tool]}" for tool in tools),
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        python=platform.python_version(),
        torch=torch.__version__,
        packages="".join(f", {name} {metadata.version(name)}" for name in _installed()),
        outcomes=_table(
            ["program", *tools],
            [[name, *[found.get(tool, "") for tool in tools]] for name, found in outcomes.items()],
        ),
    )
    if times is not None:
        text += TIMES.format(times=_times(json.loads(times.read_text())))
    PAGE.write_text(text)


def _installed() -> list[str]:
    known = {d.metadata["Name"] for d in metadata.distributions()}
    return [name for name in PACKAGES if name in known]


def _times(rows: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ["program", "export", "to_torch", "torch.export", "ratio"],
        [
            [
                row["name"],
                *[f"{1000 * row[key]:.0f}" for key in ("export", "to_torch", "torch")],
                f"{row['ratio']:.1f}",
            ]
            for row in rows
        ],
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
