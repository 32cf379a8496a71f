"""Autocast: which ops compute in the lower precision, which in float32, by device.

While autocast is on, the rule of such an op sees its floating operands as the op will: cast. This
table is the only one: a rule that covers several ops of torch asks `computed_in` for each.

The lists are those of torch, which registers an op for autocast by one of three policies: lower
precision, float32, or the widest dtype among the operands. Rules do the third anyway. Ops that
torch composes of registered ones are listed with the dtype of their result.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.rules.shared.operand import is_tensor, meta_of
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import make
from anyshape.torch_compat.aten_op import has_kernel
from anyshape.torch_compat.thread_state import is_any_autocast_enabled

_LOWER: Final = """
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    mm bmm addmm addbmm baddbmm matmul linear linalg_vecdot prelu scaled_dot_product_attention
"""
_LOWER_ON_CPU: Final = "_addmm_activation _native_multi_head_attention mkldnn_rnn_layer"
_LOWER_ON_CUDA: Final = """
    _convolution convolution cudnn_convolution cudnn_convolution_transpose addmv addr mv einsum
    chain_matmul linalg_multi_dot lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    _thnn_fused_lstm_cell _thnn_fused_gru_cell _cudnn_rnn _scaled_dot_product_flash_attention
"""
_FULL_ON_CPU: Final = """
    avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d
    _grid_sampler_2d_cpu_fallback polar prod quantile nanquantile stft cdist trace view_as_complex
    cholesky cholesky_inverse cholesky_solve inverse pinverse lu_solve orgqr ormqr _lu_with_info
    max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d
    reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
    mse_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss poisson_nll_loss
    cross_entropy_loss l1_loss smooth_l1_loss huber_loss margin_ranking_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss
    multilabel_margin_loss_forward binary_cross_entropy_with_logits
    fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2
    fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve
    linalg_cholesky linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv
    linalg_householder_product linalg_tensorinv linalg_tensorsolve linalg_cholesky_ex linalg_svd
    linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex linalg_qr geqrf qr svd triangular_solve
    fractional_max_pool2d fractional_max_pool3d fake_quantize_per_tensor_affine
"""
_FULL_ON_CUDA: Final = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
    layer_norm native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm norm
    linalg_vector_norm linalg_matrix_norm cosine_similarity nll_loss nll_loss2d
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
    multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss poisson_nll_loss
    cosine_embedding_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp prod
    softmax log_softmax cumprod cumsum sum
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
    upsample_trilinear3d upsample_bicubic2d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
"""
_WIDEST_ON_CPU: Final = "cat stack index_copy"
_BY_OVERLOAD_ON_CPU: Final = "_convolution"
_WIDEST_ON_CUDA: Final = """
    addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add
"""
_REFUSED_ON_CUDA: Final = "binary_cross_entropy"

_COMPOSED: Final = "linalg_matmul cov corrcoef affine_grid_generator"
_COMPOSED_ON_CPU: Final = "einsum chain_matmul linalg_multi_dot"
_COMPOSED_IN_FULL: Final = """
    nll_loss_nd cross_entropy fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
"""
_COMPOSED_IN_FULL_ON_CUDA: Final = "nll_loss_nd cross_entropy cross_entropy_loss"


def _policies(lower: str, full: str) -> dict[str, bool]:
    return {**dict.fromkeys(full.split(), False), **dict.fromkeys(lower.split(), True)}


# By device, for each op: True for the lower precision, False for float32.
POLICIES: Final[dict[str, dict[str, bool]]] = {
    "cpu": _policies(
        f"{_LOWER} {_LOWER_ON_CPU} {_COMPOSED} {_COMPOSED_ON_CPU}",
        f"{_FULL_ON_CPU} {_COMPOSED_IN_FULL}",
    ),
    "cuda": _policies(
        f"{_LOWER} {_LOWER_ON_CUDA} {_COMPOSED}", f"{_FULL_ON_CUDA} {_COMPOSED_IN_FULL_ON_CUDA}"
    ),
}
# The ops that torch registers for autocast and that are not cast to one dtype.
UNCAST: Final[dict[str, frozenset[str]]] = {
    "cpu": frozenset(f"{_WIDEST_ON_CPU} {_BY_OVERLOAD_ON_CPU}".split()),
    "cuda": frozenset(f"{_WIDEST_ON_CUDA} {_REFUSED_ON_CUDA}".split()),
}
# The device on which an overload with fewer operands than this is cast to the lower precision,
# and the overload with all of them is not.
_SHORT_OVERLOADS: Final[dict[str, tuple[str, int]]] = {"_convolution": ("cpu", 13)}
if not has_kernel("aten::rms_norm", "AutocastCUDA"):  # since torch 2.12
    del POLICIES["cuda"]["rms_norm"]


def autocast_state() -> tuple[tuple[str, torch.dtype], ...]:
    """The devices for which autocast is on, with their dtypes."""
    if not is_any_autocast_enabled():
        return ()
    return tuple(
        (device, torch.get_autocast_dtype(device))
        for device in POLICIES
        if torch.is_autocast_enabled(device)
    )


def autocast_dtype(meta: Meta) -> torch.dtype:
    """The lower precision for a tensor where autocast is on, else its own dtype."""
    dtype = meta.dtype
    if not dtype.is_floating_point or dtype is torch.float64 or meta.device is None:
        return dtype
    return dict(autocast_state()).get(meta.device.type, dtype)


def computed_in(name: str, meta: Meta) -> torch.dtype:
    """The dtype in which an op of that name computes with a tensor."""
    dtype = meta.dtype
    if meta.device is None or not is_any_autocast_enabled():
        return dtype
    lower = POLICIES.get(meta.device.type, {}).get(name)
    if lower is None or not dtype.is_floating_point or dtype is torch.float64:
        return dtype
    if lower:
        return autocast_dtype(meta)
    return torch.float32 if torch.is_autocast_enabled(meta.device.type) else dtype


def cast_operands(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The operands as an op of that name sees them under autocast.

    A function of `torch.nn.functional` has the policy of the op of its name.
    """
    name = name.removeprefix("F.").removeprefix("aten.")
    wanted = {
        device: dtype if POLICIES[device][name] else torch.float32
        for device, dtype in autocast_state()
        if name in POLICIES[device]
    }
    short = _SHORT_OVERLOADS.get(name)
    if short is not None and len(args) + len(kwargs) < short[1]:
        wanted |= {device: dtype for device, dtype in autocast_state() if device == short[0]}
    if not wanted:
        return args, kwargs
    return _cast(args, wanted), _cast(kwargs, wanted)


def _cast(x: Any, wanted: dict[str, torch.dtype]) -> Any:
    if is_tensor(x):
        meta = meta_of(x)
        dtype = wanted.get(meta.device.type) if meta.device is not None else None
        floating = meta.dtype.is_floating_point and meta.dtype is not torch.float64
        if dtype is None or dtype is meta.dtype or not floating:
            return x
        value = x._value if hasattr(x, "_value") else current().lift(x)
        cast = Meta(meta.shape, dtype, meta.layout, meta.device, meta.requires_grad)
        return make(cast, value, current())
    if type(x) is tuple or type(x) is list:
        return type(x)(_cast(part, wanted) for part in x)
    return {k: _cast(part, wanted) for k, part in x.items()} if type(x) is dict else x
