"""Frames between segments: what of them is needed."""

from __future__ import annotations

import torch

from anyshape import ShapeEnv
from anyshape.export.branches.liveness import names_in_metas
from anyshape.tensor.layout import Layout
from anyshape.tensor.meta import Meta
from anyshape.trace.graph.graph import INPUT, Value


def test_names_of_strides_and_offsets_count_too() -> None:
    env = ShapeEnv()
    size, stride, offset = [env.unbacked(size=True) for _ in range(3)]
    layout = Layout(strides=(stride,), offset=offset)
    meta = Meta((size,), torch.float32, layout, torch.device("cpu"), False)
    assert names_in_metas([Value(0, INPUT, meta)]) == {"u0", "u1", "u2"}
