"""Values of a type that an op does not take: what eager execution refuses is no program."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
import torch

from anyshape import AnyshapeError, ArgumentError, export

if TYPE_CHECKING:
    from collections.abc import Callable

X: Final = torch.arange(6.0).reshape(2, 3)
VALUES: Final[list[Any]] = [
    0.5, "0", True, None, [0.5], 1j, np.int64(1), np.float64(1.0),
]  # fmt: skip
OPS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sum": lambda x, d: x.sum(d),
    "softmax": lambda x, d: x.softmax(d),
    "transpose": lambda x, d: x.transpose(0, d),
    "squeeze": lambda x, d: x.squeeze(d),
    "unsqueeze": lambda x, d: x.unsqueeze(d),
    "flatten": lambda x, d: x.flatten(0, d),
    "size": lambda x, d: x.size(d),
    "stride": lambda x, d: x.stride(d),
    "cat": lambda x, d: torch.cat([x, x], d),
    "narrow": lambda x, d: x.narrow(0, 0, d),
    "split": lambda x, d: x.split(d)[0],
    "expand": lambda x, d: x[:1].expand(d, 3),
    "repeat": lambda x, d: x.repeat(d, 1),
    "repeat_interleave": lambda x, d: x.repeat_interleave(d),
    "view": lambda x, d: x.view(d, -1),
    "new_ones": lambda x, d: x.new_ones(d, 2),
    "topk": lambda x, d: x.topk(d)[0],
    "diagonal": lambda x, d: x.diagonal(d),
    "layer_norm": lambda x, d: torch.nn.functional.layer_norm(x, (d,)),
    "pad": lambda x, d: torch.nn.functional.pad(x, (0, d)),
    "arange": lambda x, d: x[0, 0] + torch.arange(d),
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_program_takes_what_eager_execution_takes(name: str, value: Any) -> None:
    def fn(x: Any) -> Any:
        return OPS[name](x, value)

    try:
        want = fn(X)
    except Exception as e:
        with pytest.raises((type(e), AnyshapeError)):
            export(fn, (X,))(X)
    else:
        with warnings.catch_warnings():  # of a slow kernel, for what no rule is made for
            warnings.simplefilter("ignore")
            got = export(fn, (X,))(X)
        assert torch.equal(got, want) if isinstance(want, torch.Tensor) else got == want


@pytest.mark.parametrize(("name", "value"), [("squeeze", 0.5), ("size", "0"), ("repeat", 0.5)])
def test_a_refusal_has_its_code(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        export(lambda x: OPS[name](x, value), (X,))
    assert caught.value.code == "AS123"
