from __future__ import annotations

import pytest
import sympy
import torch
from torch.fx.experimental import _config

from anyshape.torch_compat import fake_tensor as ft


@pytest.fixture
def shape_env():
    return ft.ShapeEnv(specialize_zero_one=False, duck_shape=False)


def symbol(shape_env, name="rows", hint=5, low=0, high=ft.int_oo):
    place = ft.ConstantSource(name)
    made = shape_env.create_symbol(
        hint, place, ft.DimDynamic.DYNAMIC, positive=None, do_not_specialize_zero_one=True
    )
    shape_env.constrain_symbol_range(made, low, high)
    return shape_env.create_symintnode(made, hint=hint, source=place)


def test_shape_env_makes_backed_symbols_and_keeps_guards(shape_env):
    n = symbol(shape_env)
    assert isinstance(n, torch.SymInt)
    assert n > 3
    (guard,) = shape_env.guards
    assert guard.expr.free_symbols == {n.node.expr}
    assert not guard.expr.subs({n.node.expr: 3})


def test_constant_source_and_dim_dynamic_give_separate_symbols(shape_env):
    a, b = symbol(shape_env, "a"), symbol(shape_env, "b")
    assert a.node.expr != b.node.expr


def test_int_oo_is_no_bound(shape_env):
    n = symbol(shape_env, low=-ft.int_oo, high=ft.int_oo)
    found = shape_env.var_to_range[n.node.expr]
    assert found.lower <= -(2**40)
    assert found.upper >= 2**40


def test_fake_tensor_mode_makes_tensors_over_symbols(shape_env):
    mode = ft.FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True)
    n = symbol(shape_env)
    with mode:
        x = torch.empty_strided([n, 2], [2, 1])
        assert (x + torch.ones(2)).shape[0].node.expr == n.node.expr
    assert mode.from_tensor(torch.ones(3), static_shapes=True).shape == (3,)


def test_tracing_context_is_where_a_compiler_finds_the_mode(shape_env):
    mode = ft.FakeTensorMode(shape_env=shape_env)
    context = ft.TracingContext(mode)
    assert context.output_strides is None
    with ft.tracing(context):
        assert ft.TracingContext.try_get() is context
        assert context.fake_mode is mode
    assert ft.TracingContext.try_get() is None


def test_compute_unbacked_bindings_names_what_an_op_made(shape_env):
    mode = ft.FakeTensorMode(shape_env=shape_env)
    with mode:
        x = torch.empty(4)
        assert not ft.compute_unbacked_bindings(shape_env, x)
        found = torch.nonzero(x)
    assert list(ft.compute_unbacked_bindings(shape_env, found)) == [found.shape[0].node.expr]


def test_sympy_interp_has_the_functions_of_printed_strides():
    assert eval("math.floor(7 / 2) + torch.sym_max(1, 2)", dict(ft.SYMPY_INTERP)) == 5


def test_python_printer_prints_python():
    class Printer(ft.PythonPrinter):
        def _print_Symbol(self, expr):  # noqa: N802  sympy's name
            return "ours"

    n = sympy.Symbol("s0", integer=True)
    text = Printer().doprint(sympy.And(n >= 2, sympy.Eq(n % 4, 0)))
    assert eval(text, {"ours": 8}) is True
    assert eval(text, {"ours": 6}) is False


def test_general_paths_switches_questions_about_0_and_1_off():
    assert _config.backed_size_oblivious is False
    with ft.general_paths():
        assert _config.backed_size_oblivious is True
    assert _config.backed_size_oblivious is False


def test_guard_place_names_the_function_that_asked():
    env = ft.ShapeEnv(specialize_zero_one=False, duck_shape=False)
    place = ft.ConstantSource("n")
    symbol = env.create_symbol(7, place, ft.DimDynamic.DYNAMIC, do_not_specialize_zero_one=True)
    n = env.create_symintnode(symbol, hint=7, source=place)
    assert n > 3
    asked = "test_guard_place_names_the_function_that_asked in test_fake_tensor.py"
    assert [ft.guard_place(guard) for guard in env.guards] == [asked]
    assert ft.guard_place(None) == ""


def test_a_mode_without_cache_keeps_nothing(shape_env):
    n = symbol(shape_env)
    before = ft.FakeTensorMode.cache_info()
    mode = ft.without_cache(ft.FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True))
    with mode:
        x = torch.empty_strided([n, 2], [2, 1])
        for _ in range(3):
            assert (x.t() @ x).shape == (2, 2)
    after = ft.FakeTensorMode.cache_info()
    assert (after.hits, after.misses, after.size) == (before.hits, before.misses, before.size)


def test_forgotten_tensors_can_be_swapped(shape_env):
    mode = ft.FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True)
    weight, other = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.zeros(3))
    made = mode.from_tensor(weight)
    with pytest.raises(RuntimeError, match="weakref"):
        torch.utils.swap_tensors(weight, other)
    ft.forget_tensors(mode)
    torch.utils.swap_tensors(weight, other)
    assert weight.sum() == 0
    assert made.shape == (3,)
