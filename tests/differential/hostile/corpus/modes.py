"""Modes that see the functions or the ops of a program, entered inside."""

from __future__ import annotations

import traceback

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from tests.differential.hostile.program import Box, body, matrix


STATE = Box(k=2.0, log=[])


class Seen(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, kinds, args=(), kwargs=None):
        STATE.log.append(func.__name__)
        out = func(*args, **(kwargs or {}))
        return out * STATE.k if func.__name__ == "relu" else out


class Below(TorchDispatchMode):
    """It notes all ops, and who makes a constant."""

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        made_by = func is torch.ops.aten.lift_fresh.default
        STATE.log.append((str(func), traceback.format_stack() if made_by else ""))
        return func(*args, **(kwargs or {}))


def set_k(v):
    return lambda: setattr(STATE, "k", v)


@body(set_k(3.0), looks_at=STATE)
def methods_in_a_mode(x):
    with Seen():
        y = x.relu() + x.size(0) + torch.ones(2).relu().sum()
    return y, torch.relu(x)


@body(set_k(3.0), looks_at=STATE)
def entered_by_hand(x):
    m = Seen()
    m.__enter__()
    y = x.relu()
    m.__exit__(None, None, None)
    return y


@body(looks_at=STATE)
def below(x):
    with Below():
        y = x * 2
    return y + 1


@body(args=matrix)
def flops(x):
    with FlopCounterMode(display=False) as m:
        y = x @ x.t()
    return y, m.get_total_flops()


@body()
def on_a_device(x):
    with torch.device("cpu"):
        return x + torch.ones(1), torch.device("meta").type


def helper(x):
    with Seen():
        return x.relu() * 2


@body(set_k(3.0), looks_at=STATE)
def mode_in_a_helper(x):
    return helper(x * 2) + helper(x)
