from __future__ import annotations

from anyshape.torch_compat.dynamic_int import DynamicInt


def test_it_is_an_integer_of_its_own_class():
    n = DynamicInt(3)
    assert isinstance(n, int)
    assert type(n) is DynamicInt
    assert type(n + 1) is DynamicInt
    assert type(int(n)) is int
