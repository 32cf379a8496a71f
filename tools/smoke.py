"""What an installed wheel must do: import from outside the repository, compile, export, commands.

Runs in an environment that has the wheel and nothing of the repository; see `make smoke`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import anyshape

ROOT = Path(__file__).resolve().parent.parent
assert not Path(anyshape.__file__).is_relative_to(ROOT / "src"), anyshape.__file__

compiled = anyshape.compile(lambda x: x[x > 0] * 2, dynamic="unbacked")
for n in (0, 1, 5):
    x = torch.arange(n) - 1.0
    assert torch.equal(compiled(x), x[x > 0] * 2)
assert compiled.stats.traces == 1

model = torch.nn.Linear(3, 2)
program = anyshape.export(model, (torch.ones(4, 3),), dynamic_shapes=({0: "batch"},))
file = Path(tempfile.mkdtemp(), "model.any")
program.save(file)
loaded = anyshape.load(file)
for n in (0, 1, 7):
    assert torch.equal(loaded(torch.ones(n, 3)), model(torch.ones(n, 3)))

command = [str(Path(sys.executable).with_name("anyshape"))]
shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
assert anyshape.__version__ in shown, shown
told = subprocess.run([*command, "info", file], capture_output=True, text=True, check=True).stdout
assert "float32[batch, 3]" in told, told
page = subprocess.run([*command, "errors", "AS101"], capture_output=True, text=True, check=True)
assert "AS101" in page.stdout, page
demo = subprocess.run([*command, "demo", "jagged"], capture_output=True, text=True, check=True)
assert "equal" in demo.stdout, demo
python = sys.version.split()[0]
print(f"anyshape {anyshape.__version__} on Python {python}, torch {torch.__version__}: works")
