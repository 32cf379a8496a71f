"""`preserve_module_call_signature`: modules of torch's program that are called as the original."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch.export import Dim, unflatten

from anyshape import ArgumentError, LoadError, UnsupportedError, export, from_torch, load
from anyshape.export.files import decode, encode
from anyshape.export.files.stand_in import Classes
from anyshape.export.torch_program import kept_signature

SIZES = (1, 2, 5, 7)
KEPT = ("encoder", "head")


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, *, scale, options):
        y = self.linear(x) * scale
        return {"y": y + options["bias"], "pair": (y.sum(0), y)}


class Net(torch.nn.Module):
    """Calls a module twice, with named arguments and containers; has one that it never calls."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = torch.nn.Linear(4, 2)
        self.idle = torch.nn.Linear(1, 1)

    def forward(self, x, b):
        once = self.encoder(x, scale=2.0, options={"bias": b, "k": 3})
        twice = self.encoder(once["y"], scale=3.0, options={"bias": b * 2, "k": 3})
        return self.head(twice["y"] + twice["pair"][0]), once["pair"][1]


class Other(torch.nn.Module):
    """Takes the place of an encoder."""

    def forward(self, x, *, scale, options):
        return {"y": x - options["bias"], "pair": (x.sum(0), x * scale)}


def flat(program):
    """torch's unflattened program, without its warnings about its own attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return unflatten(program)


def call(n):
    return torch.randn(n, 4), torch.randn(4)


def exported(net, kept=KEPT, **options):
    return export(
        net,
        call(5),
        dynamic_shapes=({0: "n"}, None),
        preserve_module_call_signature=kept,
        **options,
    )


def need_equal(module, net, sizes=SIZES):
    for n in sizes:
        args = call(n)
        torch.testing.assert_close(module(*args), net(*args))


def signatures(program):
    return {e.fqn: e.signature for e in program.module_call_graph if e.signature is not None}


@pytest.fixture(scope="module")
def pair():
    """A module with its program by torch's own export and by ours."""
    net = Net()
    shapes = ({0: Dim.DYNAMIC}, None)
    made = torch.export.export(
        net, call(5), dynamic_shapes=shapes, preserve_module_call_signature=KEPT
    )
    return net, made, exported(net).to_torch()


def test_the_signatures_are_those_of_torch(pair):
    _, of_torch, ours = pair
    assert signatures(ours) == signatures(of_torch)


@pytest.mark.parametrize("which", [1, 2])
def test_a_module_takes_the_place_of_another(pair, which):
    net, module = pair[0], flat(pair[which])
    need_equal(module, net)
    module.encoder = Other()
    with pytest.raises(AssertionError):
        need_equal(module, net)
    other = copy.deepcopy(net)
    other.encoder = Other()
    need_equal(module, other)


def test_a_module_is_called_alone_as_that_of_torch(pair):
    """torch leaves out what nothing uses: it is None."""
    net, of_torch, ours = pair
    x, b = call(3)
    named = {"scale": 2.0, "options": {"bias": b, "k": 3}}
    found = flat(ours).encoder(x, **named)
    torch.testing.assert_close(found["y"], net.encoder(x, **named)["y"])
    torch.testing.assert_close(found, flat(of_torch).encoder(x, **named))


def test_a_saved_program_keeps_them(tmp_path):
    net = Net()
    program = exported(net)
    program.save(tmp_path / "net.shape")
    loaded = load(tmp_path / "net.shape")
    assert signatures(loaded.to_torch()) == signatures(program.to_torch())
    need_equal(flat(loaded.to_torch()), net)
    torch.export.save(loaded.to_torch(), tmp_path / "net.pt2")
    need_equal(flat(torch.export.load(tmp_path / "net.pt2")), net)


def test_a_converted_program_keeps_them():
    program = exported(Net())
    assert signatures(program.to(torch.float64).to_torch()).keys() == {"", *KEPT, "encoder@1"}
    assert signatures(copy.deepcopy(program).to_torch()).keys() == {"", *KEPT, "encoder@1"}


class Inner(torch.nn.Module):
    def forward(self, x, n):
        with torch.no_grad():
            mask = x.detach() > 0
        return x.repeat(n, 1)[:n], mask, n + 1


