"""Fail when a source file has grown too long to be read in one sitting.

A file over the limit holds more than one concept: split it by concept, not by length.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 500


def find_problems(root: Path, limit: int = LIMIT) -> list[str]:
    """Return one sentence for each Python file in `root` that has more than `limit` lines."""
    counts = {path: path.read_bytes().count(b"\n") for path in sorted(root.rglob("*.py"))}
    return [
        f"{path.relative_to(root)}: {count} lines, at most {limit} are allowed: split it by concept"
        for path, count in counts.items()
        if count > limit
    ]


def main() -> int:
    """Print the problems; return the exit status."""
    problems = find_problems(ROOT / "src")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
