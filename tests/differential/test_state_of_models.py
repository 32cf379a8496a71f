"""The state and the module of exported transformers, against the models themselves."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from anyshape import Dim, export
from tests.differential.models import MODELS, built, mixtral

ALL = {**MODELS, "Mixtral": mixtral}


def first(result: Any) -> torch.Tensor:
    return result[0] if isinstance(result, tuple) else next(iter(result.values()))


@pytest.mark.parametrize("name", ALL)
def test_names_ties_weights_and_results(name: str) -> None:
    model = built(ALL[name])
    module, given, others = model.module, model.inputs(3, 7), model.inputs(2, 5)
    spec = {
        key: {
            d: Dim.AUTO for d in model.dynamic if d < x.dim() and x.shape[d] != others[key].shape[d]
        }
        for key, x in given.items()
    }
    with torch.no_grad():
        program = export(module, (), given, dynamic_shapes=spec)
        assert [*program.state_dict()] == [*module.state_dict()]
        assert [(n, id(p)) for n, p in program.named_parameters()] == [
            (n, id(p)) for n, p in module.named_parameters()
        ]
        assert [n for n, _ in program.named_buffers()] == [n for n, _ in module.named_buffers()]
        paths = {call.path for call in program.module_calls}
        assert paths <= {path for path, _ in module.named_modules()}
        assert len(paths) > 10
        # Other weights, in a copy of the module and in the program.
        twin = copy.deepcopy(module)
        for p in twin.parameters():
            p.mul_(0.9).add_(0.01)
        made = copy.deepcopy(program.module())
        made.load_state_dict(twin.state_dict())
        for batch, length in ((2, 5), (5, 3)):
            x = model.inputs(batch, length)
            torch.testing.assert_close(first(made(**x)), first(twin(**x)), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(
                first(program(**x)), first(module(**x)), rtol=1e-4, atol=1e-5
            )
