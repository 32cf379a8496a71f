"""Calls that become something else than one op, and what surrounds them."""

from __future__ import annotations

import copy
import math
import warnings

import pytest
import torch

from anyshape import Dim, export
from anyshape.errors import AnyshapeWarning, ArgumentError, UnsupportedError
from tests.unit.interop.aten.test_program import need_alike, need_equal

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # torch copies its own structures

ROWS = tuple([(torch.randn(n, 4),) for n in (3, 1, 2, 0, 7)])
NOT_EMPTY = tuple([call for call in ROWS if call[0].shape[0]])


def masked(x):
    kept = x[x > 0]
    torch._check(kept.shape[0] <= x.numel())
    return kept.sum(), kept.shape[0], kept.cumsum(0)


def selected(x):
    out = torch.empty(0)
    torch.masked_select(x, torch.tensor([True, False, True, True]), out=out)
    return out * 2, out.shape[0]


def assigned(x):
    y = torch.zeros(x.shape[0] + 1, 4)
    y[1:] = x
    y[0] = 1
    y[y > 0.5] = 7.0
    return y


def indexed(x):
    return x[..., 0], x[:, None, 1:3], x[-1:], x[:, [0, 2]], x[:, torch.tensor([1, 1])], x[1:, 0]


def numbers(x):
    n = x.shape[0]
    return (
        torch.zeros(math.ceil(n / 3)),
        torch.zeros(math.floor(n * 0.5)),
        torch.ones(max(n, 3)),
        torch.arange(n % 5),
        torch.tensor([n, 2]),
        x + torch.tensor([1.0, 2.0, 3.0, 4.0]),
        n,
    )


def modes(x):
    with torch.no_grad():
        y = x * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = y @ torch.ones(4, 4)
    return z.float() + y


def counted(x):
    n = (x > 0).sum().item()
    return torch.ones(n), n, n * 2, x * (n / 2)


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (masked, ROWS),
        (selected, ROWS),
        (assigned, ROWS),
        (indexed, NOT_EMPTY),
        (numbers, ROWS),
        (modes, ROWS),
        (counted, ROWS),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_against_eager(f, calls):
    program = export(f, calls[0], dynamic_shapes=({0: "n"},)).to_torch()
    need_alike(program, f, calls)


def test_asserts_hold_in_every_form():
    def f(x, k):
        n = k.item()
        torch._check(n >= 0, lambda: "a negative count")
        torch._check(n <= x.shape[0], lambda: "too many rows")
        return x.narrow(0, 0, n).sum(0)

    def call(rows, n):
        return torch.randn(rows, 3), torch.tensor(n)

    program = export(f, call(5, 2), dynamic_shapes=({0: "n"}, None)).to_torch()
    need_alike(program, f, [call(5, 2), call(1, 1), call(3, 0)])
    decomposed = program.run_decompositions().module()  # torch writes messages of its own there
    for n, message in ((-1, "negative count"), (3, "too many rows")):
        with pytest.raises(RuntimeError, match=message):
            program.module()(*call(2, n))
        with pytest.raises(RuntimeError):
            decomposed(*call(2, n))


