"""PyTorch's ExportDB, which is installed with torch: its examples are exported and equal eager.

An example that torch lists as not supported is exported too. One example assigns an attribute of
its argument, an effect that export refuses. The programs run on the example, on the further inputs
that some examples have, and at other sizes where a size is dynamic.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch._export.db.examples import all_examples

import anyshape

EXAMPLES = all_examples()
REFUSED = {  # what an exported program would have to do to its arguments
    "tensor_setattr": "the attribute attr of a tensor is assigned",
}


def run(call, args, kwargs):
    """The result, and the tensors among the arguments after the call."""
    args, kwargs = copy.deepcopy((args, kwargs))
    result = call(*args, **kwargs)
    return result, [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]


def resized(case):
    """The arguments with a size of 1, 2 and 7 in the place of each dynamic one."""
    for n in (1, 2, 7):
        args = list(case.example_args)
        for i, dims in enumerate((case.dynamic_shapes or {}).values()):
            if dims is None:
                continue
            shape = [n if d in dims else s for d, s in enumerate(args[i].shape)]
            args[i] = torch.randn(shape)
        yield tuple(args)


def test_the_whole_database_is_here():
    assert len(EXAMPLES) >= 36


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_effect_is_refused(name):
    case = EXAMPLES[name]
    with pytest.raises(anyshape.EffectError, match=REFUSED[name]):
        anyshape.export(case.model, case.example_args)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - set(REFUSED)))
def test_example(name):
    case = EXAMPLES[name]
    module = case.model
    program = anyshape.export(
        copy.deepcopy(module),
        copy.deepcopy(case.example_args),
        copy.deepcopy(case.example_kwargs),
        dynamic_shapes=case.dynamic_shapes,
    )
    calls = [(case.example_args, case.example_kwargs)]
    if case.extra_args is not None:
        calls.append((case.extra_args, {}))
    if case.dynamic_shapes:
        calls += [(args, case.example_kwargs) for args in resized(case)]
    for args, kwargs in calls:
        try:
            want = run(copy.deepcopy(module), args, kwargs)
        except (RuntimeError, AssertionError, IndexError):
            with pytest.raises((RuntimeError, AssertionError, IndexError)):
                run(program, args, kwargs)
            continue
        torch.testing.assert_close(run(program, args, kwargs), want)


def test_a_wrong_program_is_found():
    case = EXAMPLES["user_input_mutation"]
    got = run(lambda *args: case.model(*[a + 1 for a in args]), case.example_args, {})
    with pytest.raises(AssertionError):
        torch.testing.assert_close(got, run(case.model, case.example_args, {}))
