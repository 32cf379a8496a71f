"""Programs of torch in core ATen, what `run_decompositions` gives: taken back, saved and loaded."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import anyshape
from anyshape import export, from_torch
from anyshape.errors import RuntimeAssertError, UnsupportedError
from anyshape.export.files.callable_ops import name_of
from anyshape.export.files.guarded_op import guarded
from anyshape.torch_compat.aten_op import all_op_names, writes_out

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # torch copies its own structures

# Gradients come from autograd, and questions about sizes are answered while the program is traced.
NO_CALLS = ("_backward", "sym_is_contiguous", "sym_numel", "sym_size", "sym_storage_offset")


def core_ops():
    for full in sorted(all_op_names()):
        library, _, name = full.partition("::")
        op, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, op, None) if library == "aten" else None
        found = getattr(packet, overload or "default", None)
        if found is not None and torch.Tag.core in found.tags and not writes_out(found):
            yield found


def is_call(op):
    name = op._schema.name.removeprefix("aten::")
    return not name.endswith(NO_CALLS) and name != "sym_stride"


def test_every_op_of_core_aten_can_be_saved():
    refused = []
    for op in filter(is_call, core_ops()):
        try:
            name_of(op)
        except UnsupportedError:
            refused.append(str(op))
    assert refused == []


def test_others_cannot():
    with pytest.raises(UnsupportedError, match="native_layer_norm_backward"):
        name_of(torch.ops.aten.native_layer_norm_backward.default)


class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.plain = nn.BatchNorm1d(4, track_running_stats=False)

    def forward(self, x):
        return self.plain(self.norm(x)), nn.functional.dropout(x), nn.functional.rrelu(x)


class Transformed(nn.Module):
    def forward(self, x):
        back = torch.fft.irfft(torch.fft.rfft(x) * 2, n=4)
        return back, torch.fft.fft2(x).abs(), torch.pdist(x), torch.empty_like(x).normal_()


@pytest.mark.parametrize(
    ("kind", "training"), [(Normalized, True), (Normalized, False), (Transformed, False)]
)
def test_a_decomposed_program_comes_back_and_is_saved(kind, training, tmp_path):
    module = kind().train(training)
    calls = [(torch.randn(n, 4),) for n in (5, 3, 7)]
    made = export(copy.deepcopy(module), calls[0], dynamic_shapes=({0: "n"},))
    program = from_torch(made.to_torch().run_decompositions())
    path = tmp_path / "program.any"
    program.save(path)
    loaded = anyshape.load(path)
    for call in calls:
        torch.manual_seed(0)
        want = [*module(*call), *[b.clone() for b in module.buffers()]]
        for one in (program, loaded):
            torch.manual_seed(0)
            got = [*one(*call), *one.state_dict().values()]
            names = set(one.state_dict())
            got = got[: -len(names)] if names else got
            got += [one.state_dict()[n] for n, _ in module.named_buffers() if n in names]
            for x, y in zip(got, want, strict=True):
                torch.testing.assert_close(x, y)


def test_a_statistic_for_another_number_of_channels_is_refused():
    op = guarded(torch.ops.aten._native_batch_norm_legit_no_training.default)
    x, ones = torch.randn(3, 4), torch.ones(4)
    assert op(x, ones, ones, ones, ones, 0.1, 1e-5)[0].shape == (3, 4)
    for wrong in (torch.ones(3), torch.ones(4, dtype=torch.float64), torch.ones(1, 4)):
        with pytest.raises(RuntimeAssertError, match="one weight, offset, mean and variance"):
            op(x, ones, ones, wrong, ones, 0.1, 1e-5)
