"""Higher-order calls against eager execution: exported, saved, loaded, compiled in all modes."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as torch_map

import anyshape
from anyshape import Dim, UnsupportedError

SIZES = (3, 0, 1, 2, 7)
ERRORS = (RuntimeError, ValueError, IndexError)


def cond_of_data(x):
    return torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.sin() * 2, (x,))


def cond_of_other_sizes(x):
    y = torch.cond(x.sum() > 0, lambda x: torch.cat([x, x]), lambda x: x + 1, (x,))
    return y * 2, y.shape[0], y.shape[1]


def cond_with_captured_values(x):
    scale, count = x.mean(0), x.shape[0]

    def shrink(x):
        return x * scale - count

    return torch.cond((x > 0).any(), shrink, lambda x: x / (count + 1), (x,))


def cond_in_a_cond(x):
    def inner(x):
        return torch.cond(x.mean() > 1, lambda x: x + 1, lambda x: x - 1, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x * 3, (x,))


def cond_of_sizes_from_data(x):
    hits = x[x > 0]
    return torch.cond(hits.numel() > 4, lambda h: h.sum(), lambda h: h.prod(), (hits,))


def cond_with_nested_results(x):
    def both(x):
        return {"a": (x + 1, x.shape[0]), "b": None}

    def other(x):
        return {"a": (x - 1, x.shape[0]), "b": None}

    return torch.cond(x.sum() > 0, both, other, (x,))


def cond_with_a_check_inside(x):
    n = (x > 0).sum().item()

    def many(x):
        torch._check(n >= 1)
        return x.new_zeros(n).sum() + x.sum()

    return torch.cond(x.sum() > 0, many, lambda x: x.sum() * 2, (x,))


def cond_without_gradients_inside(x):
    def quiet(x):
        with torch.no_grad():
            return x * 2

    return torch.cond(x.sum() > 0, quiet, lambda x: x * 3, (x,))


def while_with_a_number(x):
    def test(i, x):
        return i < x.shape[0]

    return while_loop(test, lambda i, x: (i + 1, x + i), (0, x))


def while_with_a_tensor(x):
    def test(i, x):
        return (x.sum() < 10) & (i < 6)

    start = torch.zeros((), dtype=torch.int64)
    return while_loop(test, lambda i, x: (i + 1, x * 2 + i), (start, x.abs()))


def map_of_rows(x):
    shift = x.mean()
    return torch_map(lambda row, y: (row + shift).cos() * y, x, x.sum())


def map_of_a_tree(x):
    return torch_map(lambda t: {"s": t["a"] + t["b"][0], "n": t["a"].sum()}, {"a": x, "b": [x * 2]})


def scan_in_both_directions(x):
    def step(carry, row):
        return carry + row, carry * row

    zeros = torch.zeros(x.shape[1])
    return scan(step, zeros, x), scan(step, zeros, x, reverse=True)


def scan_along_another_dimension(x):
    def step(carry, row):
        return carry + row, carry.clone()

    return scan(step, torch.zeros(x.shape[0]), x, dim=1)


def associative_scans(x):
    def add(a, b):
        return a + b

    forth = associative_scan(add, x, 0, combine_mode="generic")
    return forth, associative_scan(torch.mul, x, 1, reverse=True, combine_mode="generic")


def batches(x):
    return torch.func.vmap(lambda row: (row * row).sum() + row.shape[0])(x)


def batches_of_batches(x):
    inner = torch.vmap(lambda a, b: a * b, in_dims=(0, None))
    return torch.vmap(inner, in_dims=(0, 0), out_dims=1)(x, x.sum(1))


def batches_of_trees(x):
    f = torch.vmap(
        lambda t, k: (t["a"] * k, t["a"].sum()), in_dims=({"a": 1}, None), out_dims=(1, 0)
    )
    return f({"a": x}, 3)


def gradients(x):
    return torch.func.grad(lambda y: (y**3).sum())(x)


def gradients_and_values(x):
    def loss(y, z):
        return ((y * z) ** 2).sum(), y.detach() + 1

    return torch.func.grad_and_value(loss, argnums=(0, 1), has_aux=True)(x, x.cos())


def gradients_per_sample(x):
    def loss(w, row):
        return (w * row).sum() ** 2

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(x.sum(0), x)


def jacobians(x):
    y = x.sum(1)
    return (
        torch.func.jacrev(lambda y: y.sin())(y),
        torch.func.jacfwd(torch.cos)(y),
        torch.func.hessian(lambda y: (y**3).sum())(y),
    )


def forward_mode(x):
    return torch.func.jvp(lambda y: y.sin() * 2, (x,), (torch.ones_like(x),))


def functions_over_a_cond(x):
    def loss(y):
        return torch.where(y > 0, y**3, y).sum()

    return torch.cond(x.sum() > 0, torch.func.grad(loss), lambda x: x.sin(), (x,))


_rows_times_sums = torch.vmap(lambda row: row.sum() * row)
_cubic_hessian = torch.func.hessian(lambda y: (y**3).sum())


def transformed_outside(x):
    return _rows_times_sums(x), _cubic_hessian(x.sum(1))


def recomputed(x):
    return torch.utils.checkpoint.checkpoint(lambda y: y.sin().cos(), x, use_reentrant=False)


_linear = torch.nn.Linear(4, 4)


def called_with_other_weights(x):
    weights = {"weight": torch.ones(4, 4) * x.sum(), "bias": torch.zeros(4)}
    return torch.func.functional_call(_linear, weights, (x,))


def recomputed_in_recomputed(x):
    def inner(y, reentrant):
        return torch.utils.checkpoint.checkpoint(torch.exp, y, use_reentrant=reentrant) * 2

    def outer(y):
        return inner(y, True) + inner(y, False)

    return torch.utils.checkpoint.checkpoint(outer, x, use_reentrant=False)


def pulled_back(x):
    out, pull_back = torch.func.vjp(lambda y: (y.sin() * 2, y.sum()), x)
    return out, pull_back((torch.ones_like(x), torch.ones(())))


def pushed_forward(x):
    out, push = torch.func.linearize(lambda y, z: {"a": y.sin() * z}, x, x.cos())
    return out, push(torch.ones_like(x), x)


def without_mutations(x):
    def change(y):
        z = y.clone()
        z[..., 0].add_(1)
        return z

    return torch.func.functionalize(change)(x)


_ensemble = [torch.nn.Linear(4, 3) for _ in range(3)]


def ensemble_of_models(x):
    parameters, buffers = torch.func.stack_module_state(_ensemble)

    def call(p, b, x):
        return torch.func.functional_call(_ensemble[0], (p, b), (x,))

    return torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)


class Cube(torch.autograd.Function):
    """A function with a rule of its own for batches."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]


