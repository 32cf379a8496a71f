from __future__ import annotations

import torch

from anyshape.torch_compat import flex_attention as flex


def test_the_operator_is_that_of_the_function():
    module = torch.nn.attention.flex_attention
    assert module.flex_attention_hop is flex.OPERATOR
    assert module.setup_compilation_env is flex.SET_UP
    assert module._warn_once is flex.WARN_ONCE


def test_which_functions_take_a_score():
    assert flex.takes_score(lambda s, b, h, i, j: s)
    assert not flex.takes_score(lambda b, h, i, j: i > j)


def test_attention_is_computed_densely():
    q = torch.randn(2, 3, 5, 4)
    out, lse, most = flex.attend(q, q, q, lambda s, b, h, i, j: s, lambda b, h, i, j: i >= j, 0.5)
    want = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.5)
    torch.testing.assert_close(out, want)
    assert lse.shape == most.shape == (2, 3, 5)


def test_a_dense_mask():
    mask = flex.create_mask(lambda b, h, i, j: i >= j, None, None, 2, 2, "cpu")
    assert mask.tolist() == [[[[True, False], [True, True]]]]
