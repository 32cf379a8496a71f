"""Whatever special method the user puts into `torch.Tensor`, no program goes on without it."""

import copy
import subprocess
import sys
import textwrap

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError, EffectError

_OF_CLASSES = ("__class__", "__dir__", "__init_subclass__", "__sizeof__", "__subclasshook__")
NAMES = [
    name
    for name in dir(torch.Tensor)
    if name.startswith("__")
    and name.endswith("__")
    and name not in _OF_CLASSES
    and callable(getattr(torch.Tensor, name))
]
USES = {
    "__rsub__": lambda x: 5 - x,
    "__pow__": lambda x: x**2,
    "__rpow__": lambda x: 2**x,
    "__ipow__": lambda x: (x + 0).__ipow__(2),
    "__rtruediv__": lambda x: 5 / x,
    "__floordiv__": lambda x: x // 2,
    "__rfloordiv__": lambda x: 5 // x,
    "__rmod__": lambda x: 5 % x,
    "__rmatmul__": lambda x: x.__rmatmul__(torch.ones(3)),
    "__rlshift__": lambda x: 2 << x.long(),
    "__rrshift__": lambda x: 2 >> x.long(),
    "__neg__": lambda x: -x,
    "__pos__": lambda x: +x * 1,
    "__abs__": abs,
    "__len__": lambda x: x * len(x),
    "__contains__": lambda x: x * (1.0 in torch.ones(2)),
    "__reversed__": lambda x: reversed(x) + 0,
    "__iter__": sum,
    "__deepcopy__": lambda x: copy.deepcopy(x) * 2,
    "__add__": lambda x: x + 1,
    "__getitem__": lambda x: x[0],
    "__mul__": lambda x: x * 2,
}


class Replaced:
    """`torch.Tensor` with another special method, which counts."""

    def __init__(self, name):
        self.name, self.own = name, vars(torch.Tensor).get(name)
        self.calls = 0
        real = getattr(torch.Tensor, name)

        def other(*args, **named):
            self.calls += 1
            return real(*args, **named)

        self.method = other

    def __enter__(self):
        setattr(torch.Tensor, self.name, self.method)
        return self

    def __exit__(self, *_):
        if self.own is None:
            delattr(torch.Tensor, self.name)
        else:
            setattr(torch.Tensor, self.name, self.own)


def test_there_are_special_methods_in_python_and_in_c():
    assert {"__rsub__", "__pow__", "__add__", "__torch_function__"} <= {*NAMES}
    assert len(NAMES) > 80
    assert {*USES} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_no_program_is_made_while_a_special_method_is_the_users(name):
    compiled = anyshape.compile(lambda x: x.sum(0) * 2, fullgraph=True)
    x = torch.ones(3)
    with Replaced(name), pytest.raises(EffectError, match=name):
        compiled(x)
    assert compiled(x).item() == 6


@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_program_that_uses_it_does_not_go_on(name, size):
    if name == "__getitem__" and size == 0:
        size = 2
    fn, x = USES[name], torch.ones(size if name != "__rmatmul__" else 3)
    compiled = anyshape.compile(fn, fullgraph=True)
    before = compiled(x)
    with Replaced(name) as eagerly:
        fn(x)
    with Replaced(name) as replaced:
        try:
            compiled(x)
        except AnyshapeError:
            pass
        else:
            assert replaced.calls >= eagerly.calls
    assert torch.equal(torch.as_tensor(compiled(x)), torch.as_tensor(before))


@pytest.mark.parametrize("when", ["before torch is looked at", "after"])
def test_a_method_put_there_before_the_first_program_is_the_users_too(when):
    put = "torch.Tensor.__rsub__ = lambda a, b: torch.mul(a, b) * state['k']"
    parts = [put, "import anyshape"] if when != "after" else ["import anyshape", put]
    script = "\n".join(
        [
            "import torch",
            "state = {'k': 2.0}",
            *parts,
            textwrap.dedent("""
            f = anyshape.compile(lambda x: 3 - x)
            a = f(torch.ones(1)).item()
            state["k"] = 5.0
            print(a, f(torch.ones(1)).item())
            """),
        ]
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.split() == ["6.0", "15.0"]
