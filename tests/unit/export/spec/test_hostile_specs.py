"""Specs and calls with mistakes: served as by the function, or refused by the argument's name."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
import torch

from anyshape import AnyshapeError, AnyshapeWarning, ArgumentError, ConstraintError, Dim, export

T = torch.ones
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Options:
    x: torch.Tensor
    k: int = 2


def mixed(a: Any, b: Any = None, *, c: float = 2.0, d: Any = None) -> Any:
    return a * c + (0 if b is None else b.sum()) + (0 if d is None else d)


def variadic(x: Any, *rest: Any, scale: int = 1, **more: Any) -> Any:
    return x * scale + sum(r.sum() for r in rest) + sum(v.sum() for v in more.values())


def nested(p: Any, o: Any, parts: Any) -> Any:
    return p.a + p.b[0].sum() + o.x.sum() * o.k + sum(t.sum() for t in parts)


def total(x: Any, y: Any = None) -> Any:
    return x * 2 if y is None else x.sum() + y


REFUSED = [
    (mixed, (T(3), T(2)), {"a": {0: "n"}}, "leaves out 'b'"),
    (mixed, (T(3), T(2)), {"a": {0: "n"}, "b": None, "e": None}, "names 'e'"),
    (total, (T(3),), ({0: Dim("n", min=4)},), r"x.size\(0\) is 3 in the example"),
    (total, (T(3), T(6)), ({0: "n"}, {0: "2*n+1"}), r"y.size\(0\) is 6 .* is 7"),
    (total, (T(3), T(4)), ({0: "n"}, {0: "n"}), r"y.size\(0\) is 4 .* is 3"),
    (total, (T(3),), ({0: 4},), r"x.size\(0\) is 3 in the example, not 4"),
    (total, (T(3),), ({1: "n"},), "x has dimension 1, and x has rank 1"),
    (total, (T(3, 4),), (["n"],), "x has 1 entry, and x has rank 2"),
    (total, (T(3),), ({0: 2.5},), r"x.size\(0\) cannot be 2.5"),
    (total, (T(3), None), ({0: "n"}, {0: "n"}), "y cannot be"),
    (total, (T(3), T(3)), ({0: Dim("n", min=1)}, {0: Dim("n", min=2)}), "called 'n'"),
]


@pytest.mark.parametrize(("f", "args", "spec", "text"), REFUSED)
def test_a_wrong_spec_is_refused(f: Any, args: Any, spec: Any, text: str) -> None:
    with pytest.raises((ArgumentError, ConstraintError), match=text):
        export(f, args, dynamic_shapes=spec)


@pytest.mark.parametrize("bounds", [{"min": 5, "max": 2}, {"min": -1}])
def test_bounds_without_a_size(bounds: Any) -> None:
    with pytest.raises(ConstraintError, match="Dim 'n'"):
        Dim("n", **bounds)


def called(f: Any, args: Any, kwargs: Any, spec: Any) -> Any:
    return export(f, args, kwargs, dynamic_shapes=spec)


def check(f: Any, program: Any, taken: list[Any], refused: list[Any]) -> None:
    for args, kwargs in taken:
        assert torch.equal(program(*args, **kwargs), f(*args, **kwargs))
    for args, kwargs, text in refused:
        with pytest.raises(AnyshapeError, match=text):
            program(*args, **kwargs)


def test_keywords_in_any_order() -> None:
    spec = {"a": {0: "n"}, "c": None, "d": {0: "n"}}
    program = called(mixed, (T(3),), {"d": T(3), "c": 3.0}, spec)
    taken = [
        ((T(2),), {"c": 3.0, "d": T(2)}),
        ((), {"d": T(4), "a": T(4), "c": 3.0}),
    ]
    refused = [
        ((T(2),), {"d": T(2)}, "c is 2.0; the program was traced for 3.0"),
        ((T(2), T(3)), {"d": T(2), "c": 3.0}, "without the argument 'b'"),
    ]
    check(mixed, program, taken, refused)


def test_a_tuple_is_in_the_order_of_the_signature() -> None:
    spec = ({0: "n"}, {0: "m"}, {0: "n"})
    program = called(mixed, (T(3),), {"d": T(3), "b": T(2)}, spec)
    check(mixed, program, [((T(2), T(1)), {"d": T(2)})], [])


def test_variadic_functions() -> None:
    spec = {
        "x": {0: "n"},
        "rest": ({0: "p"}, {0: "q"}),
        "more": {"z": {0: "r"}, "y": None},
    }
    program = called(variadic, (T(3), T(2), T(4)), {"z": T(5), "y": T(6)}, spec)
    taken = [((T(2), T(9), T(1)), {"y": T(6), "z": T(1)})]
    refused = [
        ((T(2), T(9)), {"y": T(6), "z": T(1)}, "number of positional arguments is 2"),
        ((T(2), T(9), T(1)), {"y": T(5), "z": T(1)}, r"y.size\(0\) is 5"),
    ]
    check(variadic, program, taken, refused)


def test_nested_arguments() -> None:
    args = (Pair(T(3), [T(2)]), Options(T(4)), [T(1), T(2)])
    spec = (Pair({0: "n"}, [{0: "m"}]), Options({0: "k"}, None), [{0: "i"}, {0: "j"}])  # type: ignore[arg-type]
    program = called(nested, args, {}, spec)
    taken = [((Pair(T(5), [T(1)]), Options(T(0)), [T(3), T(3)]), {})]
    refused = [
        ((Pair(T(5), [T(1)]), Options(T(0), 3), [T(3), T(3)]), {}, "o.k is 3"),
        ((Pair(T(5), [T(1)]), Options(T(0)), [T(3)]), {}, "another structure"),
        (((T(5), [T(1)]), Options(T(0)), [T(3), T(3)]), {}, "not a Pair"),
    ]
    check(nested, program, taken, refused)


def test_none_stays_none() -> None:
    program = called(total, (T(3), None), {}, ({0: "n"}, None))
    check(total, program, [((T(4), None), {})], [((T(4), T(4)), {}, "y is Tensor")])


def test_sizes_that_a_relation_excludes() -> None:
    d = torch.export.Dim("d", min=1, max=9)
    program = called(total, (T(3), T(7)), {}, ({0: d}, {0: 2 * d + 1}))
    refused = [
        ((T(4), T(8)), {}, r"y.size\(0\) is 8; it must be 2\*d \+ 1, which is 9"),
        ((T(10), T(21)), {}, "d <= 9"),
        ((T(0), T(1)), {}, "1 <= d"),
    ]
    check(total, program, [((T(n), T(2 * n + 1)), {}) for n in range(1, 10)], refused)


def test_names_that_differ_by_a_typo() -> None:
    with pytest.warns(AnyshapeWarning, match="batch and bacth are two names"):
        export(lambda x, y: x + y, (T(3), T(3)), dynamic_shapes=({0: "batch"}, {0: "bacth"}))
