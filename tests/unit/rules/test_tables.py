"""The tables of facts about ops agree with each other."""

from __future__ import annotations

import functools

import pytest
import torch

from anyshape import export, load
from anyshape.export.files import callable_ops
from anyshape.rules.dispatch.autocast import POLICIES
from anyshape.rules.dispatch.op_name import NOT_OPS, PYTHON_OPERATORS, REFLECTED, REFUSED
from anyshape.rules.dispatch.resolve import _by_name, loaded_rules, resolve
from anyshape.symbolic.torch_calls import HANDLED
from anyshape.torch_compat.aten_op import CALLABLE_PRIVATE_OPS, schemas_named

RULES = loaded_rules()


def test_a_function_is_in_one_of_the_tables_by_function():
    assert not NOT_OPS & REFUSED.keys()
    assert not HANDLED & NOT_OPS
    assert not HANDLED & REFUSED.keys()


def test_no_rule_is_hidden_by_a_table_by_function():
    """Such functions never reach their row."""
    functions = [*NOT_OPS, *REFUSED, *HANDLED]
    assert [f for f in functions if _by_name(f, getattr(f, "__name__", ""))] == []


def test_python_operators_have_rules():
    assert {*PYTHON_OPERATORS.values(), *REFLECTED.values()} <= RULES.keys()


def test_the_autocast_table_names_ops_or_functions_of_nn():
    names = {name for policies in POLICIES.values() for name in policies}
    unknown = {n for n in names if not schemas_named(f"aten::{n}")}
    assert [n for n in unknown if not hasattr(torch.nn.functional, n)] in ([], ["_cudnn_rnn"])


def test_a_private_op_is_callable_by_its_rule_or_by_name_not_both():
    assert not CALLABLE_PRIVATE_OPS & RULES.keys()


def test_a_saved_file_calls_what_has_a_rule_or_a_meta_kernel():
    for name, func in callable_ops._table().items():
        if name not in callable_ops._OWN:
            row = resolve(func)
            assert type(row) is functools.partial or row.__name__ == "_meta_kernel", name
            assert func not in REFUSED
            assert func not in NOT_OPS


PRIVATE = sorted(
    name
    for name in RULES
    if name[0] == "_"
    and name[1] != "_"
    and schemas_named(f"aten::{name}")
    and name not in callable_ops._TRUSTING
)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_op_with_a_rule_can_be_saved(name):
    packet = getattr(torch.ops.aten, name)
    assert callable_ops.find(callable_ops.name_of(packet)) is packet


def test_a_program_with_a_private_op_is_saved_and_loaded(tmp_path):
    def program(x):
        return torch.ops.aten._unique2(x)[0]

    x = torch.tensor([3, 1, 3])
    export(program, (x,)).save(tmp_path / "unique.zip")
    assert load(tmp_path / "unique.zip")(x).tolist() == [1, 3]


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", ["_unique2", "unique_consecutive"])
def test_an_op_gives_three_tensors_where_the_function_gives_those_asked_for(name, flags):
    first = (True,) if name == "_unique2" else ()

    def program(x):
        out = getattr(torch.ops.aten, name)(x, *first, *flags)
        return [*out, *[t.dim() for t in out]]

    x = torch.tensor([3, 1, 3, 3])
    torch.testing.assert_close(export(program, (x,))(x), program(x))
