"""Entries, limits, stances, events, methods, modules, threads and memory of compiled functions."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.errors import AnyshapeWarning, ArgumentError, RecompileLimitError
from anyshape.events import GraphBreak, Recompilation, TraceEnd, subscribe


def double(x: Any) -> Any:
    return x * 2


def sizes(*shapes: Any) -> list[Any]:
    return [torch.randn(shape) for shape in shapes]


# ---------------------------------------------------------------------- counts


def mean_of_hits(x: Any) -> Any:
    hits = x[x > 0]
    total = hits.mean() if hits.numel() > 0 else x.sum()
    return total if total > 1 else -total


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_counts_are_the_numbers_of_events(dynamic: Any) -> None:
    compiled = anyshape.compile(mean_of_hits, dynamic=dynamic)
    seen: list[Any] = []
    with subscribe(seen.append, TraceEnd, GraphBreak, Recompilation):
        for n in (0, 1, 2, 5, 9, 3):
            x = torch.arange(n) - 1.0
            assert torch.equal(compiled(x), mean_of_hits(x))
    stats = compiled.stats
    ends = [event for event in seen if type(event) is TraceEnd]
    assert [event.error for event in ends] == [None] * (stats.traces + stats.extensions)
    assert sum(type(event) is GraphBreak for event in seen) == stats.breaks >= 2
    assert [event for event in seen if type(event) is Recompilation] == compiled.recompilations
    assert stats.calls == 6


# ---------------------------------------------------------------------- entries


def test_only_what_changed_becomes_dynamic() -> None:
    compiled = anyshape.compile(double)
    counts = []
    for x in sizes((4, 5), (6, 5), (7, 5), (7, 8), (1, 5), (0, 5), (3, 1)):
        assert torch.equal(compiled(x), x * 2)
        counts.append(len(compiled.entries))
    assert counts == [1, 2, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("dynamic", "entries"), [(None, 4), (True, 3), (False, 5), ("unbacked", 1)]
)
def test_policies(dynamic: Any, entries: int) -> None:
    compiled = anyshape.compile(double, dynamic=dynamic)
    for x in sizes((4,), (5,), (1,), (0,), (7,)):
        assert torch.equal(compiled(x), x * 2)
    assert len(compiled.entries) == entries


def test_without_specialization_of_0_and_1_one_entry_serves_all() -> None:
    for setting in ({"specialize_zero_one": False}, {"backed_size_oblivious": True}):
        compiled = anyshape.compile(double, dynamic=True)
        with anyshape.config.patch(**setting):
            for x in sizes((4,), (5,), (1,), (0,), (7,)):
                assert torch.equal(compiled(x), x * 2)
        assert len(compiled.entries) == 1


def test_numbers() -> None:
    def f(x: Any, n: int, s: float, flag: bool) -> Any:
        return x * n + s if flag else x

    compiled = anyshape.compile(f)
    x = torch.ones(2)
    for n, s in [(3, 0.5), (4, 0.5), (0, 0.5), (-2, 0.5), (5, 1.5), (5, 2.5)]:
        assert torch.equal(compiled(x, n, s, True), f(x, n, s, True))
    assert len(compiled.entries) == 3
    assert torch.equal(compiled(x, 5, 2.5, False), x)
    assert len(compiled.entries) == 4


def test_structures() -> None:
    def f(batch: Any, *, scale: Any = 1.0) -> Any:
        a, b = batch["pair"]
        return {"sum": a + b * scale, "list": [a, (b,)]}

    compiled = anyshape.compile(f, dynamic="unbacked")
    for n in (3, 0, 1):
        batch = {"pair": (torch.ones(n), torch.ones(n)), "other": [torch.ones(n), "text", None]}
        got, want = compiled(batch, scale=2.0), f(batch, scale=2.0)
        assert got.keys() == want.keys()
        assert torch.equal(got["sum"], want["sum"])
        assert torch.equal(got["list"][1][0], want["list"][1][0])
    assert len(compiled.entries) == 1
    compiled({"pair": [torch.ones(2), torch.ones(2)], "other": []})
    assert len(compiled.entries) == 2


def test_the_same_tensor_twice() -> None:
    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return b * 2 if a is not b else b * 3

    compiled = anyshape.compile(f)
    x, y = torch.ones(2), torch.ones(2)
    assert torch.equal(compiled(x, y), torch.full((2,), 2.0))
    assert torch.equal(compiled(x, x), torch.full((2,), 9.0))
    assert torch.equal(compiled(x, y), torch.full((2,), 2.0))
    assert len(compiled.entries) == 2


def test_modes_are_part_of_the_check() -> None:
    compiled = anyshape.compile(lambda x: x @ x)
    x = torch.randn(3, 3, requires_grad=True)
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled(x).dtype is torch.bfloat16
    assert compiled(x).dtype is torch.float32
    assert len(compiled.entries) == 3


def test_gradients() -> None:
    w = torch.ones(3, requires_grad=True)
    compiled = anyshape.compile(lambda x: (x * w).sum(), dynamic="unbacked")
    for n in (2, 1, 0):
        w.grad = None
        compiled(torch.full((n, 3), 2.0)).backward()
        assert torch.equal(w.grad, torch.full((3,), 2.0 * n))


def test_texts_and_keys_ask_for_the_value() -> None:
    def f(x: Any) -> Any:
        n = (x > 0).sum().item()
        return f"{n:>3}|{x.size(0)}|{x.sum().item():.1f}|{n > 1}", {2: "two"}.get(n, str(n))

    for dynamic in (None, "unbacked"):
        compiled = anyshape.compile(f, dynamic=dynamic)
        for x in ([1.0], [1.0, 2.0], [-1.0, 5.0], [2.0, 3.0]):
            assert compiled(torch.tensor(x)) == f(torch.tensor(x))
        assert compiled.stats.eager == 0


def test_the_text_of_a_tensor_is_left_to_python() -> None:
    compiled = anyshape.compile(lambda x: f"{x}{x!r}")
    assert compiled(torch.ones(1)) == "tensor([1.])tensor([1.])"
    assert "break: the text of a traced tensor" in compiled.explain()


def test_a_generator_begins_when_it_is_asked() -> None:
    began = []

    def f(x: Any) -> Any:
        began.append(len(x))
        for i in range(3):
            yield x + i

    compiled = anyshape.compile(f)
    for n in (1, 4, 2):
        made = compiled(torch.ones(n))
        assert n not in began
        assert [t.tolist() for t in made] == [[1.0 + i] * n for i in range(3)]
    assert began == [1, 4, 2]


def test_objects_among_the_arguments() -> None:
    class Settings:
        scale = 2
        weight = torch.ones(2)

    settings = Settings()
    compiled = anyshape.compile(lambda x, s: x * s.scale + s.weight)
    x = torch.ones(2)
    assert torch.equal(compiled(x, settings), x * 3)
    assert torch.equal(compiled(x, settings), x * 3)
    settings.scale = 5
    assert torch.equal(compiled(x, settings), x * 6)
    settings.weight = torch.zeros(2)
    assert torch.equal(compiled(x, settings), x * 5)
    assert (len(compiled.entries), compiled.stats.hits) == (3, 1)


# ---------------------------------------------------------------------- limits and stances


def length(x: Any, text: str) -> Any:
    return x + len(text)


def test_beyond_the_limit_it_runs_eagerly() -> None:
    compiled = anyshape.compile(length, recompile_limit=2)
    x = torch.ones(2)
    compiled(x, "a")
    compiled(x, "bb")
    with pytest.warns(AnyshapeWarning, match=r"limit; what keeps failing: text"):
        assert torch.equal(compiled(x, "ccc"), x + 3)
    assert torch.equal(compiled(x, "dddd"), x + 4)
    assert (compiled.stats.traces, compiled.stats.eager) == (2, 2)


def test_with_fullgraph_the_limit_is_an_error() -> None:
    compiled = anyshape.compile(double, dynamic=False, fullgraph=True, recompile_limit=1)
    compiled(torch.ones(2))
    with pytest.raises(RecompileLimitError, match=r"x\.size\(0\)") as e:
        compiled(torch.ones(3))
    assert "mark_dynamic(x, 0)" in str(e.value)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


def test_the_limit_of_the_configuration() -> None:
    compiled = anyshape.compile(double, dynamic=False)
    with anyshape.config.patch(recompile_limit=1):
        compiled(torch.ones(2))
        with pytest.warns(AnyshapeWarning, match="limit"):
            compiled(torch.ones(3))


def test_stances() -> None:
    compiled = anyshape.compile(double, dynamic=False)
    with anyshape.config.patch(stance="force_eager"):
        compiled(torch.ones(2))
    assert (compiled.stats.eager, len(compiled.entries)) == (1, 0)
    compiled(torch.ones(2))
    with anyshape.config.patch(stance="fail_on_recompile"):
        compiled(torch.ones(2))
        with pytest.raises(RecompileLimitError, match=r"x\.size\(0\) changed from 2 to 3"):
            compiled(torch.ones(3))
    with anyshape.config.patch(stance="eager_on_recompile"):
        compiled(torch.ones(3))
    assert len(compiled.entries) == 1


def test_eager_then_compile() -> None:
    compiled = anyshape.compile(double)
    with anyshape.config.patch(stance="eager_then_compile"):
        for n in (3, 4, 5):
            compiled(torch.ones(n))
    assert (compiled.stats.eager, compiled.stats.traces, compiled.stats.hits) == (1, 1, 1)


# ---------------------------------------------------------------------- events


def test_a_recompilation_says_why() -> None:
    def f(x: Any) -> Any:
        if x.size(0) > 5:
            return x
        return x + 1

    compiled = anyshape.compile(f, dynamic=True)
    compiled(torch.ones(7))
    compiled(torch.ones(3))
    (event,) = compiled.recompilations
    assert "6 <= x.size(0)" in str(event) or "x.size(0)" in str(event)
    assert "if x.size(0) > 5" in str(event)
    assert "x.size(0) = 3" in str(event)
    assert "mark" in event.reasons[0].fix
    text = compiled.explain()
    assert "2 entries" in text
    assert "if x.size(0) > 5" in text


def test_reset() -> None:
    compiled = anyshape.compile(double)
    for x in sizes((3,), (4,)):
        compiled(x)
    compiled.reset()
    assert compiled.entries == []
    assert compiled.stats.calls == 0
    compiled(torch.ones(5))
    assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- methods and modules


class Scaler:
    def __init__(self, k: int) -> None:
        self.k = k

    @anyshape.compile(dynamic="unbacked")
    def scale(self, x: Any) -> Any:
        return x * self.k


def test_methods_have_entries_of_their_own() -> None:
    a, b = Scaler(2), Scaler(3)
    x = torch.ones(2)
    assert torch.equal(a.scale(x), x * 2)
    assert torch.equal(b.scale(x), x * 3)
    assert torch.equal(a.scale(torch.ones(5)), torch.full((5,), 2.0))
    a.k = 7
    assert torch.equal(a.scale(x), x * 7)
    assert len(a.scale.entries) == 2
    assert len(b.scale.entries) == 1
    ref = weakref.ref(a)
    del a
    gc.collect()
    assert ref() is None


def test_a_compiled_module_is_the_module() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.BatchNorm1d(4))
    compiled = anyshape.compile(net, dynamic="unbacked")
    assert isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == list(net.state_dict())
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in net.parameters()]
    compiled.eval()
    assert not net.training
    assert not net[1].training
    for n in (2, 1, 0):
        x = torch.randn(n, 3)
        assert torch.equal(compiled(x), net(x))
    assert len(compiled.entries) == 1
    compiled.extra = 3
    assert net.extra == 3
    compiled.double()
    assert net[0].weight.dtype is torch.float64
    assert "2 entries" in (compiled(torch.randn(2, 3).double()), compiled.explain())[1]


def test_copies_and_pickles_of_a_compiled_module_start_anew() -> None:
    net = nn.Linear(3, 3)
    compiled = anyshape.compile(net)
    x = torch.randn(2, 3)
    compiled(x)
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other.entries == []
        assert torch.equal(other(x), net(x))
        assert other.weight is not net.weight


def test_training_with_an_optimizer() -> None:
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    twin = copy.deepcopy(net)
    compiled = anyshape.compile(net, dynamic="unbacked")
    for module in (compiled, twin):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for n in (4, 1, 0, 7):
            torch.manual_seed(n)
            x = torch.randn(n, 3)
            optimizer.zero_grad()
            (module(x) ** 2).sum().backward()
            optimizer.step()
    assert torch.allclose(net.weight, twin.weight)
    assert len(compiled.entries) == 1


def test_inside_a_trace_it_is_the_function() -> None:
    inner = anyshape.compile(double)
    outer = anyshape.compile(lambda x: inner(x) + 1)
    assert torch.equal(outer(torch.ones(2)), torch.full((2,), 3.0))
    assert inner.entries == []
    program = anyshape.export(inner, (torch.ones(2),), dynamic_shapes=({0: "n"},))
    assert torch.equal(program(torch.ones(5)), torch.full((5,), 2.0))


@pytest.mark.parametrize(
    "options",
    [
        {"dynamic": "backed"},
        {"fullgraph": 1},
        {"backend": "nosuch"},
        {"backend": 3},
        {"recompile_limit": 0},
        {"recompile_limit": "many"},
        {"on_deviation": "ignore"},
    ],
)
def test_bad_options(options: Any) -> None:
    with pytest.raises(ArgumentError):
        anyshape.compile(double, **options)


@pytest.mark.parametrize("fn", [3, "text", int, None.__class__])
def test_bad_functions(fn: Any) -> None:
    with pytest.raises(ArgumentError):
        anyshape.compile(fn)


# ---------------------------------------------------------------------- deviations


def squeezed(x: Any) -> Any:
    return torch.squeeze(x)


def rows(n: int) -> Any:
    x = torch.ones(n, 20, 1)
    anyshape.mark_unbacked(x, 0)
    return x


def test_deviations() -> None:
    follow = anyshape.compile(squeezed)
    assert follow(rows(4)).shape == (4, 20)
    assert follow(rows(1)).shape == (1, 20)
    exact = anyshape.compile(squeezed, on_deviation="specialize")
    assert exact(rows(4)).shape == (4, 20)
    assert exact(rows(1)).shape == (20,)
    assert exact(rows(5)).shape == (5, 20)
    assert len(exact.entries) == 2
    first = anyshape.compile(squeezed, on_deviation="specialize")
    assert first(rows(1)).shape == (20,)
    assert first(rows(4)).shape == (4, 20)
    raises = anyshape.compile(squeezed, on_deviation="raise")
    raises(rows(4))
    with pytest.raises(anyshape.RuntimeAssertError):
        raises(rows(1))


def test_deviations_beyond_a_break() -> None:
    def f(x: Any) -> Any:
        return torch.squeeze(x + 1) if x.sum() > 0 else torch.squeeze(x)

    for option in ("raise", "specialize"):
        compiled = anyshape.compile(f, on_deviation=option)
        for sign in (1, -1):
            x = rows(4) * sign
            anyshape.mark_unbacked(x, 0)
            assert compiled(x).shape == (4, 20)
        for sign in (1, -1):
            x = rows(1) * sign
            anyshape.mark_unbacked(x, 0)
            try:
                assert compiled(x).shape == (20,)
            except anyshape.RuntimeAssertError:
                assert option == "raise" or sign == -1
    follow = anyshape.compile(f)
    assert [follow(rows(n)).shape for n in (4, 1)] == [(4, 20), (1, 20)]


def test_a_check_that_fails_on_a_new_branch_is_the_call_s_error_alone() -> None:
    def f(x: Any) -> Any:
        x.add_(1)
        if x.sum() > 0:
            torch._check(x.max().item() < 5, lambda: "too large")
            return x * 2
        return x

    compiled = anyshape.compile(f)
    compiled(-torch.full((2,), 9.0))
    with pytest.raises(anyshape.RuntimeAssertError, match="too large"):
        compiled(torch.full((2,), 9.0))
    assert compiled.eager_because is None
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert compiled.stats.eager == 0


# ---------------------------------------------------------------------- threads and memory


def test_threads() -> None:
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    compiled = anyshape.compile(f, dynamic="unbacked")
    wrong: list[Any] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for i in range(60):
            x = torch.randn((seed + i) % 5, generator=generator)
            if not torch.equal(compiled(x), f(x)):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    assert len(compiled.entries) == 1  # threads do not wait for each other, and one of them wins


def test_no_tensor_of_a_call_is_kept() -> None:
    def branch(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    for fn in (double, branch):
        compiled = anyshape.compile(fn)
        x = torch.ones(4)
        ref = weakref.ref(x)
        compiled(x)
        compiled(-torch.ones(4))
        del x
        gc.collect()
        assert ref() is None


def test_entries_go_with_their_function() -> None:
    w = torch.ones(3)
    compiled = anyshape.compile(lambda x: x * w)
    compiled(w)
    ref = weakref.ref(compiled.entries[0])
    del compiled
    gc.collect()
    assert ref() is None


# ---------------------------------------------------------------------- memory


def test_entries_are_freed_when_a_function_gives_up() -> None:
    weight = torch.ones(3)

    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * weight + n

    compiled = anyshape.compile(f, dynamic=False, recompile_limit=2)
    x = torch.ones(3)
    for n in range(2):
        compiled(x, n)
    programs = [weakref.ref(entry) for entry in compiled.entries]
    assert len(programs) == 2
    with pytest.warns(AnyshapeWarning, match="compiled 2 times, which is its limit"):
        assert compiled(x, 2).tolist() == [3.0] * 3
    assert compiled.entries == []
    assert "runs eagerly" in compiled.explain()
    gc.collect()
    assert [p for p in programs if p() is not None] == []
    compiled.reset()
    assert compiled(x, 0).tolist() == [1.0] * 3
    assert len(compiled.entries) == 1


def test_a_hit_does_not_bring_back_a_freed_entry() -> None:
    compiled = anyshape.compile(lambda x, n: x + n, dynamic=False)
    x = torch.ones(2)
    compiled(x, 0)
    (entry,) = compiled.entries
    compiled.entries = []
    flat = entry.check((x, 0), {})
    assert compiled._hit(entry, flat, (x, 0), {}).tolist() == [1.0] * 2
    assert compiled.entries == []


@pytest.mark.parametrize(
    "truth",
    [
        lambda x: bool(x.sum().item()),
        lambda x: (bool((x == 0).all()), x + 1),
        lambda x: {"is": bool(x.any()), "equal": bool(x.any()) == True},  # noqa: E712
    ],
)
def test_a_truth_value_of_the_run_is_a_result(truth: Any) -> None:
    compiled = anyshape.compile(truth, dynamic=True, fullgraph=True)
    for x in (torch.zeros(2), torch.ones(3), torch.tensor([0.0, 1.0, 0.0])):
        assert str(compiled(x)) == str(truth(x))
    assert compiled.stats.traces == 1


def test_tensors_of_a_tuple_from_outside_are_constants() -> None:
    held = (torch.ones(1), (torch.full((1,), 2.0),))

    def total(x: Any) -> Any:
        first, (second,) = held
        return x + first + second

    assert anyshape.compile(total, fullgraph=True)(torch.zeros(2)).tolist() == [3.0, 3.0]
