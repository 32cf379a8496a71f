from __future__ import annotations

import pytest
import torch

from anyshape.torch_compat import module_attribute as attribute


@pytest.fixture
def module():
    made = torch.nn.Module()
    made.weight = torch.nn.Parameter(torch.ones(2))
    made.register_buffer("kept", torch.ones(2))
    made.register_buffer("passing", torch.ones(2), persistent=False)
    made.inner = torch.nn.ReLU()
    return made


@pytest.mark.parametrize(
    ("registry", "names"),
    [
        (attribute.PARAMETERS, ["weight"]),
        (attribute.BUFFERS, ["kept", "passing"]),
        (attribute.MODULES, ["inner"]),
        (attribute.NON_PERSISTENT, ["passing"]),
    ],
)
def test_a_registry_holds_what_was_assigned(module, registry, names):
    assert list(module.__dict__[registry]) == names


@pytest.mark.parametrize("registry", attribute.REGISTRIES)
def test_a_registry_is_where_attributes_are_read(module, registry):
    (name, *_) = module.__dict__[registry]
    module.__dict__[registry][name] = None
    assert getattr(module, name) is None


def test_hooks_run_around_forward():
    module = torch.nn.ReLU()
    module.register_forward_hook(lambda *_: None)
    module.register_forward_pre_hook(lambda *_: None)
    assert [len(module.__dict__[name]) for name in attribute.HOOKS] == [1, 1]


def test_the_call_of_a_graph_module_is_that_of_modules():
    kind = type(torch.fx.symbolic_trace(torch.nn.ReLU()))
    assert kind.__call__ is not torch.nn.Module.__call__
    assert attribute.own_call(kind, kind.__call__) is torch.nn.Module.__call__
    plain = torch.nn.ReLU
    assert attribute.own_call(plain, plain.__call__) is plain.__call__


def test_a_module_loads_its_own_tensors_by_one_method():
    class Layer(torch.nn.BatchNorm1d):
        _load_from_state_dict = attribute.LOAD_OWN

    layer = Layer(2)
    del layer.track_running_stats
    layer.load_state_dict({k: v + 1 for k, v in torch.nn.BatchNorm1d(2).state_dict().items()})
    assert layer.running_mean.tolist() == [1.0, 1.0]


def test_hooks_of_the_state_and_of_the_backward_pass():
    module = torch.nn.Linear(2, 2)
    module.register_state_dict_post_hook(lambda *_: None)
    module.register_state_dict_pre_hook(lambda *_: None)
    module.register_load_state_dict_pre_hook(lambda *_: None)
    module.register_load_state_dict_post_hook(lambda *_: None)
    assert [len(module.__dict__[name]) for name in attribute.STATE_HOOKS] == [1, 1, 1, 1]
    assert module.__dict__[attribute.FULL_BACKWARD_HOOK] is None
    module.register_full_backward_hook(lambda *_: None)
    assert module.__dict__[attribute.FULL_BACKWARD_HOOK] is True


def test_methods_that_a_class_overrides():
    class Layer(torch.nn.Linear):
        def state_dict(self, *args, **kwargs):
            return super().state_dict(*args, **kwargs)

        def other(self):
            return self

    assert attribute.overridden(torch.nn.Module) == []
    assert sorted(attribute.overridden(Layer)) == ["extra_repr", "state_dict"]


def test_which_classes_have_modules_that_may_be_lazy() -> None:
    lazy, plain = torch.nn.LazyLinear(3), torch.nn.Linear(2, 3)
    assert attribute.may_initialize(type(lazy))
    assert not attribute.may_initialize(type(plain))
    lazy(torch.ones(2, 2))
    assert not attribute.may_initialize(type(lazy))  # it is a Linear now


def test_a_module_is_called_with_other_tensors():
    linear = torch.nn.Linear(2, 2, bias=False)
    given = {"weight": torch.eye(2)}
    x = torch.ones(1, 2)
    assert torch.equal(attribute.STATELESS_CALL(linear, given, (x,)), x)
    assert linear.weight.requires_grad


def test_hooks_that_are_always_called():
    linear = torch.nn.Linear(2, 2)
    linear.register_forward_hook(lambda *_: None)
    assert attribute.called_after_errors(linear) == []
    linear.register_forward_hook(lambda *_: None, always_call=True)
    assert len(attribute.called_after_errors(linear)) == 1
