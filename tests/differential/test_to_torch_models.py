"""The transformers, the documents' model, a mixture of experts and a detection head as programs of
torch: verified, saved, reloaded, and run at five sizes with 1 among them. Some are decomposed,
which takes torch seconds; `make onward` decomposes all.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import export
from tests.onward.programs import PROGRAMS

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures

DECOMPOSED = ("Sequential", "documents", "experts", "BERT")


def reloaded(program: Any) -> Any:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def differs(got: Any, want: Any) -> str | None:
    """How two results differ; None if they do not."""
    try:
        for x, y in zip(pytree.tree_leaves(got), pytree.tree_leaves(want), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)
    except (AssertionError, ValueError) as e:
        return str(e)
    return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_form_agrees_with_eager(name: str) -> None:
    one = PROGRAMS[name]()
    args, kwargs = one.calls[0]
    made = export(one.module, args, kwargs, dynamic_shapes=one.dynamic).to_torch()
    made.validate()
    forms = {"module": made.module(), "reloaded": reloaded(made).module()}
    if name in DECOMPOSED:
        forms["decomposed"] = made.run_decompositions().module()
    for call in one.calls:
        want = one.eager(call)
        for form, module in forms.items():
            found = differs(module(*call[0], **call[1]), want)
            assert found is None, f"{form}: {found}"


def test_another_weight_is_noticed() -> None:
    one = PROGRAMS["Sequential"]()
    args, kwargs = one.calls[0]
    made = export(one.module, args, kwargs, dynamic_shapes=one.dynamic).to_torch()
    made.state_dict["3.bias"] = torch.nn.Parameter(made.state_dict["3.bias"] + 1)
    assert differs(made.module()(*args), one.eager(one.calls[0])) is not None
