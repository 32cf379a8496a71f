"""`and` and `or`: a symbolic truth before operands that do nothing is decided only if it counts."""

from __future__ import annotations

import sys
import types

import pytest
import torch

import anyshape
from anyshape import export
from anyshape.trace.record.syntax import pending_truth

COUNT = [0]


def is_tracing() -> bool:
    try:
        import torch

        return torch.compiler.is_compiling() and not torch.jit.is_scripting()
    except Exception:
        return False


def is_not() -> bool:
    """Another question gives its answer."""
    return not is_tracing()


def counts() -> bool:
    COUNT[0] += 1
    return False


def raises() -> bool:
    raise ValueError("called")


def takes(x: int = 1) -> bool:
    return False


def value_of_and(x, mask=None, flag=True):
    return x + (1 if x.size(0) > 1 and mask is not None and flag else 2)


def value_of_or(x, mask=None, flag=True):
    is_plain = x.size(0) > 1 or mask is None or flag
    return x * 2 if is_plain else x


def nested(x, flag=False):
    if x.size(0) > 1 and (x.size(1) > 2 or not flag) and flag:
        return x + 1
    return x


def asks(x):
    return x + 1 if x.size(0) == 1 and is_not() else x - 1


def asks_torch(x):
    return x + 1 if x.size(0) == 1 or torch.compiler.is_compiling() else x + 1.0


def gives_a_bool(x, flag=False):
    return x, x.size(0) > 1 and flag


def of_data(x, flag=False):
    return x if x.sum().item() > 1 and flag else x - 1


@pytest.mark.parametrize(
    "f", [value_of_and, value_of_or, nested, asks, asks_torch, gives_a_bool, of_data]
)
def test_one_variant(f):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    (variant,) = program.variants
    assert len(variant.parts) == 1
    for n in (0, 1, 2, 5):
        x = torch.randn(n, 4)
        got, want = program(x), f(x)
        if f is asks:  # which asks whether it is compiled
            want = x - 1
        torch.testing.assert_close(got, want, rtol=0, atol=0)
        assert type(got) is type(want)
        if isinstance(got, tuple):
            assert got[1] is want[1]


def effect(x):
    return x + 1 if x.size(0) > 1 and counts() else x - 1


def failure(x):
    return x + 1 if x.size(0) > 1 and raises() else x - 1


def default(x):
    return x + 1 if x.size(0) > 1 and takes() else x - 1


def missing(x):
    return x + 1 if x.size(0) > 1 and not_there() else x - 1  # noqa: F821


def shadowed(x):
    def is_not() -> bool:
        COUNT[0] += 1
        return False

    return x + 1 if x.size(0) > 1 and is_not() else x - 1


def deleted(x, flag=False):
    if x.size(0) <= 1:
        del flag
    return x + 1 if x.size(0) > 1 and flag else x - 1


def caught(x, flag=False):
    try:
        raise ValueError
    except ValueError as flag:  # noqa: F841, PLR1704  it is unbound from here on
        pass
    return x + 1 if x.size(0) > 1 and flag else x - 1


def not_a_bool(x, flag=0):
    return x, x.size(0) > 1 and flag


@pytest.mark.parametrize("f", [effect, failure, default, missing, shadowed, deleted, caught])
def test_other_operands_are_evaluated_where_python_does(f):
    compiled = anyshape.compile(f, dynamic=True)
    for n in (1, 3, 0, 4, 1):
        x, outcomes = torch.randn(n, 2), []
        for g in (f, compiled):
            COUNT[0] = 0
            try:
                outcomes.append((g(x).tolist(), COUNT[0]))
            except (ValueError, NameError) as e:
                outcomes.append((type(e), COUNT[0]))
        assert outcomes[0] == outcomes[1]


def test_a_value_that_is_no_bool_is_given_as_it_is():
    compiled = anyshape.compile(not_a_bool, dynamic=True)
    for n in (3, 1, 0):
        x = torch.randn(n, 2)
        assert repr(compiled(x)[1]) == repr(not_a_bool(x)[1])


def test_questions():
    assert pending_truth.is_question(is_tracing)
    assert pending_truth.is_question(is_not)
    for f in (counts, raises, takes, lambda: False, print, sys.exit):
        assert not pending_truth.is_question(f)


def test_a_function_is_a_question_as_long_as_those_it_calls_are(monkeypatch):
    monkeypatch.setitem(is_not.__globals__, "is_tracing", counts)
    assert not pending_truth.is_question(is_not)


def test_a_module_that_is_not_imported_is_not_imported():
    scope: dict[str, object] = {}
    source = "def f():\n    import not_imported_yet\n    return False\n"
    exec(compile(source, "<string>", "exec"), scope)
    assert isinstance(scope["f"], types.FunctionType)
    assert not pending_truth.is_question(scope["f"])


def test_a_wrong_answer_is_noticed(monkeypatch):
    """The suite finds a hook that ends a chain where the operands differ."""
    monkeypatch.setattr(pending_truth.Questions, "before", lambda self, o, end, *_: end)
    x = torch.randn(3, 4)
    program = export(gives_a_bool, (x, True), dynamic_shapes=({0: "n"}, None))
    assert program(x, True)[1] is not gives_a_bool(x, True)[1]
