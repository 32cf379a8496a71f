"""Functions that `torch.compiler.allow_in_graph` has marked: calls of a program as they are."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import anyshape
from anyshape import ConstraintError, LoadError, MissingRuleError, UnsupportedError, export, load
from anyshape.export.files import decode, encode
from anyshape.export.files.stand_in import Classes
from anyshape.trace.opaque_call import OpaqueCall

SIZES = (0, 1, 2, 5)
ran: list[str] = []


@torch.compiler.allow_in_graph
def ranked(x, k=2):
    """Looks at the data, which a trace could not."""
    ran.append(x.device.type)
    y = x.sort().values * k
    if x.device.type != "meta" and x.numel() and x.flatten()[0].item() > 0:
        y = y + 1
    return {"y": y, "view": x.view(-1), "name": "ranked", "same": x}


@dataclasses.dataclass(frozen=True)
class Pair:
    x: torch.Tensor
    n: int
    more: list = dataclasses.field(default_factory=lambda: [5])


class Scale:
    def __init__(self, by):
        self.by = by


@torch.compiler.allow_in_graph
def of_objects(pair, *, scale):
    return pair.x * pair.n + pair.more[0] * scale.by


def uses_objects(x):
    return of_objects(Pair(x, x.size(0)), scale=Scale(x + 1)), of_objects(
        Pair(x, 2, [x.size(1)]), scale=Scale(3)
    )


OUTER = Scale(2)


def uses_ranked(x):
    found = ranked(x + 1, k=x.size(0))
    found["view"].mul_(2)
    return found["y"] * 2, found["same"] * len(found["name"])


def exported(fn, **options):
    return export(fn, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},), **options)


def need_equal(found, wanted):
    for n in SIZES:
        for x in (torch.ones(n, 3), -torch.randn(n, 3)):
            torch.testing.assert_close(found(x), wanted(x))


def test_the_function_runs_as_it_is():
    ran.clear()
    program = exported(uses_ranked)
    assert set(ran) == {"meta"}
    assert sum("ranked" in repr(node) for node in program.graph.nodes) == 1
    need_equal(program, uses_ranked)
    need_equal(anyshape.compile(uses_ranked, dynamic=True, fullgraph=True), uses_ranked)
    ran.clear()
    program(torch.ones(2, 3))
    assert ran == ["cpu"]


def test_results_in_another_order_would_be_found(monkeypatch):
    """A planted bug: the program takes the results of the call in another order."""
    program = exported(uses_ranked)
    call = next(node.func for node in program.graph.nodes if type(node.func) is OpaqueCall)
    monkeypatch.setattr(call, "taken", call.taken[::-1])
    with pytest.raises((AssertionError, RuntimeError)):
        need_equal(program, uses_ranked)


def test_a_view_of_an_operand_is_one_in_the_graph():
    node = next(n for n in exported(uses_ranked).graph.nodes if type(n.func) is OpaqueCall)
    y, view = node.outs
    assert y.root is y
    assert view.root is node.args[0].root


@torch.compiler.allow_in_graph
def scaled(x, w):
    return (x @ w, x.detach() * 2)


def test_gradients_flow_through_it():
    w = torch.nn.Parameter(torch.randn(3, 3))

    def f(x):
        y, z = scaled(x, w)
        return y.sum() + z.sum(), y.requires_grad, z.requires_grad

    x = torch.randn(4, 3)
    program = exported(f)
    assert program(x)[1:] == f(x)[1:] == (True, False)
    (wanted,) = torch.autograd.grad(f(x)[0], w)
    (found,) = torch.autograd.grad(program(x)[0], w)
    torch.testing.assert_close(found, wanted)


@torch.compiler.allow_in_graph
def positive(x):
    return x[x > 0]


def test_a_function_that_needs_data_needs_a_rule():
    def f(x):
        return positive(x) * 2

    with pytest.raises(MissingRuleError, match=r"no shape rule for positive at .*positive"):
        exported(f)

    @anyshape.register_rule(positive)
    def _(x):
        return x.new_empty(x.numel())

    program = exported(f)
    x = torch.ones(5, 3)
    assert torch.equal(program(x), f(x))


def test_a_saved_program_finds_it(tmp_path):
    program = exported(uses_ranked)
    program.save(tmp_path / "p.shape")
    need_equal(load(tmp_path / "p.shape"), uses_ranked)


def test_a_function_without_a_name_is_not_saved(tmp_path):
    @torch.compiler.allow_in_graph
    def local(x):
        return x * 2

    program = exported(lambda x: local(x) + 1)
    need_equal(program, lambda x: x * 2 + 1)
    with pytest.raises(UnsupportedError, match=r"calls .*local, which allow_in_graph has marked"):
        program.save(tmp_path / "p.shape")


@pytest.mark.parametrize(
    "change",
    [
        {"module": "os", "name": "getcwd"},  # nobody has marked it
        {"module": "no_such_module"},
        {"name": "ranked.__globals__"},
        {"name": "uses_ranked"},
        {"taken": [0, 99]},
        {"taken": [0, 0]},
        {"taken": [0]},
        {"plain": [[0, 1]]},
        {"result": 0},
    ],
)
def test_damaged_calls_are_refused(change):
    content, weights = encode.encode(exported(uses_ranked))
    node = next(n for n in content["variants"][0]["nodes"] if type(n["op"]) is dict)
    node["op"] = {**node["op"], **change}
    with pytest.raises(LoadError):
        decode.decode(content, 10**6, weights, Classes(()), {})


def test_a_program_of_torch_has_its_ops():
    @torch.compiler.allow_in_graph
    def plain(x):
        return x.sort(0).values, x.sum()

    def f(x):
        y, z = plain(x)
        return y * z

    program = exported(f)
    module = program.to_torch().module()
    for n in (1, 2, 5):
        x = torch.randn(n, 3)
        torch.testing.assert_close(module(x), f(x))
        torch.testing.assert_close(program.to_fx()(x)[0], f(x))


@pytest.mark.filterwarnings("ignore:.*script_method")
def test_a_compiler_leaves_it_alone():
    compiled = anyshape.compile(uses_ranked, backend=lambda module, _: module.forward)
    with pytest.warns(anyshape.AnyshapeWarning, match="ranked is called as it is"):
        compiled(torch.ones(3, 3))
    need_equal(compiled, uses_ranked)


@torch.compiler.allow_in_graph
def changing(x):
    return x.add_(1)


@torch.compiler.allow_in_graph
def boxed(x, box):
    return x * 2


@torch.compiler.allow_in_graph
def boxing(x):
    return object(), x


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda x: changing(x + 0), "changing, .* changes its arguments at .*changing"),
        (lambda x: boxed(x, object()), "boxed, .* gets a object at "),
        (lambda x: boxing(x)[1], "boxing, .* returns a object at "),
    ],
)
def test_what_a_call_cannot_be(fn, text):
    with pytest.raises(UnsupportedError, match=text):
        exported(fn)


def test_autocast_is_refused():
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return scaled(x, torch.ones(3, 3))

    with pytest.raises(UnsupportedError, match=r"scaled, .* under autocast"):
        exported(f)


def test_plain_results_must_stay():
    told = [1]

    @torch.compiler.allow_in_graph
    def telling(x):
        return x * 2, told[0]

    def f(x):
        y, n = telling(x)
        return y * n

    program = exported(f)
    x = torch.randn(2, 3)
    assert torch.equal(program(x), f(x))
    told[0] = 2
    with pytest.raises(ConstraintError, match=r"telling returned 2; while .* it was 1"):
        program(x)


def test_objects_that_the_program_makes_are_made_on_every_run():
    need_equal(exported(uses_objects), uses_objects)
    need_equal(anyshape.compile(uses_objects, dynamic=True, fullgraph=True), uses_objects)


def test_an_object_from_outside_is_refused():
    with pytest.raises(UnsupportedError, match="gets a Scale"):
        exported(lambda x: of_objects(Pair(x, 1), scale=OUTER))


def test_parts_in_another_order_would_be_found(monkeypatch):
    """A planted bug: the objects are made of the parts in another order."""
    program = exported(uses_objects)
    call = next(
        node.func for node in program.variants[0].graph.nodes if type(node.func) is OpaqueCall
    )
    inner = call.function.function
    monkeypatch.setattr(call.function, "function", lambda p, scale: inner(p, scale=Scale(p.x)))
    x = torch.ones(2, 3)
    assert not torch.equal(program(x)[0], uses_objects(x)[0])


def test_a_call_with_objects_is_not_saved(tmp_path):
    with pytest.raises(UnsupportedError, match="cannot save a program that calls of_objects"):
        exported(uses_objects).save(tmp_path / "program")
