"""Autocast: which ops compute in the lower precision, which in float32, by device.

While autocast is on, the rule of such an op sees its floating operands as the op will: cast.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.rules.operand import is_tensor, meta_of
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import make
from anyshape.torch_compat.thread_state import is_any_autocast_enabled

_LOWER: Final = """
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    mm bmm addmm addbmm baddbmm matmul linear linalg_vecdot linalg_multi_dot linalg_matmul
    einsum tensordot chain_matmul prelu scaled_dot_product_attention cov corrcoef
    affine_grid_generator
"""

_WIDE: Final = """
    avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist trace
    view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr
    max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d
    reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
    mse_loss cosine_embedding_loss nll_loss nll_loss_nd hinge_embedding_loss poisson_nll_loss
    cross_entropy_loss l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss
    multi_margin_loss ctc_loss kl_div multilabel_margin_loss binary_cross_entropy_with_logits
    fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2
    fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve
    linalg_cholesky linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv
    linalg_householder_product linalg_tensorinv linalg_tensorsolve linalg_cholesky_ex linalg_svd
    linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex linalg_qr geqrf qr svd triangular_solve
    fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
    fractional_max_pool3d_with_indices
"""

_WIDE_ON_CUDA: Final = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
    layer_norm group_norm cosine_similarity nll_loss hinge_embedding_loss kl_div l1_loss
    smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits cross_entropy_loss
    nll_loss_nd dist pdist cdist renorm logsumexp prod softmax log_softmax cumprod cumsum sum norm
    poisson_nll_loss cosine_embedding_loss
"""

POLICIES: Final[dict[str, dict[str, bool]]] = {  # True for the lower precision, False for float32
    "cpu": {**dict.fromkeys(_WIDE.split(), False), **dict.fromkeys(_LOWER.split(), True)},
    "cuda": {**dict.fromkeys(_WIDE_ON_CUDA.split(), False), **dict.fromkeys(_LOWER.split(), True)},
}


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


def cast_operands(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The operands as an op of that name sees them under autocast."""
    wanted = {
        device: dtype if POLICIES[device][name] else torch.float32
        for device, dtype in autocast_state()
        if name in POLICIES[device]
    }
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
