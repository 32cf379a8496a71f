"""TorchScript functions and their sources."""

from __future__ import annotations

import warnings

import torch

from anyshape.torch_compat.torch_script import ScriptFunction, is_scripting, script_source


def root(x: torch.Tensor, k: int) -> torch.Tensor:
    return torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * k)


def asks(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if torch.jit.is_scripting() else x


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_source_of_a_scripted_function() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        scripted = torch.jit.script(root)
    assert type(scripted) is ScriptFunction
    assert script_source(scripted) is root


def test_no_source_where_it_would_compute_something_else() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(double, torch.ones(2))
    assert type(traced) is ScriptFunction
    assert script_source(traced) is None


def test_whether_code_runs_as_a_script() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        scripted = torch.jit.script(asks)
    assert script_source(scripted) is asks
    assert torch.jit.is_scripting is is_scripting
    assert not is_scripting()
    assert torch.equal(scripted(torch.ones(2)), torch.full((2,), 2.0))
