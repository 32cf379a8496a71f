from __future__ import annotations

from torch.fx.experimental import symbolic_shapes

from anyshape.torch_compat.shape_function import shape_function


def test_the_functions_of_the_module():
    for name in (
        "guard_or_false",
        "guard_size_oblivious",
        "statically_known_true",
        "is_nested_int",
    ):
        assert shape_function(name) is getattr(symbolic_shapes, name)


def test_no_function_of_that_name():
    assert shape_function("no_function_of_torch") is None
