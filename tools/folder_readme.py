"""Fail when a package folder does not say, briefly, what it is for, or the map leaves it out.

Every folder of the package has a README.md of at most 40 lines: its role, what comes in and goes
out, and how to add one more of what it holds. It names every file of the folder. The map in
CONTRIBUTING.md names every folder and module at the top of the package.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 40


def find_problems(package: Path, limit: int = LIMIT) -> list[str]:
    """Return one sentence for each README that is missing, too long or does not name a file."""
    problems = []
    for folder in sorted({path.parent for path in package.rglob("*.py")} - {package}):
        name, readme = folder.relative_to(package.parent), folder / "README.md"
        if not readme.is_file():
            problems.append(f"{name}: has no README.md")
            continue
        text = readme.read_text(encoding="utf-8")
        if (count := len(text.splitlines())) > limit:
            problems.append(f"{name}: README.md has {count} lines, at most {limit} are allowed")
        problems += [
            f"{name}: README.md does not name {file.name}"
            for file in sorted(folder.glob("*.py"))
            if file.name != "__init__.py"
            and f"`{file.name}`" not in text
            and f"`{file.stem}`" not in text
        ]
    return problems


def find_missing(package: Path, text: str) -> list[str]:
    """Return one sentence for each top-level folder or module that a map does not name."""
    names = [f"{folder.name}/" for folder in {path.parent for path in package.glob("*/*.py")}]
    names += [path.name for path in package.glob("*.py") if not path.name.startswith("__")]
    missing = [name for name in sorted(names) if f"{name}`" not in text]
    return [f"CONTRIBUTING.md: the map does not name {name}" for name in missing]


def main() -> int:
    """Print the problems; return the exit status."""
    package = ROOT / "src" / "anyshape"
    problems = find_problems(package)
    problems += find_missing(package, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