def test_sizes_that_are_multiples():
    def f(x):
        return x[: x.shape[0] // 2], x.view(2, -1)

    calls = [(torch.randn(2 * n, 3),) for n in (3, 1, 5)]
    program = export(f, calls[0], dynamic_shapes=({0: "2*half"},)).to_torch()
    need_alike(program, f, calls)
    with pytest.raises((RuntimeError, AssertionError)):
        program.module()(torch.randn(3, 3))


def test_numbers_among_the_arguments():
    def f(x, k):
        return x.repeat(k, 1)

    program = export(f, (torch.randn(3, 4), 2), dynamic_shapes=({0: "n"}, "k")).to_torch()
    need_alike(program, f, [(torch.randn(n, 4), k) for n, k in ((3, 2), (1, 1), (2, 3))])


def test_lists_and_dicts():
    def f(xs, d):
        return torch.cat(xs) + d["a"].sum(), {"z": [x * 2 for x in xs]}

    def call(n, m):
        return [torch.randn(n, 3), torch.randn(m, 3)], {"a": torch.randn(n)}

    dynamic = ([{0: "n"}, {0: "m"}], {"a": {0: "n"}})
    program = export(f, call(2, 3), dynamic_shapes=dynamic).to_torch()
    need_alike(program, f, [call(2, 3), call(1, 1), call(4, 1)])


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count.add_(x.sum(0))
        return self.linear(self.linear(x)) + self.count


def test_buffers_change_and_modules_are_called_twice():
    torch.manual_seed(0)
    module = Counting()
    made = export(copy.deepcopy(module), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    decomposed = made.run_decompositions()
    assert list(decomposed.graph_signature.buffers_to_mutate.values()) == ["count"]
    stacks = [list(n.meta["nn_module_stack"]) for n in made.graph.nodes if n.name[:6] == "linear"]
    assert [s[-1] for s in stacks] == ["L__self__linear", "L__self__linear@1"]
    run = made.module()
    for n in (3, 1, 0):
        x = torch.randn(n, 4)
        need_equal(run(x), module(x))


def test_other_sizes_than_those_of_a_variant_are_refused():
    def f(x):
        return x * 2 if x.shape[0] > 8 else x - 1

    program = export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    with pytest.raises(ArgumentError, match="variant=0"):
        program.to_torch()
    with pytest.raises(ArgumentError, match="no variant 2"):
        program.to_torch(variant=2)
    module = program.to_torch(variant=0).module()
    need_equal(module(torch.ones(8)), f(torch.ones(8)))
    with pytest.raises((RuntimeError, AssertionError)):
        module(torch.ones(9))


def test_one_graph_for_sizes_of_one_is_announced():
    def f(x):
        return x * 2 if x.shape[0] == 1 else x + x

    program = export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    if len(program.variants) > 1:
        with pytest.warns(AnyshapeWarning, match="n == 1"):
            made = program.to_torch()
        need_equal(made.module()(torch.ones(1)), f(torch.ones(1)))


def test_unbacked_sizes_of_inputs():
    def f(x):
        return torch.relu(x).sum(1)

    program = export(f, (torch.ones(3, 2),), dynamic_shapes=({0: Dim.UNBACKED},)).to_torch()
    need_alike(program, f, [(torch.randn(n, 2),) for n in (0, 1, 4)])


def test_comparisons_of_whole_tensors():
    def f(x, y):
        return torch.tensor([torch.allclose(x, y[0], atol=0.1), torch.equal(x, x.abs())]), x + y

    def call(n, by):
        x = torch.arange(n) + 1.0
        return x, torch.stack([x + by, x])

    program = export(f, call(3, 0), dynamic_shapes=({0: "n"}, {1: "n"})).to_torch()
    need_alike(program, f, [call(3, 0.01), call(1, 1), call(4, 0)], decomposed=False)


def test_a_place_from_data_that_counts_from_either_end():
    def f(x, k):
        return x.narrow(0, k, 2)

    program = export(f, (torch.randn(5), torch.tensor(1)), dynamic_shapes=({0: "n"}, None))
    calls = [(torch.randn(n), torch.tensor(k)) for n, k in ((5, 1), (3, -2), (2, 0))]
    need_alike(program.to_torch(), f, calls, decomposed=False)


def test_results_of_an_op_that_are_lists():
    def f(x):
        counts, edges = torch.histogramdd(x, bins=[2, 3])
        return counts, edges[1]

    program = export(f, (torch.rand(5, 2),), dynamic_shapes=({0: "n"},)).to_torch()
    module = program.module()  # torch cannot save such an op
    for n in (5, 1, 3):
        x = torch.rand(n, 2)
        need_equal(module(x), f(x))


def test_sizes_before_a_change_of_them_stay():
    def f(x):
        return x.clone().resize_(x.size(1), x.size(0))

    made = export(f, (torch.ones(3, 4),), dynamic_shapes=({0: "a", 1: "b"},)).to_torch()
    shapes = {n.name: str(getattr(n.meta["val"], "shape", "")) for n in made.graph.nodes}
    assert shapes["clone"] == shapes["x"] != shapes["resize_"]
    need_alike(made, f, [(torch.ones(3, 4),), (torch.ones(1, 5),)], decomposed=False)


def test_a_call_that_torch_serves_at_one_size_only_is_refused():
    def f(x, y):
        return x.clone().resize_as_(y)

    dynamic = ({0: "n"}, {0: "m"})
    program = export(f, (torch.ones(3), torch.ones(4)), dynamic_shapes=dynamic)
    with pytest.raises(UnsupportedError, match=r"resize_as_.* at test_calls.py"):
        program.to_torch()


def test_hints_that_no_assert_refuses():
    def f(x):
        return x.chunk(5, 1)

    dynamic = (dict.fromkeys((0, 1), Dim.UNBACKED),)
    program = export(f, (torch.ones(3, 5),), dynamic_shapes=dynamic, allow_partial=True)
    need_alike(program.to_torch(), f, [(torch.ones(3, n),) for n in (5, 9, 15)], decomposed=False)


class Doubled(torch.autograd.Function):
    """The identity with twice the gradient."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_a_backward_that_is_left_out_is_announced():
    def f(x):
        return Doubled.apply(x) + 1

    x = torch.ones(3, requires_grad=True)
    program = export(f, (x,), dynamic_shapes=({0: "n"},))
    with pytest.warns(AnyshapeWarning, match=r"Doubled.backward at test_calls.py:\d+ in f"):
        made = program.to_torch()
    need_equal(made.module()(x), f(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnyshapeWarning)
        export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},)).to_torch()


def test_results_that_torch_has_no_place_for():
    program = export(lambda x: (x + 1, x.dtype), (torch.ones(3),), dynamic_shapes=({0: "n"},))
    with pytest.raises(UnsupportedError, match=r"a result that is torch\.float32"):
        program.to_torch()
