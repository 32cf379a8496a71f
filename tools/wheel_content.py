"""Check what a built wheel and sdist hold: the package, its types, metadata; no tests in the wheel.

python tools/wheel_content.py dist
"""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def problems(folder: Path) -> list[str]:
    """What is wrong with the distributions in a folder."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        return [f"{folder} has {len(wheels)} wheels and {len(sdists)} sdists, not one of each"]
    return [*_of_wheel(wheels[0]), *_of_sdist(sdists[0])]


def _of_wheel(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = wheel.read(info).decode()
        entries = wheel.read(info.replace("METADATA", "entry_points.txt")).decode()
    source = {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "anyshape").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    pages = (ROOT / "docs/reference/errors").glob("*.md")
    source |= {f"anyshape/cli/error_pages/{page.name}" for page in pages}
    examples = (file for file in (ROOT / "examples").iterdir() if file.is_file())
    source |= {f"anyshape/cli/examples/{file.name}" for file in examples}
    package = {name for name in names if not name.startswith(info.split("/")[0])}
    found = [f"the wheel lacks {name}" for name in sorted(source - package)]
    found += [f"the wheel holds {name}" for name in sorted(package - source)]
    version = re.search(r'"(.*)"', (ROOT / "src/anyshape/version.py").read_text().splitlines()[-1])
    assert version is not None
    wanted = [f"Version: {version[1]}", "Requires-Python: >=3.11", "Requires-Dist: torch"]
    found += [f"the metadata lacks {line!r}" for line in wanted if line not in metadata]
    if "anyshape = anyshape.cli.main:main" not in entries:
        found.append("the wheel has no program anyshape")
    return found


def _of_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/anyshape/py.typed")
    return [f"the sdist lacks {name}" for name in wanted if name not in names]


def main(arguments: list[str]) -> int:
    """Print the problems; return the exit status."""
    found = problems(Path(arguments[0]))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
