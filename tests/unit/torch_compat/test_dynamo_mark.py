from __future__ import annotations

import inspect

import pytest
import torch
from torch._dynamo import decorators

from anyshape.torch_compat import dynamo_mark


def marks(mark, **named):
    t = torch.zeros(4, 5)
    mark(t, 1, **named)
    return t.__dict__


@pytest.mark.parametrize(
    ("attribute", "mark", "named", "value"),
    [
        (dynamo_mark.STATIC, decorators.mark_static, {}, {1}),
        (dynamo_mark.DYNAMIC, decorators.mark_dynamic, {}, {1}),
        (dynamo_mark.MAYBE_DYNAMIC, decorators.maybe_mark_dynamic, {}, {1}),
        (dynamo_mark.UNBACKED, decorators.mark_unbacked, {}, {1}),
        (dynamo_mark.STRICT_UNBACKED, decorators.mark_unbacked, {"strict": True}, {1}),
        (dynamo_mark.HINTS, decorators.mark_unbacked, {"hint_override": 7}, {1: 7}),
        (dynamo_mark.SHAPE_IDS, decorators.mark_unbacked, {"shape_id": "n"}, {1: "n"}),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_mark_is_this_attribute(attribute, mark, named, value):
    assert marks(mark, **named)[attribute] == value


def test_dynamic_ranges():
    (found,) = marks(decorators.mark_dynamic, min=2, max=8)[dynamo_mark.DYNAMIC_RANGES]
    assert (found.dim, found.min, found.max) == (1, 2, 8)


def test_unbacked_bounds():
    """`mark_unbacked` takes bounds since torch 2.12."""
    takes_bounds = "min" in inspect.signature(decorators.mark_unbacked).parameters
    if takes_bounds:
        found = marks(decorators.mark_unbacked, min=2, max=8)
        assert found[dynamo_mark.UNBACKED_BOUNDS] == {1: (2, 8)}
    else:
        assert torch.__version__ < "2.12"
