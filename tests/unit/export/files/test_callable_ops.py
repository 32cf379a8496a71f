"""The ops that a file may name: which they are, and that none of them crashes or leaks memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from anyshape import export, load
from anyshape.errors import LoadError, RuntimeAssertError, UnsupportedError
from anyshape.export.files import callable_ops
from anyshape.export.files.guarded_op import CONDITIONS, Guarded, broadcast, guarded, unguarded
from tests.unit.export.files.test_hostile_files import content, refusal, with_content

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

F = nn.functional


@pytest.mark.timeout(290)
def test_every_op_survives_absurd_arguments() -> None:
    command = [sys.executable, "-m", "tests.unit.export.files.op_probe", "--calls", "4"]
    command += ["--plant", "_reshape_alias", "_weight_norm_interface"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["outside"].pop("torch.ops.aten._reshape_alias.default")
    assert found["crashes"].pop("torch.ops.aten._weight_norm_interface.default")
    assert not found["crashes"]
    assert not found["outside"]
    assert found["ops"] > 2000
    assert found["returned"] > found["calls"] / 10


# ---------------------------------------------------------------------- the table

REFUSED = """
    _reshape_alias.default _weight_norm_interface.default set_.source_Tensor from_file.default
    convolution_backward.default
    max_pool2d_with_indices_backward.default embedding_dense_backward.default
    _sparse_coo_tensor_unsafe.default sparse_coo_tensor.indices quantize_per_tensor.default
    fbgemm_linear_int8_weight.default mkldnn_rnn_layer.default miopen_rnn.default
    cudnn_convolution.default _nested_view_from_buffer.default _nested_tensor_from_mask.default
    _jagged_to_padded_dense_forward.default _thnn_fused_lstm_cell.default _foreach_copy.default
    _scaled_dot_product_flash_attention_for_cpu.default _cslt_sparse_mm.default add.out
    _unsafe_masked_index_put_accumulate.default _make_dual.default _fw_primal.default
