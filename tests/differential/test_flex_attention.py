"""`flex_attention` against eager execution: exported, saved, loaded, compiled."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import (
    AuxRequest,
    create_block_mask,
    create_mask,
    flex_attention,
)

import anyshape
from anyshape import Dim

pytestmark = pytest.mark.filterwarnings("ignore:return_lse is deprecated")
SIZES = (3, 1, 2, 7, 0)
ERRORS = (RuntimeError, ValueError, IndexError)


def heads(x, count=2):
    return x.reshape(1, 1, -1, 4).expand(2, count, -1, -1).contiguous()


def plain(x):
    return flex_attention(heads(x), heads(x) * 2, heads(x).sin())


def with_a_score(x):
    def relative(score, b, h, i, j):
        return torch.where(i >= j, score + (i - j) * 0.1 * (h + 1), score - b)

    return flex_attention(heads(x), heads(x), heads(x), score_mod=relative, scale=0.3)


def with_captured_tensors(x):
    bias, table, n = x.sum(1), x @ x.T, x.shape[0]

    def biased(score, b, h, i, j):
        return score * n + bias[i] - bias[n - 1 - j] + table[i, j] + table[i, 0]

    return flex_attention(heads(x), heads(x), heads(x), score_mod=biased)


def with_a_mask(x):
    n = x.shape[0]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device="cpu")
    return flex_attention(heads(x), heads(x), heads(x), block_mask=mask)


def with_a_mask_of_documents(x):
    documents = (x[:, 0] > 0).long()

    def same(b, h, i, j):
        return (documents[i] == documents[j]) & (i >= j)

    mask = create_block_mask(same, 2, 2, x.shape[0], x.shape[0], device="cpu", BLOCK_SIZE=16)
    return flex_attention(heads(x), heads(x), heads(x), block_mask=mask)


def with_fewer_keys(x):
    return flex_attention(heads(x, 4), heads(x), heads(x), enable_gqa=True)


def with_statistics(x):
    asked = AuxRequest(lse=True)
    return flex_attention(heads(x), heads(x), heads(x), return_aux=asked)


def a_dense_mask(x):
    n = x.shape[0]
    of_scores = create_mask(lambda s, b, h, i, j: torch.where(i > j, s, -torch.inf), 2, 1, n, n)
    return create_mask(lambda b, h, i, j: i - j < 2, None, None, n, n + 1, "cpu"), of_scores


def in_another_layout(x):
    q = x.reshape(1, -1, 1, 4).expand(2, -1, 2, -1).contiguous().transpose(1, 2)
    return flex_attention(q, q, q).transpose(1, 2).reshape(2, -1)


PROGRAMS = [
    plain,
    with_a_score,
    with_captured_tensors,
    with_a_mask,
    with_a_mask_of_documents,
    with_fewer_keys,
    with_statistics,
    a_dense_mask,
    in_another_layout,
]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Eager execution without torch's compiler, which takes seconds and computes the same."""
    monkeypatch.setattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def agree(program, f):
    torch.manual_seed(0)
    for n in SIZES:
        x = torch.randn(n, 4)
        try:
            want = f(x)
        except ERRORS:
            with pytest.raises(ERRORS):
                program(x)
        else:
            torch.testing.assert_close(program(x), want)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dim", ["rows", Dim.UNBACKED], ids=["backed", "unbacked"])
def test_exported_saved_and_loaded(f, dim, tmp_path):
    partly = dim is Dim.UNBACKED  # which may refuse 0
    program = anyshape.export(
        f, (torch.randn(3, 4),), dynamic_shapes=({0: dim},), allow_partial=partly
    )
    agree(program, f)
    program.save(tmp_path / "program")
    agree(anyshape.load(tmp_path / "program"), f)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled(f):
    compiled = anyshape.compile(f, dynamic=True, fullgraph=True)
    agree(compiled, f)


def test_it_is_one_call_with_bodies():
    program = anyshape.export(with_a_score, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    assert program.code.count("flex_attention(") == 1


def test_a_mask_that_was_made_before():
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 6, 6, device="cpu")

    def f(x):
        return flex_attention(heads(x), heads(x), heads(x), block_mask=mask)

    x = torch.randn(6, 4)
    torch.testing.assert_close(anyshape.export(f, (x,))(x), f(x))


def test_heads_that_differ_are_refused_as_in_eager():
    def f(x):
        return flex_attention(heads(x, 3), heads(x), heads(x))

    with pytest.raises(ValueError, match="same number of heads"):
        anyshape.export(f, (torch.randn(3, 4),))


def test_a_score_of_another_shape_is_refused():
    def f(x):
        return flex_attention(heads(x), heads(x), heads(x), score_mod=lambda s, *_: s[None])

    with pytest.raises(anyshape.UnsupportedError, match="one score"):
        anyshape.export(f, (torch.randn(3, 4),))
