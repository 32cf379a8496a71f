"""Fail when a package folder does not say, briefly, what it is for.

Every folder of the package has a README.md of at most 40 lines: its role, what comes in and goes
out, and how to add one more of what it holds.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 40


def find_problems(package: Path, limit: int = LIMIT) -> list[str]:
    """Return one sentence for each folder in `package` whose README is missing or too long."""
    problems = []
    for folder in sorted({path.parent for path in package.rglob("*.py")} - {package}):
        name, readme = folder.relative_to(package.parent), folder / "README.md"
        if not readme.is_file():
            problems.append(f"{name}: has no README.md")
        elif (count := len(readme.read_text(encoding="utf-8").splitlines())) > limit:
            problems.append(f"{name}: README.md has {count} lines, at most {limit} are allowed")
    return problems


def main() -> int:
    """Print the problems; return the exit status."""
    problems = find_problems(ROOT / "src" / "anyshape")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
