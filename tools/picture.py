"""Draw docs/report.png: the program of the README in its report, in a headless Chromium.

python tools/picture.py
"""

import linecache
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/report.png"
SIZE = "1000,500"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program() -> object:
    """The exported program of the first block of the README."""
    found = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    source, name = found[1], "best.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    torch.manual_seed(0)
    namespace: dict[str, object] = {"__name__": "best"}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]


def main() -> int:
    """Write the picture; return the exit status."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("Chromium is not installed")
        return 1
    made = program()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        made.report(page)  # type: ignore[attr-defined]
        options = "headless=new no-sandbox disable-gpu disable-dev-shm-usage hide-scrollbars"
        command = [browser, *[f"--{option}" for option in options.split()]]
        command += [f"--user-data-dir={folder}/chromium", f"--window-size={SIZE}"]
        command += [f"--screenshot={PICTURE}", f"{page.as_uri()}#source"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
