"""`python -m tests.zoo.worker LIBRARY`: measures programs, a line of JSON for each step.

In: on stdin, lines "NAME MODE" of what to measure. Out: a line that says what is measured next, and
a line with its outcome, so that whoever reads knows what ran when the process died.
"""

from __future__ import annotations

import json
import os
import sys

import torch

from tests.zoo.case import programs
from tests.zoo.measure import measure


def main() -> None:
    """Measure what stdin asks for."""
    library = sys.argv[1]
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is not the answer
    torch.set_num_threads(1)
    known = {p.name: p for p in programs(library)}
    print(json.dumps({"programs": list(known)}), file=out)
    for line in sys.stdin:
        name, mode = line.split()
        print(json.dumps({"program": name, "mode": mode}), file=out)
        outcome = measure(known[name], mode)
        found = None if outcome is None else outcome._asdict()
        print(json.dumps({"program": name, "mode": mode, "outcome": found}), file=out)


if __name__ == "__main__":
    main()
