"""Every call that a program serves is traced again: nothing that was read is unguarded.

The audit calls functions once more that the user caches, so those programs are left out.
"""

from __future__ import annotations

import pytest
import torch

import anyshape
from anyshape.trace.record.reader import Reader
from tests.differential.hostile.run import SILENT, run
from tests.differential.hostile.test_hostile import KNOWN, PROGRAMS

EACH = 4
LEFT_OUT = ("caches", "deviations", "exports", "threads")  # deviations are found, as they should be
AUDITED = [p for p in PROGRAMS if p[0] not in LEFT_OUT][::EACH]


@pytest.mark.parametrize(("kind", "name"), AUDITED, ids=[f"{k}/{n}" for k, n in AUDITED])
def test_the_audit_finds_nothing(kind, name):
    with anyshape.audit():
        outcome = run(kind, name, "None")
    known = "None" in KNOWN.get(f"{kind}/{name}", [])
    assert known or outcome.kind not in SILENT, outcome.about
    assert known or "the program that serves this call" not in str(outcome.about)


def test_a_read_that_is_forgotten_is_found(monkeypatch):
    """A planted bug: attributes of objects are not noted."""
    plain = Reader.note

    def forgets(self, kind, owner, key, value):
        if key == "scale":
            return value
        return plain(self, kind, owner, key, value)

    class Settings:
        scale = 2.0

    monkeypatch.setattr(Reader, "note", forgets)
    settings = Settings()
    compiled = anyshape.compile(lambda x: x * settings.scale, dynamic=True)
    compiled(torch.ones(3))
    settings.scale = 3.0
    with anyshape.audit(), pytest.raises(anyshape.AuditError):
        compiled(torch.ones(3))