def batches_by_a_rule_of_the_user(x):
    return torch.vmap(lambda row: Cube.apply(row) + 1)(x)


def cond_of_the_same_sizes(x):
    y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))
    z = (x + y).view(-1)
    return z * 2 if y.shape[0] == x.shape[0] else z


def cond_of_two_sizes(x):
    y = torch.cond(x.sum() > 0, lambda x: torch.cat([x, x]), lambda x: x + 1, (x,))
    at_least, at_most = y.shape[0] >= x.shape[0], y.shape[0] <= 2 * x.shape[0]
    return y if at_least and at_most else x


def cond_of_known_sizes(x):
    y = torch.cond(x.sum() > 0, lambda x: x.new_ones(2), lambda x: x.new_zeros(5), (x,))
    return y + 1 if y.shape[0] > 1 and y.shape[0] < 6 and y.shape[0] != 3 else y


def cond_of_numbers(x):
    half, n = x.shape[0] / 2, x.shape[0]
    a, b = torch.cond(x.sum() > 0, lambda: (half, n + 1), lambda: (half, 2 * n))
    return x * a, x + b


PROGRAMS = [
    cond_of_data,
    cond_of_other_sizes,
    cond_with_captured_values,
    cond_in_a_cond,
    cond_of_sizes_from_data,
    cond_with_nested_results,
    cond_with_a_check_inside,
    cond_without_gradients_inside,
    while_with_a_number,
    while_with_a_tensor,
    map_of_rows,
    map_of_a_tree,
    scan_in_both_directions,
    scan_along_another_dimension,
    associative_scans,
    batches,
    batches_of_batches,
    batches_of_trees,
    gradients,
    gradients_and_values,
    gradients_per_sample,
    jacobians,
    forward_mode,
    functions_over_a_cond,
    transformed_outside,
    recomputed,
    called_with_other_weights,
    recomputed_in_recomputed,
    pulled_back,
    pushed_forward,
    without_mutations,
    ensemble_of_models,
    batches_by_a_rule_of_the_user,
    cond_of_the_same_sizes,
    cond_of_two_sizes,
    cond_of_known_sizes,
    cond_of_numbers,
]


def plain_cond(pred, true_fn, false_fn, operands=()):
    """What `torch.cond` means; eager execution compiles it, which takes seconds."""
    return true_fn(*operands) if pred else false_fn(*operands)


def plain_while(test, step, carried):
    while test(*carried):
        carried = step(*carried)
    return carried


@pytest.fixture
def eager(monkeypatch):
    """A function that runs a program eagerly."""

    def run(f, x):
        with monkeypatch.context() as patch:
            patch.setattr(torch, "cond", plain_cond)
            patch.setitem(f.__globals__, "while_loop", plain_while)
            try:
                return f(x)
            except ERRORS as e:
                return e

    return run


def inputs():
    """Both signs at every size."""
    torch.manual_seed(0)
    return [torch.randn(n, 4).abs() * sign for n in SIZES for sign in (1, -1)]


def agree(program, f, eager):
    for x in inputs():
        want = eager(f, x.clone())
        if isinstance(want, Exception):
            with pytest.raises(ERRORS):
                program(x.clone())
        else:
            torch.testing.assert_close(program(x.clone()), want)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dim", ["rows", Dim.UNBACKED], ids=["backed", "unbacked"])