class Sized(torch.nn.Module):
    """A module gets and gives a size, and changes the grad mode."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x, b):
        y, mask, n = self.inner(x + b, x.size(0))
        return y * n, mask


class OtherInner(torch.nn.Module):
    def forward(self, x, n):
        return x * n, x < 0, n + 5


def test_numbers_go_in_and_out():
    net = Sized()
    module = flat(exported(net, ("inner",)).to_torch())
    need_equal(module, net)
    module.inner = net.inner = OtherInner()
    need_equal(module, net)


def test_a_call_without_nodes_leaves_no_module():
    net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(4, 4))
    program = export(net, (torch.randn(3, 4),), preserve_module_call_signature=("0", "1"))
    assert [*signatures(program.to_torch())] == ["", "1"]


class Silent(torch.nn.Module):
    """All that a module computes is in another grad mode."""

    def __init__(self):
        super().__init__()
        self.inner = Frozen()

    def forward(self, x, b):
        return x * b + self.inner(x + b)


class Frozen(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


class AfterSilence(torch.nn.Module):
    """Calls a module after something else in another grad mode."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, b):
        y = x * b
        with torch.no_grad():
            z = self.inner(y * 2)
        return y + z


def test_calls_in_another_grad_mode():
    net = Silent()
    module = flat(exported(net, ("inner",)).to_torch())
    need_equal(module, net)
    module.inner = net.inner = torch.nn.ReLU()
    need_equal(module, net)
    program = exported(AfterSilence(), ("inner",))
    with pytest.raises(UnsupportedError, match=r"signature of inner in another grad mode .* at "):
        program.to_torch()


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, b):
        y = self.inner(x)
        return y + b if y.sum() > 0 else y


class Boxed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Box()

    def forward(self, x, b):
        return self.inner(object(), x) + b


class Box(torch.nn.Module):
    def forward(self, _, x):
        return x


class InCond(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, b):
        return torch.cond(b.sum() > 0, self.inner, lambda x: x + 1, (x,))


@pytest.mark.parametrize(
    ("net", "text"),
    [
        (Branches, "signature of inner cannot be kept: the program branches on data"),
        (Boxed, r"signature of inner cannot be kept: it is called at .*self.inner\(object"),
        (InCond, r"signature of inner cannot be kept: it is called at .*torch.cond"),
    ],
)
def test_what_cannot_be_kept_is_refused(net, text):
    with pytest.raises(UnsupportedError, match=text):
        exported(net(), ("inner",))


@pytest.mark.parametrize(
    ("kept", "text"),
    [("encoder", "tuple of the paths"), (("decoder",), "'decoder', which is no"), (("",), "''")],
)
def test_wrong_paths(kept, text):
    with pytest.raises(ArgumentError, match=text):
        exported(Net(), kept)


def test_a_function_has_no_modules():
    with pytest.raises(ArgumentError, match="its modules: none"):
        export(torch.relu, (torch.randn(3),), preserve_module_call_signature=("a",))


def damaged(signature, **change):
    return {**signature, **change}


@pytest.mark.parametrize(
    "change",
    [
        {"call": None},
        {"call": 99},
        {"inputs": []},
        {"inputs": [{"value": "v99"}] * 4},
        {"outputs": [{"int": "s99"}] * 3},
        {"in_tree": 0},
        {"in_tree": {"list": [{"tuple": [0]}, {"dict": []}]}, "inputs": [1]},
        {"outputs": [[1]] * 3},
        {"more": 1},
    ],
)
def test_damaged_signatures_are_refused(change):
    content, weights = encode.encode(exported(Net()))
    first, *rest = content["variants"][0]["signatures"]
    content["variants"][0]["signatures"] = [damaged(first, **change), *rest]
    with pytest.raises(LoadError):
        decode.decode(content, 10**6, weights, Classes(()), {})


def of_torch(net):
    dynamic = ({0: Dim.DYNAMIC}, None)
    return torch.export.export(
        net, call(5), dynamic_shapes=dynamic, preserve_module_call_signature=KEPT
    )


@pytest.mark.parametrize("form", ["torch's", "ours", "saved", "twice"])
def test_programs_of_torch_keep_their_signatures(form, tmp_path):
    net = Net()
    given = of_torch(net) if form == "torch's" else exported(net).to_torch()
    program = from_torch(given)
    if form == "saved":
        program.save(tmp_path / "program")
        program = load(tmp_path / "program")
    if form == "twice":
        program = from_torch(program.to_torch())
    made = program.to_torch()
    assert describe(signatures(made)) == describe(signatures(given))
    module = flat(made)
    sizes = SIZES[1:] if form == "torch's" else SIZES  # torch takes 1 for another program
    need_equal(module, net, sizes)
    module.encoder = Other()
    changed = copy.deepcopy(net)
    changed.encoder = Other()
    need_equal(module, changed, sizes)


def describe(found):
    """What signatures say, but for the names of nodes."""
    return {
        name: (s.in_spec, s.out_spec, [[type(a) for a in x] for x in (s.inputs, s.outputs)])
        for name, s in found.items()
    }


def test_a_lost_signature_is_noticed(monkeypatch):
    monkeypatch.setattr(kept_signature, "_note", lambda *_: None)
    made = from_torch(of_torch(Net())).to_torch()
    assert signatures(made).keys() != signatures(of_torch(Net())).keys()
