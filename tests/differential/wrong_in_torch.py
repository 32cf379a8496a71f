"""Where torch's fake kernels differ from eager execution, or there is nothing to compare.

An entry names the op, what differs, and an op of the database in a column and a way of
`fake_kernels.py` that shows it. The tests fail if an entry no longer differs there.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Known(NamedTuple):
    """A difference that is torch's."""

    op: str
    what: str  # as in `Difference`
    shown_by: str
    reason: str


_DATA: Final = "the fake kernel needs data"
_ORDER: Final = "the fake kernel takes another order of the dimensions than the kernel of the CPU"
_KEPT: Final = "the fake kernel keeps the strides of the input, the kernel of the CPU does not"
_RESIZED: Final = "torch resizes no fake tensor whose sizes are symbols"

KNOWN: Final = (
    Known("corrcoef", "error", "corrcoef backed call", _DATA),
    Known("cov", "error", "cov backed call", _DATA),
    Known("istft", "error", "istft backed call", _DATA),
    Known("one_hot", "error", "nn.functional.one_hot backed call", _DATA),
    Known("ctc_loss", "error", "nn.functional.ctc_loss backed call", _DATA),
    Known("gaussian_nll_loss", "error", "nn.functional.gaussian_nll_loss backed call", _DATA),
    Known("linalg_lstsq", "error", "linalg.lstsq backed call", _DATA),
    Known("_lstsq_with_residuals", "error", "linalg.lstsq backed call", _DATA),
    Known("nonzero", "error", "nonzero out aten", _DATA),
    Known("masked_select", "error", "masked_select out aten", _DATA),
    Known("tensor_split", "error", "tensor_split backed call", _DATA),
    Known("max_unpool2d", "strides", "nn.functional.max_unpool2d.grad backed call",
          "the kernel of the CPU keeps channels last, the fake kernel does not"),
    Known("div", "strides", "div.floor_rounding strided call", _ORDER),
    Known("floor_divide", "strides", "floor_divide strided call", _ORDER),
    Known("xlogy", "strides", "xlogy strided call", _ORDER),
    Known("special_xlog1py", "strides", "special.xlog1py strided call", _ORDER),
    Known("native_batch_norm", "strides", "native_batch_norm strided call", _KEPT),
    Known("_batch_norm_with_update", "strides", "_batch_norm_with_update strided call", _KEPT),
    Known("batch_norm", "strides", "nn.functional.batch_norm strided call", _KEPT),
    Known("log_sigmoid", "strides", "nn.functional.multilabel_soft_margin_loss strided call",
          _KEPT),
    Known("normal", "strides", "normal strided call", _KEPT),
    Known("nll_loss", "strides", "nn.functional.nll_loss strided call", _KEPT),
    Known("nll_loss_nd", "strides", "nn.functional.nll_loss strided aten", _KEPT),
    Known("native_dropout_backward", "strides", "native_dropout_backward strided call",
          "the kernel of the CPU keeps the strides of the input, the fake kernel does not"),
    Known("unique_consecutive", "shape", "unique_consecutive strided call",
          "the fake kernel does not flatten the input"),
    Known("resize_", "refused", "resize_ backed aten", _RESIZED),
    Known("resize_as_", "refused", "resize_as_ backed aten", _RESIZED),
    Known("lu", "refused", "lu out aten", _RESIZED),
    Known("nn.functional.gaussian_nll_loss", "refused",
          "nn.functional.gaussian_nll_loss backed aten", _DATA),
    Known("nn.functional.fractional_max_pool3d", "refused",
          "nn.functional.fractional_max_pool3d backed aten",
          "the fake kernel serves the sizes of one call only"),
)  # fmt: skip
