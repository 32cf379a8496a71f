"""Idioms of PyTorch's own tests: descriptors, iterators, settings, checkpoints, numbers."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import anyshape
from anyshape.trace.record.builtin import checkpoint_policy

SIZES = (3, 4, 3)
own_dict = type.__dict__["__dict__"].__get__
HALF = torch.tensor(0.5, dtype=torch.float64)
TWO = torch.tensor(2)


class Kind:
    size = 3
    __slots__ = ()


def of_class(x: Any) -> Any:
    return x + len(own_dict(Kind)) + own_dict(Kind)["size"]


def of_tensor(x: Any) -> Any:
    return torch.Tensor.shape.__get__(x), torch.Tensor.dtype.__get__(x + 1)


def accumulated(x: Any) -> Any:
    parts = [x, x + 1]
    for i, t in enumerate(parts):
        parts[i] = t * 2
    return list(itertools.accumulate(parts)), itertools.accumulate(parts, initial=x)


def local_names(x: Any) -> Any:
    if x.dim() > 2:
        rows = columns = x.size(1)
        x = x * rows * columns
    return x + 1 if "rows" in vars() and "columns" in vars() else x - len(vars())


def scaled(x: Any) -> Any:
    return (
        torch._foreach_addcmul([x], [x], [x + 1], value=1 - HALF)
        + torch._foreach_addcdiv([x], [x], [x + 1], value=HALF)
        + torch._foreach_add([x, x], HALF)
        + torch._foreach_add([x], TWO)
        + torch._foreach_clamp_max([x], HALF)
    )


def plain(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.dtype, x.tolist()
    return [plain(part) for part in x] if hasattr(x, "__iter__") and type(x) is not str else x


FACTOR = 3


def evaluated(x: Any) -> Any:
    rows = x.size(0)
    return x * eval("rows * 2 + FACTOR"), eval(" [rows, len(x)][1]"), rows


PROGRAMS = [evaluated, of_class, of_tensor, accumulated, local_names, scaled]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_eager(f: Any, dynamic: Any) -> None:
    compiled = anyshape.compile(f, fullgraph=True, dynamic=dynamic)
    for n in SIZES:
        for x in (torch.rand(n), torch.rand(n, 2, 2)):
            assert plain(compiled(x)) == plain(f(x))


@pytest.mark.parametrize("f", [evaluated, of_tensor, local_names, scaled])
def test_exported_as_eager(f: Any) -> None:
    program = anyshape.export(f, (torch.rand(3),), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 2, 5):
        x = torch.rand(n)
        assert plain(program(x)) == plain(f(x))


def sets_and_asks(x: Any) -> Any:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(not before, warn_only=True)
    return x + 1, before, torch.is_deterministic_algorithms_warn_only_enabled()


def test_deterministic_algorithms_are_set_and_left() -> None:
    compiled = anyshape.compile(sets_and_asks, fullgraph=True)
    found = []
    try:
        for f in (sets_and_asks, compiled):
            torch.use_deterministic_algorithms(False)
            for _ in range(4):
                out = f(torch.ones(2))
                found.append((out[1:], torch.are_deterministic_algorithms_enabled()))
    finally:
        torch.use_deterministic_algorithms(False)
    assert found[:4] == found[4:]


def answers(ops: Any, ctx: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
    return CheckpointPolicy.MUST_SAVE if func in ops else CheckpointPolicy.PREFER_RECOMPUTE


asked: list[Any] = []


def notes(ctx: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
    asked.append(func)
    return CheckpointPolicy.MUST_SAVE


def assigns(ctx: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
    notes.last = func
    return True


def block(x: Any) -> Any:
    return torch.mm(x, x).sin().exp()


def checkpointed(x: Any, contexts: Any) -> Any:
    return checkpoint(block, x, use_reentrant=False, context_fn=contexts)


MM = torch.ops.aten.mm.default
SILENT = {
    "set": functools.partial(answers, {MM}),
    "list": [MM],
    "lambda": lambda ctx, func, *args, **kwargs: func is MM,
}


@pytest.mark.parametrize("policy", SILENT)
def test_a_selective_checkpoint(policy: str) -> None:
    contexts = functools.partial(create_selective_checkpoint_contexts, SILENT[policy])
    compiled = anyshape.compile(checkpointed, fullgraph=True)
    for n in SIZES:
        ours, eager = (torch.full((n, n), 0.3, requires_grad=True) for _ in range(2))
        a, b = compiled(ours, contexts), checkpointed(eager, contexts)
        a.sum().backward()
        b.sum().backward()
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(ours.grad, eager.grad)


def test_the_first_checkpoint_of_a_process(monkeypatch: Any) -> None:
    inside: Any = checkpoint
    for name in [name for name in vars(inside.__wrapped__) if "disable" in name]:
        monkeypatch.delattr(inside.__wrapped__, name)  # as if nobody had called it yet
    compiled = anyshape.compile(
        lambda x: checkpoint(torch.sin, x, use_reentrant=False), fullgraph=True
    )
    for n in SIZES:
        ours, eager = (torch.full((n,), 0.3, requires_grad=True) for _ in range(2))
        compiled(ours).sum().backward()
        eager.sin().sum().backward()
        torch.testing.assert_close(ours.grad, eager.grad)


@pytest.mark.parametrize("policy", [notes, assigns, functools.partial(notes)])
def test_a_policy_that_does_more_than_answer_is_refused(policy: Any) -> None:
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    x = torch.full((3, 3), 0.3, requires_grad=True)
    with pytest.raises(anyshape.EffectError, match="which sees the ops"):
        anyshape.compile(checkpointed, fullgraph=True)(x, contexts)


def test_without_the_look_at_its_code_a_policy_would_not_be_asked(monkeypatch: Any) -> None:
    monkeypatch.setattr(checkpoint_policy, "_only_answers", lambda _: True)
    contexts = functools.partial(create_selective_checkpoint_contexts, notes)
    x = torch.full((3, 3), 0.3, requires_grad=True)
    asked.clear()
    anyshape.compile(checkpointed, fullgraph=True)(x, contexts)
    assert not asked
    checkpointed(x, contexts)
    assert asked
    asked.clear()


def test_a_name_that_eval_reads_is_guarded(monkeypatch: Any) -> None:
    x = torch.rand(3)
    for factor in (5, 6, 7):
        compiled = anyshape.compile(evaluated, fullgraph=True)
        compiled(x)
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert plain(compiled(x)) == plain(evaluated(x))


def checked(x: Any, text: str) -> Any:
    n = x.item()
    eval(text)
    return torch.zeros(n)


def test_checks_that_eval_makes() -> None:
    text = "[torch._check(n >= 2), torch._check(n < 5)]"
    program = anyshape.export(checked, (torch.tensor(3), text))
    assert program(torch.tensor(4), text).shape == (4,)
    with pytest.raises(anyshape.RuntimeAssertError):
        program(torch.tensor(7), text)


@pytest.mark.parametrize("text", ["(n := 3)", "[n for _ in range(2)]", "locals()", "lambda: 1"])
def test_eval_with_scopes_of_its_own_is_refused(text: str) -> None:
    with pytest.raises(anyshape.EffectError, match="eval"):
        anyshape.export(checked, (torch.tensor(3), text))


def test_eval_in_another_namespace_is_refused() -> None:
    with pytest.raises(anyshape.EffectError, match="eval"):
        anyshape.compile(lambda x: x + eval("1", {}), fullgraph=True)(torch.ones(2))


def test_text_that_is_no_expression() -> None:
    with pytest.raises(SyntaxError):
        anyshape.compile(lambda x: x + eval("1 +"))(torch.ones(2))