"""


@pytest.mark.parametrize("name", REFUSED.split())
def test_ops_that_trust_their_arguments_are_not_in_it(name: str, tmp_path: Path) -> None:
    op, _, overload = name.partition(".")
    assert hasattr(getattr(torch.ops.aten, op), overload)  # torch has it
    data = content("branch")
    data["variants"][0]["nodes"][0]["op"] = f"torch.ops.aten.{name}"
    assert "table of ops" in refusal(with_content("branch", data), tmp_path / "a")


@pytest.mark.parametrize("library", ["prims", "quantized", "mkldnn", "_quantized", "profiler"])
def test_no_op_of_the_other_libraries_of_torch(library: str) -> None:
    found = [n for n in callable_ops.all_op_names() if n.startswith(f"{library}::")]
    assert found
    for full in found:
        op, _, overload = full.partition("::")[2].partition(".")
        with pytest.raises(LoadError):
            callable_ops.find(f"torch.ops.{library}.{op}.{overload or 'default'}")


def test_every_library_of_torch_is_known() -> None:
    """A library that is not listed would count as a user's."""
    code = """
import torch, torch._inductor.lowering, torch.distributed, torch.onnx, torch.export
import torch.ao.quantization.fx._decomposed, torch._higher_order_ops, torch.testing
from anyshape.torch_compat.aten_op import TORCH_LIBRARIES, all_op_names
found = {name.partition("::")[0] for name in all_op_names()} - {"aten"}
print([n for n in found if n[0] != "_" and n not in TORCH_LIBRARIES])
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["add", "mm", "softmax", "cat", "where", "index_select"])
def test_common_functions_are_in_it(name: str) -> None:
    assert callable_ops.find(callable_ops.name_of(getattr(torch, name))) == getattr(torch, name)


def test_a_refused_op_is_not_saved(tmp_path: Path) -> None:
    indices = torch.tensor([0, 2])

    def f(x: torch.Tensor) -> Any:
        return torch.ops.aten.embedding_dense_backward(x, indices, 4, -1, False)

    with pytest.raises(UnsupportedError, match="embedding_dense_backward"):
        export(f, (torch.ones(2, 3),)).save(tmp_path / "a")


@pytest.mark.parametrize("place", ["args", "kwargs"])
@pytest.mark.parametrize("op", ["torch.ops.aten.to.dtype", "torch.ops.aten.to"])
def test_a_number_is_no_dtype(op: str, place: str, tmp_path: Path) -> None:
    """torch takes any integer there, and crashes."""
    data = content("branch")
    node = data["variants"][0]["nodes"][0]
    node |= {"op": op, "args": [{"value": "i0"}], "kwargs": []}
    for value, is_refused in (({"dtype": "float32"}, False), (-1, True), ({"int": "s0"}, True)):
        node[place] = [{"value": "i0"}, value] if place == "args" else [["dtype", value]]
        file = with_content("branch", data)
        if is_refused:
            assert "for a dtype or the like" in refusal(file, tmp_path / "a")
        else:
            (tmp_path / "a").write_bytes(file)
            load(tmp_path / "a")


# ---------------------------------------------------------------------- guarded ops

LEAST = torch.tensor([-(2**63), 1])
UNSAFE: dict[str, Callable[[], Any]] = {
    "as_strided": lambda: (torch.as_strided, torch.ones(4), [2, 2], [1, 2], 2**63 - 1),
    "as_strided beyond": lambda: (torch.Tensor.as_strided_, torch.ones(4), [5], [1]),
    "as_strided negative": lambda: (torch.as_strided, torch.ones(4), [2], [-1], 1),
    "as_strided_scatter": lambda: (
        torch.as_strided_scatter, torch.ones(4), torch.ones(2), [2], [2**62]
    ),
    "median": lambda: (torch.median, torch.ones(1).expand(3), 0),
    "lcm": lambda: (torch.lcm, LEAST, torch.tensor([-1, 1])),
    "div": lambda: (torch.div, LEAST, -1, "trunc"),
    "eigvals": lambda: (torch.linalg.eigvals, torch.full((3, 3), torch.nan)),
    "lu_unpack": lambda: (torch.lu_unpack, torch.ones(2, 2), torch.ones(9, dtype=torch.int32)),
    "matrix_power": lambda: (torch.matrix_power, torch.ones(1, 1), -(2**63)),
    "lstsq": lambda: (torch.linalg.lstsq, torch.ones(2, 3), torch.ones(2, 0)),
    "lstm": lambda: (torch.lstm, torch.ones(2, 1, 3), [torch.ones(1, 1, 2)] * 2, [], *RNN),
    "gru": lambda: (torch.gru, torch.ones(2, 1, 3), torch.ones(1, 1, 2), [torch.ones(1)] * 4, *RNN),
    "attention": lambda: (
        F.scaled_dot_product_attention, torch.ones(1, 3, 8), torch.ones(1, 2, 8),
        torch.ones(1, 6, 8),
    ),
    "ctc_loss": lambda: (
        F.ctc_loss, torch.ones(5, 1, 4), torch.tensor([[10**6, 2]]), torch.tensor([5]),
        torch.tensor([2]),
    ),
    "weight_norm": lambda: (torch._weight_norm, torch.ones(2, 2), torch.ones(0, 1), 0),
    "packed": lambda: (
        torch._pad_packed_sequence, torch.ones(2, 3), torch.tensor([0, -7]), True, 0.0, 0
    ),
    "upsample": lambda: (
        torch.ops.aten._upsample_bilinear2d_aa.default, torch.ones(1, 1, 4, 4), [9, 900], False,
        2.0, 0.5,
    ),
    "rrelu": lambda: (
        torch._C._nn.rrelu_with_noise, torch.ones(9), torch.ones(2), 0.1, 0.3, True
    ),
    "other arguments": lambda: (torch.lcm, LEAST),
}  # fmt: skip
RNN = (True, 1, 0.0, False, False, False)


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_call_is_refused(name: str) -> None:
    func, *args = UNSAFE[name]()
    kwargs = {"rounding_mode": args.pop()} if name == "div" else {}
    op = guarded(func)
    assert type(op) is Guarded
    with pytest.raises(RuntimeAssertError, match="unsafe call"):
        op(*args, **kwargs)


def test_shapes_broadcast_as_in_torch() -> None:
    draw = random.Random(0)
    fitting = 0
    for _ in range(500):
        shapes = [tuple(draw.choices((0, 1, 2, 3), k=draw.randrange(4))) for _ in range(3)]
        try:
            expected = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            expected = None
        assert broadcast(*shapes) == expected, shapes
        fitting += expected is not None
    assert 50 < fitting < 450


def test_an_op_is_guarded_by_one_object() -> None:
    attention = torch.nn.functional.scaled_dot_product_attention
    assert guarded(attention) is guarded(attention, {})


def test_a_call_that_is_safe_by_its_keywords_is_not_guarded() -> None:
    assert guarded(torch.div, {}) is torch.div
    assert guarded(torch.Tensor.__truediv__, {}) is torch.Tensor.__truediv__
    assert type(guarded(torch.div, {"rounding_mode": None})) is Guarded
    assert type(guarded(torch.ops.aten.div.Tensor_mode, {"rounding_mode": "trunc"})) is Guarded
    assert type(guarded(torch.median, {})) is Guarded
    assert guarded(torch.add, {}) is torch.add


def test_conditions_are_those_of_ops_in_the_table() -> None:
    names = {callable_ops.op_name(func) for func in callable_ops._table().values()}
    others = {name for name in CONDITIONS if name not in names} - {"_upsample_lanczos2d_aa"}
    for name in others:
        assert callable_ops.find(f"torch.ops.aten.{name}.default") is not None


class Guards(nn.Module):
    """Calls every guarded op in a way that is safe."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, 2, bidirectional=True, proj_size=2)
        self.gru = nn.GRU(4, 3, batch_first=True)
        self.rnn = nn.RNN(4, 3, bias=False)

    def forward(self, x: torch.Tensor) -> Any:
        i = torch.arange(4) + 1
        image = x[:, :1].expand(-1, 4, -1)[None]
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 1]))
        return (
            self.lstm(x)[0], self.gru(x)[0], self.rnn(x)[0],
            nn.utils.rnn.pad_packed_sequence(packed)[0],
            x.contiguous().as_strided((2, 2), (1, 2)), x.median(1)[0], torch.lcm(i, i + 2),
            torch.div(i, 3, rounding_mode="trunc"), x / 2, torch.linalg.eigvals(x[0, :, :3]),
            torch.matrix_power(x[0, :, :3], 2), F.scaled_dot_product_attention(x, x, x),
            torch._weight_norm(x[0], x[0, :, :1], 0),
            F.interpolate(image, scale_factor=1.5, mode="bilinear", antialias=True),
            F.ctc_loss(x.log_softmax(2), i[None, :3].expand(3, 3) % 4, [5, 5, 5], [1, 2, 3]),
            F.rrelu(x), torch.as_strided_scatter(x.contiguous(), i[:2] + 0.0, (2,), (1,)),
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_a_loaded_program_calls_guarded_ops(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, x = Guards().eval(), torch.randn(5, 3, 4)
    program = export(module, (x,))
    program.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    for ours, theirs in zip(loaded(x), module(x), strict=True):
        assert torch.equal(ours, theirs)
    called = [node.func for node in loaded.variants[0].graph.nodes]
    assert {f.__name__ for f in called if type(f) is Guarded} >= {"lstm", "median", "as_strided"}
    assert all(unguarded(f) is not f for f in called if type(f) is Guarded)
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for ours, theirs in zip(loaded.to_fx()(x), module(x), strict=True):
        assert torch.equal(ours, theirs)


def test_a_forged_program_raises(tmp_path: Path) -> None:
    program = export(lambda x: x.as_strided((2, 2), (1, 2)), (torch.ones(4),))
    program.save(tmp_path / "a")
    text = (tmp_path / "a").read_bytes()
    assert text.count(b'"args":[{"value":"i0"},{"tuple":[2,2]},{"tuple":[1,2]}]') == 1
    data = json.loads(_program_of(tmp_path / "a"))
    data["variants"][0]["nodes"][0]["args"][1] = {"tuple": [60, 60]}
    (tmp_path / "b").write_bytes(_packed(tmp_path / "a", data))
    with pytest.raises(RuntimeAssertError, match="unsafe call of as_strided"):
        load(tmp_path / "b")(torch.ones(4))


def _program_of(path: Path) -> bytes:
    from anyshape.export.files import archive

    return archive.read_file(path)[archive.PROGRAM]


def _packed(path: Path, data: Any) -> bytes:
    from anyshape.export.files import archive
    from tests.unit.export.files.test_hostile_files import packed

    return packed({**archive.read_file(path), archive.PROGRAM: json.dumps(data).encode()})
