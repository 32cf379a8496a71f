from __future__ import annotations

from torch.utils.checkpoint import create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

from anyshape.torch_compat.selective_checkpoint import policy_of


def test_the_mode_of_the_forward_has_the_policy() -> None:
    def policy(ctx, op, *args, **kwargs):
        return True

    forward, backward = create_selective_checkpoint_contexts(policy)
    assert policy_of(forward) is policy
    assert policy_of(backward) is None


def test_another_mode_has_none() -> None:
    assert policy_of(FlopCounterMode()) is None
