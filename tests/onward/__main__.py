"""`python -m tests.onward [--only NAME,...] [--tools module,save,aoti,...] [--write]`

Every program becomes one of torch, goes through each tool, and runs at five sizes with 1 among them
(three for AOTInductor and ONNX). AOTInductor's packages also run in a process without anyshape.
Tools of `PICKED` get some of the programs. A quantized program is compared by the norm of what
differs. ExecuTorch plans its memory for the largest sizes, so its programs have bounds. "back" is
`from_torch`, and "again" an export of `program.module()`. `--write` writes the page of the docs, if
all programs and tools were run, with the times that `benchmarks/to_torch.py --json FILE` measured,
if `--times FILE` is given.
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

from anyshape import Dim, export, from_torch
from tests.onward.page import write_page
from tests.onward.programs import PROGRAMS, Program

TOOLS = (
    "module", "save", "decompose", "unflatten", "back", "again", "quantize", "executorch", "onnx",
    "aoti",
)  # fmt: skip
PICKED = {
    "aoti": ("Sequential", "BERT", "documents", "detector"),
    "onnx": ("Sequential", "BERT", "documents", "detector"),
    "quantize": ("Sequential", "BERT", "ViT", "detector"),
    "executorch": ("Sequential", "BERT", "ViT"),
}
LARGEST = 16  # of the sizes in ExecuTorch
ALONE = """
import importlib, sys, torch
sys.modules["anyshape"] = None
for name in sys.argv[3:]:  # the class of the result is found by its name
    importlib.import_module(name)
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


def callable_of(made: Any, tool: str, one: Program) -> Any:
    if tool == "back":
        return from_torch(made)
    if tool == "again":
        module = export(one.module, *one.calls[0], dynamic_shapes=one.dynamic).module()
        return export(module, *one.calls[0], dynamic_shapes=one.dynamic)
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
    result = type(one.eager(one.calls[0])).__module__
    classes = [] if result in ("builtins", "torch") else [result]
    command = [sys.executable, "-c", ALONE, path, f"{folder}/calls.pt", *classes]
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


def run_quantize(made: Any, one: Program, folder: str) -> None:
    """Static quantization by torchao; the result is exported again, and is the same program."""
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    settings = x86.get_default_x86_inductor_quantization_config()
    quantizer = x86.X86InductorQuantizer().set_global(settings)
    prepared = quantize_pt2e.prepare_pt2e(made.module(), quantizer)
    for args, kwargs in one.calls:
        prepared(*args, **kwargs)
    quantized = quantize_pt2e.convert_pt2e(prepared)
    if not any("quantize_per" in str(node.target) for node in quantized.graph.nodes):
        raise AssertionError("nothing was quantized")
    again = export(quantized, *one.calls[0], dynamic_shapes=one.dynamic)
    for call in one.calls:
        got = leaves(quantized(*call[0], **call[1]))
        for x, y in zip(got, leaves(one.eager(call)), strict=True):
            if x.shape != y.shape or (x - y).norm() > 0.05 * y.norm():
                raise AssertionError(f"{(x - y).norm():.3g} of {y.norm():.3g} differs")
        need_equal(again(*call[0], **call[1]), got)


def run_executorch(_: Any, one: Program, folder: str) -> None:
    from executorch.exir import to_edge
    from executorch.runtime import Runtime

    dynamic = pytree.tree_map(lambda name: Dim(name, max=LARGEST), one.dynamic)
    made = export(one.module, *one.calls[0], dynamic_shapes=dynamic).to_torch()
    file = Path(folder, "model.pte")
    file.write_bytes(to_edge(made).to_executorch().buffer)
    method = Runtime.get().load_program(file).load_method("forward")
    for call in one.calls:
        need_equal(method.execute(leaves(call)), one.eager(call))


IN_A_FOLDER = {
    "aoti": run_aoti,
    "onnx": run_onnx,
    "quantize": run_quantize,
    "executorch": run_executorch,
}


def run_tool(made: Any, one: Program, tool: str) -> None:
    if tool in IN_A_FOLDER:
        with tempfile.TemporaryDirectory() as folder:
            IN_A_FOLDER[tool](made, one, folder)
        return
    run = callable_of(made, tool, one)
    for call in one.calls:
        need_equal(run(*call[0], **call[1]), one.eager(call))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.onward")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--times", type=Path)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    failed = 0
    outcomes: dict[str, dict[str, str]] = {}
    for name in options.only.split(","):
        one = PROGRAMS[name]()
        program = export(one.module, *one.calls[0], dynamic_shapes=one.dynamic)
        for tool in options.tools.split(","):
            if name not in PICKED.get(tool, PROGRAMS):
                continue
            start = time.perf_counter()
            try:
                run_tool(program.to_torch(), one, tool)  # tools leave symbols behind in a program
                outcome = "equal"
            except Exception as e:  # the outcome of this tool; the others go on
                failed += 1
                outcome = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:120]}"
            outcomes.setdefault(name, {})[tool] = outcome.partition(":")[0]
            print(
                f"{name:12} {tool:10} {time.perf_counter() - start:6.1f} s  {outcome}", flush=True
            )
    is_whole = options.only == ",".join(PROGRAMS) and options.tools == ",".join(TOOLS)
    if options.write and is_whole:
        write_page(options.tools.split(","), outcomes, options.times)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
