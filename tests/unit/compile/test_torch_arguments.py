"""`mode`, `options` and `disable` of `torch.compile`, and what `torch.compiler` says."""

from __future__ import annotations

import pytest
import torch

import anyshape
from anyshape import ArgumentError, RecompileLimitError
from anyshape.compile.options import Options
from anyshape.interop.backend import find_backend


def scaled(x):
    return (x * 2).relu() + 1


def settings(**given):
    options = Options(None, False, None, None, "follow", **given)
    return find_backend(*options.lowering)


def test_modes_and_options_are_settings_of_inductor():
    assert settings() == ("eager", None, {})
    assert settings(mode="default") == ("inductor", None, {})
    assert settings(mode="max-autotune").settings["max_autotune"] is True
    assert settings(mode="reduce-overhead").settings == {"triton.cudagraphs": True}
    assert settings(settings={"epilogue-fusion": False}).settings == {"epilogue_fusion": False}
    assert settings(settings={}).name == "inductor"


def test_settings_reach_inductor(monkeypatch):
    from torch._inductor import config

    from anyshape.interop import inductor

    inner, seen = inductor.compile_fx_inner, []

    def spy(*args, **kwargs):
        seen.append(config.epilogue_fusion)
        return inner(*args, **kwargs)

    monkeypatch.setattr(inductor, "compile_fx_inner", spy)
    compiled = anyshape.compile(scaled, options={"epilogue_fusion": False}, dynamic=True)
    for n in (0, 1, 5):
        x = torch.randn(n)
        torch.testing.assert_close(compiled(x), scaled(x))
    assert seen
    assert set(seen) == {False}
    assert config.epilogue_fusion


def test_another_backend_gets_them_as_arguments():
    seen = []

    def backend(module, inputs, **given):
        seen.append(given)
        return module.forward

    x = torch.randn(3)
    for given in ({"mode": "max-autotune"}, {"mode": "default"}, {"options": {"level": 1}}, {}):
        assert torch.equal(anyshape.compile(scaled, backend=backend, **given)(x), scaled(x))
    assert seen == [{"mode": "max-autotune"}, {}, {"options": {"level": 1}}, {}]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"mode": "fast"}, "there is no mode 'fast'"),
        ({"options": {"max_autotun": True}}, "no option 'max_autotun'\n.*'max_autotune'"),
        ({"options": {"max_autotune": "much"}}, "cannot be 'much'"),
        ({"options": {"_pre_fusion_custom_pass": None}}, "not for the user"),
        ({"options": [1]}, "options is a dict"),
        ({"mode": "default", "options": {}}, "given both"),
        ({"mode": "default", "backend": "eager"}, "mode is not for the backend 'eager'"),
        ({"options": {}, "backend": "eager"}, "options is not for the backend 'eager'"),
        ({"disable": None}, "disable is True or False"),
    ],
)
def test_what_does_not_exist_is_refused_at_once(given, match):
    with pytest.raises(ArgumentError, match=match):
        anyshape.compile(scaled, **given)


def test_disable_returns_the_function():
    net = torch.nn.Linear(2, 2)
    assert anyshape.compile(scaled, disable=True) is scaled
    assert anyshape.compile(disable=True)(scaled) is scaled
    assert anyshape.compile(net, disable=True, mode="max-autotune") is net


def counted(stance):
    compiled = anyshape.compile(scaled)
    with torch.compiler.set_stance(stance):
        for n in (2, 3, 3):
            x = torch.randn(n)
            assert torch.equal(compiled(x), scaled(x))
    return compiled.stats.traces, compiled.stats.eager, compiled.stats.hits


def test_the_stance_of_torch_is_ours():
    assert counted("default") == (2, 0, 1)
    assert counted("force_eager") == (0, 3, 0)
    assert counted("eager_on_recompile") == (1, 2, 0)
    assert counted("eager_then_compile") == (1, 1, 1)
    with pytest.raises(RecompileLimitError):
        counted("fail_on_recompile")


def test_our_stance_wins():
    compiled = anyshape.compile(scaled)
    ours = anyshape.config.patch(stance="fail_on_recompile")
    with torch.compiler.set_stance("force_eager"), ours:
        compiled(torch.randn(2))
    assert compiled.stats.traces == 1


def test_what_torch_compiler_answers_inside():
    def asked(x):
        answers = (
            torch.compiler.is_compiling(),
            torch.compiler.is_dynamo_compiling(),
            torch.compiler.is_exporting(),
        )
        return x + 1, answers

    x = torch.randn(3)
    assert asked(x)[1] == (False, False, False)
    assert anyshape.compile(asked)(x)[1] == (True, True, False)
    assert anyshape.export(asked, (x,))(x)[1] == (True, False, True)


def test_functions_with_a_mark_of_torch():
    ran = []

    @torch.compiler.disable
    def outside(x):
        ran.append(x.size(0))
        return x * len(ran)

    @torch.compiler.allow_in_graph
    def inside(x):
        return x.sort().values * 2

    @anyshape.compile
    def both(x):
        return outside(inside(x + 1)) - 1

    for n in (1, 2, 5, 5):
        x = torch.randn(n)
        torch.testing.assert_close(both(x), (x + 1).sort().values * 2 * len(ran) - 1)
    assert ran == [1, 2, 5, 5]
    x = torch.randn(4)
    assert torch.equal(anyshape.compile(inside, fullgraph=True)(x), inside(x))
    program = anyshape.export(inside, (x,), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 5):
        x = torch.randn(n)
        assert torch.equal(program(x), inside(x))
