"""`python -m tests.onward [--only NAME,...] [--tools module,save,decompose,unflatten,aoti,onnx]`

Every program becomes one of torch, goes through each tool, and runs at five sizes with 1 among them
(three for AOTInductor and ONNX). AOTInductor's packages also run in a process without anyshape.
"""

from __future__ import annotations

import argparse
import io
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from anyshape import export
from tests.onward.programs import PROGRAMS, Program

TOOLS = ("module", "save", "decompose", "unflatten", "aoti", "onnx")
SLOW = ("Sequential", "BERT", "documents")  # what the compilers take
ALONE = """
import sys, torch
sys.modules["anyshape"] = None
run = torch._inductor.aoti_load_package(sys.argv[1])
for args, kwargs, want in torch.load(sys.argv[2], weights_only=False):
    got = torch.utils._pytree.tree_leaves(run(*args, **kwargs))
    for x, y in zip(got, want, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)
"""


def leaves(x: Any) -> list[Any]:
    return [leaf for leaf in pytree.tree_leaves(x) if leaf is not None]


def need_equal(got: Any, want: Any) -> None:
    for x, y in zip(leaves(got), leaves(want), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


def callable_of(made: Any, tool: str) -> Any:
    if tool == "save":
        file = io.BytesIO()
        torch.export.save(made, file)
        file.seek(0)
        return torch.export.load(file).module()
    if tool == "decompose":
        return made.run_decompositions().module()
    return torch.export.unflatten(made) if tool == "unflatten" else made.module()


def run_aoti(made: Any, one: Program, folder: str) -> None:
    path = torch._inductor.aoti_compile_and_package(made, package_path=f"{folder}/model.pt2")
    run = torch._inductor.aoti_load_package(path)
    rows = [(*call, leaves(one.eager(call))) for call in one.calls[:3]]
    for args, kwargs, want in rows:
        need_equal(run(*args, **kwargs), want)
    torch.save(rows, f"{folder}/calls.pt")
    command = [sys.executable, "-c", ALONE, path, f"{folder}/calls.pt"]
    subprocess.run(command, check=True, cwd=folder)


def run_onnx(made: Any, one: Program, folder: str) -> None:
    import onnxruntime

    torch.onnx.export(made, dynamo=True, verbose=False).save(f"{folder}/model.onnx")
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    names = [i.name for i in session.get_inputs()]
    for call in one.calls[:3]:
        flat = [x.numpy() for x in leaves(call)]
        got = session.run(None, dict(zip(names, flat, strict=True)))
        need_equal([torch.from_numpy(np.asarray(x)) for x in got], one.eager(call))


def run_tool(made: Any, one: Program, tool: str) -> None:
    if tool in ("aoti", "onnx"):
        with tempfile.TemporaryDirectory() as folder:
            (run_aoti if tool == "aoti" else run_onnx)(made, one, folder)
        return
    run = callable_of(made, tool)
    for call in one.calls:
        need_equal(run(*call[0], **call[1]), one.eager(call))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.onward")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    failed = 0
    for name in options.only.split(","):
        one = PROGRAMS[name]()
        made = export(one.module, *one.calls[0], dynamic_shapes=one.dynamic).to_torch()
        for tool in options.tools.split(","):
            if tool in ("aoti", "onnx") and name not in SLOW:
                continue
            start = time.perf_counter()
            try:
                run_tool(made, one, tool)
                outcome = "equal"
            except Exception as e:  # the outcome of this tool; the others go on
                failed += 1
                outcome = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:120]}"
            print(
                f"{name:12} {tool:10} {time.perf_counter() - start:6.1f} s  {outcome}", flush=True
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
