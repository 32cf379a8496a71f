"""Errors of ops that a program handles: the handler of eager execution's class runs.

Each op gets a number that depends on a size, at sizes where it is right, zero, negative and too
large. The program tells by its result which handler ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[torch.Tensor, int], Any]

CALLS: dict[str, Call] = {
    "split": torch.split,
    "chunk": torch.chunk,
    "tensor_split": torch.tensor_split,
    "unfold": lambda x, k: x.unfold(0, k, 1),
    "unfold2": lambda x, k: x.unfold(0, 1, k),
    "view": lambda x, k: x.view(k, -1),
    "reshape": lambda x, k: x.reshape(-1, k),
    "narrow": lambda x, k: x.narrow(0, k, 2),
    "select": lambda x, k: x.select(0, k),
    "select2": lambda x, k: x.select(k, 0),
    "zeros": lambda x, k: torch.zeros(k),
    "full": lambda x, k: torch.full((k,), 1),
    "arange": lambda x, k: torch.arange(0, 5, k),
    "linspace": lambda x, k: torch.linspace(0, 1, k),
    "logspace": lambda x, k: torch.logspace(0, 1, k),
    "eye": lambda x, k: torch.eye(k),
    "repeat": lambda x, k: x.repeat(k),
    "expand": lambda x, k: x.expand(k),
    "expand2": lambda x, k: x[:1].expand(k),
    "tile": lambda x, k: x.tile(k),
    "roll": lambda x, k: x.roll(k, 0),
    "roll2": lambda x, k: x.roll(1, k),
    "flip": lambda x, k: x.flip(k),
    "unsqueeze": lambda x, k: x.unsqueeze(k),
    "squeeze": lambda x, k: x.squeeze(k),
    "transpose": lambda x, k: x.transpose(0, k),
    "movedim": lambda x, k: x.movedim(0, k),
    "sum": lambda x, k: x.sum(k),
    "mean": lambda x, k: x.mean(k),
    "max": lambda x, k: x.max(k),
    "topk": lambda x, k: x.topk(k),
    "kthvalue": lambda x, k: x.kthvalue(k),
    "sort": lambda x, k: x.sort(k),
    "cumsum": lambda x, k: x.cumsum(k),
    "gather": lambda x, k: x.gather(0, torch.tensor([0]))[k],
    "index_select": lambda x, k: x.index_select(k, torch.tensor([0])),
    "pad": lambda x, k: F.pad(x, (k, -1)),
    "pad reflect": lambda x, k: F.pad(x[None], (k, k), mode="reflect"),
    "pool": lambda x, k: F.max_pool1d(x[None], k),
    "pool stride": lambda x, k: F.avg_pool1d(x[None], 1, k),
    "conv": lambda x, k: F.conv1d(x[None, None], torch.ones(1, 1, 2), stride=k),
    "conv pad": lambda x, k: F.conv1d(x[None, None], torch.ones(1, 1, 2), padding=k),
    "conv dil": lambda x, k: F.conv1d(x[None, None], torch.ones(1, 1, 2), dilation=k),
    "conv groups": lambda x, k: F.conv1d(x[None, None], torch.ones(1, 1, 2), groups=k),
    "interp": lambda x, k: F.interpolate(x[None, None], size=k),
    "adaptive": lambda x, k: F.adaptive_avg_pool1d(x[None], k),
    "unflatten": lambda x, k: x.unflatten(0, (k, -1)),
    "diag": torch.diag,
    "tril": lambda x, k: x[:, None].tril(k),
    "diagonal": lambda x, k: x[:, None].diagonal(k),
    "stack": lambda x, k: torch.stack([x, x], k),
    "cat": lambda x, k: torch.cat([x, x], k),
    "one_hot": lambda x, k: F.one_hot(torch.tensor([1]), k),
    "repeat_interleave": lambda x, k: x.repeat_interleave(k),
    "randperm": lambda x, k: torch.randperm(k).shape,
    "multinomial": lambda x, k: torch.multinomial(x + 1, k).shape,
    "as_strided": lambda x, k: x.as_strided((k,), (1,)),
    "as_strided2": lambda x, k: x.as_strided((1,), (k,)),
    "mm": lambda x, k: x[None] @ torch.ones(k, 2) if k >= 0 else x,
    "glu": F.glu,
    "softmax": lambda x, k: x.softmax(k),
    "group_norm": lambda x, k: F.group_norm(x[None], k),
    "layer_norm": lambda x, k: F.layer_norm(x, (k,)),
    "norm": lambda x, k: x.norm(k),
    "pixel": lambda x, k: F.pixel_shuffle(torch.ones(1, 4, 2, 2), k),
    "unfoldF": lambda x, k: F.unfold(torch.ones(1, 1, 4, 4), k),
    "fold": lambda x, k: F.fold(torch.ones(1, 4, 4), k, 1),
    "bincount": lambda x, k: torch.bincount(torch.tensor([1]), minlength=k),
    "histc": torch.histc,
    "tensordot": lambda x, k: torch.tensordot(x, x, k),
    "combinations": torch.combinations,
    "matrix_power": lambda x, k: torch.matrix_power(torch.eye(2), k),
    "rot90": lambda x, k: torch.rot90(torch.ones(2, 2), k),
    "cov": lambda x, k: torch.cov(x, correction=k),
    "var": lambda x, k: x.var(correction=k),
    "dropout": F.dropout,
    "embedding": lambda x, k: F.embedding(torch.tensor([k]), torch.ones(2, 2)),
    "vander": torch.vander,
    "tri": lambda x, k: torch.tril_indices(k, 2),
    "hann": lambda x, k: torch.hann_window(k),
    "stft": lambda x, k: torch.stft(torch.ones(20), k, return_complex=True),
    "fft": torch.fft.fft,
    "rfft": torch.fft.irfft,
    "setitem": lambda x, k: x.clone().__setitem__(k, 0.0),
    "getitem step": lambda x, k: x[::k],
    "getitem": lambda x, k: x[k],
    "new_empty": lambda x, k: x.new_zeros(k, 2),
    "resize": lambda x, k: x.clone().resize_(k),
    "mul": lambda x, k: x * torch.ones(k) if k >= 0 else x,
    "channel_shuffle": lambda x, k: F.channel_shuffle(torch.ones(1, 4, 2, 2), k),
    "nll": lambda x, k: F.nll_loss(torch.ones(1, 3), torch.tensor([k])),
    "quantile": lambda x, k: x.quantile(k / 1.0),
    "cdist": lambda x, k: torch.cdist(x[:, None], x[:, None], k),
    "hsplit": torch.hsplit,
    "vsplit": torch.vsplit,
    "split_sizes": lambda x, k: torch.split(x, [k, 1]),
    "block_diag": lambda x, k: torch.block_diag(x).view(k),
    "cumprod": lambda x, k: x.cumprod(k),
    "logsumexp": lambda x, k: x.logsumexp(k),
    "scatter": lambda x, k: x.scatter(k, torch.tensor([0]), 1.0),
    "index_add": lambda x, k: x.index_add(k, torch.tensor([0]), torch.ones(1)),
    "take": lambda x, k: x.take(torch.tensor([k])),
    "flatten": lambda x, k: x.flatten(k),
    "swap": lambda x, k: x.swapaxes(0, k),
    "renorm": lambda x, k: x[:, None].renorm(2, k, 1.0),
    "cross": lambda x, k: torch.cross(torch.ones(3), torch.ones(3), dim=k),
    "trapz": lambda x, k: torch.trapz(x, dim=k),
    "diff": lambda x, k: x.diff(k),
    "unbind": lambda x, k: x.unbind(k),
    "argmax": lambda x, k: x.argmax(k),
    "all": lambda x, k: x.all(k),
    "std": lambda x, k: x.std(k),
    "median": lambda x, k: x.median(k),
    "nanmedian": lambda x, k: x.nanmedian(k),
    "mode": lambda x, k: x.mode(k),
    "logcumsumexp": lambda x, k: x.logcumsumexp(k),
    "lp_pool": lambda x, k: F.lp_pool1d(x[None], 2, k),
    "normalize": lambda x, k: F.normalize(x, dim=k),
    "cosine": lambda x, k: F.cosine_similarity(x, x, k),
    "pairwise": lambda x, k: torch.pdist(x[:, None], k),
}

RANDOM = ("dropout", "randperm", "multinomial")
SIZES = (6, 4, 3, 2, 5, 4, 9)


def program(call: Call, x: torch.Tensor) -> Any:
    try:
        made = call(x, x.shape[0] - 4)
    except ZeroDivisionError:
        return "zero", x + 1
    except IndexError:
        return "index", x + 2
    except ValueError:
        return "value", x + 3
    except TypeError:
        return "type", x + 4
    except NotImplementedError:
        return "not implemented", x + 5
    except RuntimeError:
        return "runtime", x + 6
    return made, x + 7


@pytest.mark.parametrize("name", [name for name in CALLS if name not in RANDOM])
@pytest.mark.parametrize("dynamic", [None, True])
def test_the_handler_of_eager_execution_runs(name: str, dynamic: Any) -> None:
    call = CALLS[name]

    def run(x: torch.Tensor) -> Any:
        return program(call, x)

    compiled = anyshape.compile(run, dynamic=dynamic)
    for size in SIZES:
        x = torch.arange(float(size))
        assert str(compiled(x)) == str(run(x)), size


def test_a_rule_that_raises_another_class_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyshape.trace.record.syntax.operation.call_of", lambda _error: None)
    with pytest.raises(AssertionError):
        test_the_handler_of_eager_execution_runs("split", True)


def without_a_dict(x: torch.Tensor) -> torch.Tensor:
    try:
        vars(x.size(0))
    except TypeError as e:
        return x + len(str(e))
    return x


def test_vars_of_what_has_no_dict() -> None:
    compiled = anyshape.compile(without_a_dict, fullgraph=True)
    for n in (0, 1, 2, 5):
        assert torch.equal(compiled(torch.ones(n)), without_a_dict(torch.ones(n)))
