from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.distributed.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def pair() -> Iterator[Pool]:
    """Two processes, for all tests of a session."""
    pool = Pool(2)
    yield pool
    assert pool.close() == [0, 0]
