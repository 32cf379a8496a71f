from __future__ import annotations

import pytest
import sympy
import torch
from torch.fx.experimental.symbolic_shapes import compute_unbacked_bindings

from anyshape.torch_compat import fake_tensor as ft
from anyshape.torch_compat import sympy_expression as se
from anyshape.torch_compat.exported_program import input_source


@pytest.fixture
def shape_env():
    return ft.ShapeEnv(specialize_zero_one=False, duck_shape=False)


def named(shape_env, name, hint=5):
    return se.named_symbol(
        shape_env,
        name,
        lambda: shape_env.create_symbol(
            hint, input_source(0, 0), ft.DimDynamic.DYNAMIC, do_not_specialize_zero_one=True
        ),
    )


def test_a_new_symbol_gets_the_range_that_constraining_gives(shape_env):
    for low, high in ((2, 9), (0, ft.int_oo)):
        mine, theirs = named(shape_env, "mine"), named(shape_env, "theirs")
        se.bound_new_symbol(shape_env, mine, low, high)
        shape_env.constrain_symbol_range(theirs, low, high)
        assert shape_env.var_to_range[mine] == shape_env.var_to_range[theirs]
        for wanted in (mine >= 2, mine <= 9, mine >= 0):
            of_theirs = wanted.subs(mine, theirs)
            known = [shape_env._maybe_evaluate_static(e) for e in (wanted, of_theirs)]
            assert str(known[0]) == str(known[1]).replace("theirs", "mine")
    free, bounded = shape_env.create_unbacked_symint(), shape_env.create_unbacked_symint()
    se.bound_new_symbol(shape_env, free.node.expr, -ft.int_oo, ft.int_oo)
    se.bound_new_symbol(shape_env, bounded.node.expr, -5, 5)
    assert se.statically_known_true(bounded <= 5)
    assert not se.statically_known_true(free <= 5)


def test_symbols_have_names(shape_env):
    assert [str(named(shape_env, n)) for n in ("rows", "rows", "x")] == [
        "s_rows",
        "s_rows_1",
        "s_x",
    ]
    assert str(named(shape_env, "scale", 1.5)) == "zf_scale"
    again = shape_env.create_symbol(3, input_source(1, 0), ft.DimDynamic.DYNAMIC)
    assert str(again)[1:].isdigit()


def test_expressions_are_numbers(shape_env):
    s = named(shape_env, "n")
    assert type(se.as_number(shape_env, s + 1)) is torch.SymInt
    assert type(se.as_number(shape_env, sympy.Ge(s, 7))) is torch.SymBool
    assert type(se.as_number(shape_env, shape_env.create_unbacked_symfloat().node.expr)) is (
        torch.SymFloat
    )
    assert se.as_number(shape_env, sympy.Integer(3)) == 3
    assert se.as_number(shape_env, sympy.true) is True
    assert se.statically_known_true(se.as_number(shape_env, s) >= 0)


def test_every_class_of_expressions_has_its_function(shape_env):
    """Arithmetic of torch's numbers gives expressions of these classes."""
    n = shape_env.create_symintnode(named(shape_env, "n"), hint=5)
    m = shape_env.create_symintnode(named(shape_env, "m"), hint=7)
    known = {**se.BINARY, **se.CHAINS, **se.UNARY}
    found = {
        type(x.node.expr)
        for x in (n + m, n * m, n // m, n % m, torch.sym_max(n, m), torch.sym_min(n, m), n <= m)
    }
    assert found <= set(known)
    assert type((n / m).node.expr) in known
    assert type(torch.sym_float(n).node.expr) in se.UNARY
    assert type(torch.sym_ite(n < m, n, m).node.expr) in (se.WHERE, sympy.Piecewise)
    import math

    assert type(math.floor(n / m).node.expr) in (se.FLOOR, type((n // m).node.expr))
    assert type(math.ceil(n * 0.5).node.expr) is se.CEIL
    assert type(math.floor(n * 0.5).node.expr) is se.FLOOR
    assert type(round(n * 0.5).node.expr) is se.ROUND
    assert type(math.trunc(n * 0.5).node.expr) is se.TRUNC


def test_guards_are_code_of_a_program(shape_env):
    s = named(shape_env, "n")
    se.add_guard(shape_env, sympy.Ge(s, 1, evaluate=False))
    (guard,) = shape_env.guards
    assert guard.expr.free_symbols == {s}


def test_partial_sums_are_sums(shape_env):
    a, b, c = [named(shape_env, n) for n in "abc"]
    total = a + b + c
    assert se.partial_sum(list(total.args)) == total
    assert se.partial_sum(list(total.args[:2])) == sympy.Add(*total.args[:2])


def test_paths_to_symbols(shape_env):
    with ft.FakeTensorMode(shape_env=shape_env):
        made = torch.empty(shape_env.create_unbacked_symint())
    (path,) = compute_unbacked_bindings(shape_env, made).values()
    assert path[0] == se.CallMethodKey("size")
    assert se.DivideByKey(2).get(6) == 3
    assert se.free_unbacked_symbols(made)
