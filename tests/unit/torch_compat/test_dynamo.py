from __future__ import annotations

import functools
import subprocess
import sys

import torch

from anyshape.torch_compat import dynamo


def test_lookup_backend():
    module = torch.fx.symbolic_trace(torch.nn.ReLU())
    compiled = dynamo.lookup_backend("eager")(module, [torch.ones(2)])
    assert compiled(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_tensor_guards_check_all_but_what_may_vary():
    x = torch.zeros(4, 3)
    guards = dynamo.tensor_guards([x], [[None, 3]], [[None, None]])
    assert guards.check(torch.ones(9, 3))
    assert not guards.check(torch.ones(9, 4))
    assert not guards.check(torch.ones(9, 3).double())
    assert not guards.check(torch.ones(9, 3, requires_grad=True))


def test_tensor_guards_say_what_differs():
    guards = dynamo.tensor_guards([torch.zeros(4, 3)], [[None, 3]], [[None, None]])
    said = guards.check_verbose(torch.ones(9, 4), tensor_check_names=["rows"])
    assert "rows" in str(said)


def test_importing_anyshape_imports_no_compiler():
    """torch's compilers take seconds to import: only lowering may."""
    program = (
        "import sys; from anyshape import compile, export, SymInt; "
        "slow = ('torch._dynamo', 'torch._inductor', 'sympy'); "
        "print([name for name in slow if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_functions_in_wrappers():
    def f(x):
        return x

    compiled, kept_out = torch.compile(f), torch.compiler.disable(f)
    assert dynamo.original_of(compiled) is f
    assert dynamo.original_of(kept_out) is f
    assert dynamo.original_of(f) is None
    assert dynamo.is_disabled(kept_out)
    assert not dynamo.is_disabled(compiled)
    assert not dynamo.is_disabled(f)


def test_functions_that_torch_disables_lazily():
    def f(x):
        return x

    inside = torch._compile._disable_dynamo(f)
    assert inside(3) == 3
    assert dynamo.behind_lazy_disable(inside) is f
    assert dynamo.behind_lazy_disable(torch.compiler.disable(f)) is None
    assert dynamo.behind_lazy_disable(f) is None
    assert dynamo.behind_lazy_disable(torch.utils.checkpoint.checkpoint) is not None


def test_the_stance_of_the_compiler():
    assert dynamo.stance() == "default"
    assert not dynamo.has_stance()
    with torch.compiler.set_stance("force_eager"):
        assert dynamo.stance() == "force_eager"
        assert dynamo.has_stance()
    assert dynamo.stance() == "default"
    assert not dynamo.has_stance()


def test_global_state_sees_a_setting():
    state = dynamo.global_state()
    assert state.check()
    with torch.no_grad():
        assert not state.check()
        assert "grad_mode" in state.reason()
    torch.use_deterministic_algorithms(True)
    try:
        assert not state.check()
    finally:
        torch.use_deterministic_algorithms(False)
    assert state.check()


def test_functions_that_are_disabled():
    def f(x):
        return x

    whole, alone = (
        torch.compiler.disable(f, reason="why"),
        torch.compiler.disable(recursive=False)(f),
    )
    assert dynamo.is_disabled(whole)
    assert not dynamo.is_disabled_alone(whole)
    assert dynamo.disabled_because(whole) == "why"
    assert dynamo.is_disabled_alone(alone)
    assert dynamo.disabled_because(alone) == ""
    assert not dynamo.is_disabled(functools.wraps(alone)(lambda x: x))


def test_functions_that_are_allowed():
    def f(x):
        return x

    assert not dynamo.is_allowed_in_graph(f)
    torch.compiler.allow_in_graph(f)
    assert dynamo.is_allowed_in_graph(f)
