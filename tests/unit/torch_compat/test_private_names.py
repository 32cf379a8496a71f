"""The check that keeps private names of torch in one folder finds planted ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def find_problems():
    spec = importlib.util.spec_from_file_location(
        "torch_private", ROOT / "tools" / "torch_private.py"
    )
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.find_problems


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch._dynamo", "torch._dynamo"),
        ("from torch._C import x", "torch._C.x"),
        ("from torch.utils import _pytree as p", "torch.utils._pytree"),
        ("from torch.fx.experimental.symbolic_shapes import ShapeEnv", "torch.fx.experimental"),
        ("def f():\n    return torch._C._nn.gelu", "torch._C._nn.gelu"),
        ("f = torch.Tensor._make_subclass", "torch.Tensor._make_subclass"),
        ("f = torch.ops.aten._assert_scalar.default", "torch.ops.aten._assert_scalar.default"),
        ("k = t.untyped_storage()._cdata", "._cdata"),
        ("k = getattr(torch, '_sym_sqrt')", "._sym_sqrt"),
        ("k = own.get('_dynamo_static_indices')", "_dynamo_static_indices"),
        ("raise ValueError('see torch.utils._pytree.tree_map')", "torch.utils._pytree"),
    ],
)
def test_a_private_name_is_found(find_problems, tmp_path, source, name):
    (tmp_path / "planted.py").write_text(source)
    (problem,) = find_problems(tmp_path)
    assert name in problem


@pytest.mark.parametrize(
    "source",
    [
        '"""Like torch._C."""',
        "import torch\ntorch._check(True)",
        "class A:\n    def __init__(self):\n        self._mine = 1\n\nA()._mine",
        "import sys\nsys._getframe()",
        "point._replace(x=1)",
    ],
)
def test_other_names_are_not(find_problems, tmp_path, source):
    (tmp_path / "fine.py").write_text(source)
    assert find_problems(tmp_path) == []


def test_the_folder_itself_may_name_them(find_problems, tmp_path):
    (tmp_path / "torch_compat").mkdir()
    (tmp_path / "torch_compat" / "home.py").write_text("import torch._dynamo")
    assert find_problems(tmp_path) == []


def test_the_package_names_none(find_problems):
    assert find_problems(ROOT / "src" / "anyshape") == []
