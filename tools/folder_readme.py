"""Fail when a package folder does not say, briefly, what it is for.

Every folder of the package has a README.md of at most 40 lines: its role, what comes in and goes
out, and how to add one more of what it holds. It names every file of the folder.
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


def main() -> int:
    """Print the problems; return the exit status."""
    problems = find_problems(ROOT / "src" / "anyshape")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