def test_exported_saved_and_loaded(f, dim, eager, tmp_path):
    program = anyshape.export(f, (torch.randn(3, 4),), dynamic_shapes=({0: dim},))
    agree(program, f, eager)
    program.save(tmp_path / "program")
    agree(anyshape.load(tmp_path / "program"), f, eager)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [True, "unbacked"])
def test_compiled_whole(f, dynamic, eager):
    program = anyshape.compile(f, dynamic=dynamic, fullgraph=True)
    agree(program, f, eager)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_after_a_graph_break(f, eager):
    def broken(x):
        return f(x if x.sum() > 5 else x * 1)

    program = anyshape.compile(broken, dynamic="unbacked")
    agree(program, f, eager)
    assert program.stats.traces >= 1


@pytest.mark.parametrize(
    "f", [cond_of_the_same_sizes, cond_of_two_sizes, cond_of_known_sizes], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dim", ["rows", Dim.UNBACKED], ids=["backed", "unbacked"])
def test_branches_on_the_sizes_of_a_result_are_proved(f, dim):
    program = anyshape.export(
        f, (torch.randn(3, 4),), dynamic_shapes=({0: dim},), control_flow="raise"
    )
    assert len(program.variants) == 1


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_of_recomputed_parts(reentrant):
    def f(x):
        inner = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=reentrant)
        return torch.utils.checkpoint.checkpoint(torch.exp, inner, use_reentrant=reentrant)

    compiled = anyshape.compile(f, dynamic=True)
    for n in (3, 1, 5):
        x = torch.randn(n, 4, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        compiled(x).sum().backward()
        f(y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)


def test_both_sides_are_in_the_program():
    program = anyshape.export(cond_of_data, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    assert len(program.variants) == 1
    assert program.code.count("cond(") == 1


def test_gradients_flow_through_bodies():
    compiled = anyshape.compile(cond_with_captured_values, dynamic=True, fullgraph=True)
    for sign in (1, -1):
        x = (torch.randn(3, 4).abs() * sign).requires_grad_()
        y = x.detach().clone().requires_grad_()
        compiled(x).sum().backward()
        pred = bool((y > 0).any())
        want = (y * y.mean(0) - 3 if pred else y / 4).sum()
        want.backward()
        torch.testing.assert_close(x.grad, y.grad)


def test_what_one_side_checks_does_not_hold_for_the_other():
    def f(x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)

        def many(x):
            torch._check(n >= 5)
            return x.sum()

        y = torch.cond(x.sum() > 100, many, lambda x: x.sum() * 2, (x,))
        return y, torch.zeros(n)

    program = anyshape.export(f, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.UNBACKED},))
    y, zeros = program(torch.ones(1, 4))
    assert (y.item(), zeros.shape[0]) == (8, 4)
    with pytest.raises(RuntimeError, match="5"):
        program(torch.full((1, 4), 50.0))


def test_results_of_other_dtypes_are_refused():
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x, lambda x: x.long(), (x,))

    with pytest.raises(UnsupportedError, match="differ in dtype"):
        anyshape.export(f, (torch.randn(3, 4),))


def test_a_body_that_changes_what_it_did_not_make_is_refused():
    def f(x):
        y = x + 1
        torch.cond(x.sum() > 0, lambda: y.add_(1), y.clone)
        return y

    with pytest.raises(UnsupportedError, match="changes a tensor from outside"):
        anyshape.export(f, (torch.randn(3, 4),))


def test_a_body_with_an_effect_is_refused():
    seen = []

    def f(x):
        def noted(x):
            seen.append(1)
            return x + 1

        return torch.cond(x.sum() > 0, noted, lambda x: x - 1, (x,))

    with pytest.raises(anyshape.AnyshapeError):
        anyshape.export(f, (torch.randn(3, 4),))
    assert not seen


def test_a_result_that_is_an_operand_is_new_memory():
    def f(x):
        y = torch.cond(x.sum() > 0, lambda x: x, lambda x: x.view(-1).view(x.shape), (x,))
        y.add_(1)
        return x, y

    program = anyshape.export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    x = torch.ones(2, 4)
    same, y = program(x)
    assert torch.equal(x, torch.ones(2, 4))
    assert torch.equal(same, x)
    assert torch.equal(y, x + 1)


def test_a_branch_on_data_inside_a_body_is_refused():
    def f(x):
        def branches(x):
            return x + 1 if x.max() > 3 else x

        return torch.cond(x.sum() > 0, branches, lambda x: x - 1, (x,))

    with pytest.raises(anyshape.DataDependentError):
        anyshape.export(f, (torch.randn(3, 4),))


def test_as_a_module_of_fx():
    program = anyshape.export(cond_of_data, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    module = program.to_fx()
    x = torch.ones(5, 4)
    assert torch.equal(module(x)[0], x.cos())
    assert torch.equal(module(-x)[0], (-x).sin() * 2)


def test_is_exporting():
    def f(x):
        return x + torch.compiler.is_exporting() + 2 * torch.compiler.is_compiling()

    x = torch.zeros(3)
    assert torch.equal(anyshape.export(f, (x,))(x), x + 3)
    assert torch.equal(anyshape.compile(f)(x), x + 2)
    assert not torch.compiler.is_exporting()
