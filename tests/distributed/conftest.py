from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.distributed.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def pair() -> Iterator[Pool]:
    """Two processes, or as many as `RANKS` in the environment says, for all tests of a session."""
    pool = Pool(int(os.environ.get("RANKS", "2")))
    yield pool
    assert pool.close() == [0] * pool.size
