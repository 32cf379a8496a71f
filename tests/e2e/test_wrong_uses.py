"""What a newcomer gets wrong in calls of anyshape: one error of ours, with what to write."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import anyshape
from anyshape import AnyshapeError, Dim, config, export
from anyshape.public_call import public
from tests.e2e.test_messages import lacks, said

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.ones(3)
wrong: Any = anyshape  # its types refuse what is tested here


def twice(x: Any) -> Any:
    return x * 2


def add(x: Any, y: Any) -> Any:
    return x + y


async def later(x: Any) -> Any:
    return x * 2


def rows(x: Any) -> Any:
    yield from x


def specified(spec: Any, fn: Any = twice, args: Any = (X,)) -> Any:
    return export(fn, args, dynamic_shapes=spec)


def checked(x: Any) -> Any:
    anyshape.check(x.shape[0] > 100)
    return x


def patched(*settings: Any) -> None:
    with wrong.config.patch(*settings):
        pass


USES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "weights that are no bool": (lambda: wrong.load("p.any", weights="no"), ["True or False"]),
    "a shape_id that is no text": (
        lambda: wrong.mark_unbacked(X, 0, shape_id=3),
        ["not int", 'shape_id="rows"'],
    ),
    "a path in place of a program": (
        lambda: wrong.from_torch("m.pt2"),
        ["not str", "torch.export.load"],
    ),
    "a proof of a text": (lambda: wrong.ShapeEnv().prove("n > 0"), ["not str", "prove(n > 0)"]),
    "rows that do not fit": (
        lambda: specified(({0: "n"}, {0: "m"}), lambda x, y: torch.stack([x, y]), (X, X[:2])),
        ["n is not m", "n is 3", "m is 2", "test_wrong_uses.py"],
    ),
    "columns that do not fit": (
        lambda: specified(({0: "n"},), lambda x: torch.cat([x, X[None, :2]]), (X[None],)),
        ["3 is not 2", "why: it is at test_wrong_uses.py"],
    ),
    "a view that does not fit": (
        lambda: specified(({0: "n"},), lambda x: x.view(7, -1)),
        ["shape [7, -1]", "[n]", "n is 3", "test_wrong_uses.py"],
    ),
    "bounds of a Dim": (lambda: Dim("n", min=8, max=4), ["min=8 is more", "write min=4, max=8"]),
    "a negative bound": (lambda: Dim("n", min=-3), ["not negative", "give min=0 or more"]),
    "a name with a blank": (lambda: specified(({0: "my rows"},)), ["'my rows'", '"my_rows"']),
    "no name": (lambda: specified(({0: ""},)), ["neither a name", 'such as "batch"']),
    "a bare dict of dimensions": (
        lambda: specified({0: "n"}),
        ["names 0", "dynamic_shapes=({0: 'n'},)"],
    ),
    "a bare name": (lambda: specified("n"), ["not str", "dynamic_shapes=({0: 'n'},)"]),
    "a short spec": (
        lambda: specified(({0: "n"},), add, (X, X)),
        ["1 entry for 2 arguments", "'x', 'y'"],
    ),
    "a short list": (lambda: specified(([],)), ["0 entries, and x has rank 1", '{0: "n"}']),
    "the dimension of a tensor": (lambda: specified(("n",)), ["x is a tensor", "write {0: 'n'}"]),
    "no such dimension": (lambda: specified(({1: "n"},)), ["its only dimension is 0"]),
    "no example": (lambda: export(twice), ["missing a required argument: 'x'", "twice(x)"]),
    "too many examples": (lambda: export(twice, (X, X)), ["too many positional", "twice(x)"]),
    "a class": (lambda: export(torch.nn.Linear, (X,)), ["Linear is a class", "Linear(...)"]),
    "another dtype": (
        lambda: export(twice, (X,))(X.long()),
        ["x.dtype is torch.int64", "x.to(torch.float32)"],
    ),
    "another rank": (
        lambda: export(twice, (X,))(torch.ones(3, 1)),
        ["x.dim() is 2", "give x 1 dimension"],
    ),
    "another device": (
        lambda: export(twice, (X,))(X.to("meta")),
        ["x.device is meta", 'x.to("cpu")'],
    ),
    "an array": (lambda: export(twice, (X,))(np.ones(3)), ["ndarray", "torch.from_numpy(x)"]),
    "a list": (lambda: export(twice, (X,))([1.0]), ["x is a list", "the structure that it had"]),
    "another text": (
        lambda: export(lambda x, how: x, (X, "a"))(X, "b"),
        ["how is 'b'", "for each value of how"],
    ),
    "an operand": (lambda: export(lambda x: x + "a", (X,)), ["a tensor or a number, got str"]),
    "a condition": (
        lambda: export(checked, (X,), dynamic_shapes=({0: "n"},)),
        ["101 <= n", "n is 3", "anyshape.check(x.shape[0] > 100)"],
    ),
    "a misspelt keyword": (
        lambda: wrong.compile(twice, full_graph=True),
        ["compile has no argument 'full_graph'", "did you mean 'fullgraph'?"],
    ),
    "an absent argument": (lambda: wrong.mark_dynamic(X), ["'dim'", "the arguments are t, dim"]),
    "a keyword of a method": (
        lambda: wrong.export(twice, (X,)).to_torch(strict=True),
        ["to_torch has no argument 'strict'", "variant"],
    ),
    "bounds of a mark": (
        lambda: anyshape.mark_dynamic(X, 0, min=5, max=9),
        ["the size 3 of dimension 0", "min=5, max=9", "bounds that include it"],
    ),
    "settings in a dict": (
        lambda: patched({"duck_shape": True}),
        ["by name", "config.patch(duck_shape=True)"],
    ),
    "a log": (lambda: setattr(config, "logs", "recompile"), ["did you mean 'recompiles'?"]),
    "a stance": (lambda: setattr(config, "stance", "force_eagre"), ["mean 'force_eager'?"]),
    "a path that is none": (lambda: wrong.load(3), ["load takes the path of a file, not int"]),
    "a folder that is not there": (
        lambda: export(twice, (X,)).save("no/such/folder/model.any"),
        ["No such file or directory: no/such/folder", "make the folder first"],
    ),
    "a compiled class": (
        lambda: wrong.compile(torch.nn.Linear),
        ["Linear is a class", "compile(Linear(...))"],
    ),
    "a compiled name": (lambda: wrong.compile("twice"), ["not 'twice'", "compile(fn)"]),
    "keyword arguments in a tuple": (
        lambda: wrong.export(add, (X,), (X,)),
        ["kwargs must be a dict, not tuple", '{"name": x}'],
    ),
    "a dimension in quotes": (
        lambda: specified(({"0": "n"},)),
        ["dimension '0'", "its only dimension is 0, as an int"],
    ),
    "a number for a size": (
        lambda: specified(({0: 5},)),
        ["x.size(0) is 3 in the example, not 5", "does not vary", "write 3 or None"],
    ),
    "two Dims of one name": (
        lambda: specified(({0: Dim("n", max=5)}, {0: Dim("n", min=7)}), add, (X, X)),
        ["Dim('n', max=5) and Dim('n', min=7)", "another name than 'n'"],
    ),
    "a bound with a point": (
        lambda: wrong.Dim("n", min=1.5),
        ["min of Dim 'n' must be an int, not 1.5", "write min=1"],
    ),
    "a bound in quotes": (lambda: wrong.Dim("n", max="x"), ["not 'x'", "max=2, or another int"]),
    "a Dim without a name": (wrong.Dim, ["'name'", "the arguments are name, min, max"]),
    "a misspelt bound": (
        lambda: wrong.Dim("n", minimum=2),
        ["Dim has no argument 'minimum'", "did you mean 'min'?"],
    ),
    "a name that is a number": (lambda: wrong.Dim(3), ["must be a str, not 3", 'Dim("batch")']),
    "an odd example": (
        lambda: specified(({0: 2 * Dim("n")},)),
        ["a size of 3 in the example is not 2*n", "4 is for n = 2"],
    ),
    "a folder to save to": (
        lambda: export(twice, (X,)).save("."),
        ["cannot save to .", "'./model.any'"],
    ),
    "a folder to load": (lambda: anyshape.load("."), ["cannot read .", "program.save(path)"]),
    "a file that is not there": (
        lambda: anyshape.load("nowhere.any"),
        ["No such file or directory: nowhere.any", "program.save(path)"],
    ),
    "a number to save to": (
        lambda: wrong.export(twice, (X,)).save(3),
        ["save takes the path of a file, not int", 'save("model.any")'],
    ),
    "a number to report to": (
        lambda: wrong.export(twice, (X,)).report(3),
        ["report takes the path of a file, not int", 'report("model.html")'],
    ),
    "a marked array": (
        lambda: wrong.mark_dynamic(np.ones(3), 0),
        ["takes a tensor, not ndarray", "torch.from_numpy(x)"],
    ),
    "a bound of a mark in quotes": (
        lambda: wrong.mark_dynamic(X, 0, min="2"),
        ["min of mark_dynamic must be an int, not '2'", "write min=2"],
    ),
    "an argument of a method without any": (
        lambda: wrong.export(twice, (X,)).explain("u9"),
        ["explain()", "it has no arguments"],
    ),
    "one argument too many": (
        lambda: export(twice, (X,))(X, X),
        ["takes 1 positional argument, not 2", "twice(x)"],
    ),
    "inference without a function": (
        lambda: wrong.infer_dynamic_shapes((X,), (X,)),
        ["a function or a module first, not tuple", "infer_dynamic_shapes(fn, (x,), (y,))"],
    ),
    "a coroutine": (
        lambda: export(later, (X,)),
        ["later is a coroutine", "without async and yield"],
    ),
    "a generator": (lambda: export(rows, (X,)), ["rows is a generator", "without async and yield"]),
    "a name to export": (lambda: wrong.export("twice", (X,)), ["not str", "export(fn, (x,))"]),
    "a dict of arguments": (
        lambda: wrong.export(twice, {"x": X}),
        ["args must be a tuple, not dict", "the dict as kwargs"],
    ),
    "an option that is no bool": (
        lambda: wrong.export(twice, (X,), draft=3),
        ["draft is True or False, not 3"],
    ),
    "a misspelt choice": (
        lambda: wrong.export(twice, (X,), control_flow="rais"),
        ["cannot be 'rais'", "did you mean 'raise'?", "'tree', 'raise'"],
    ),
    "a misspelt bound of a hint": (
        lambda: wrong.Dim.DYNAMIC(minimum=1),
        ["Dim.DYNAMIC has no argument 'minimum'", "did you mean 'min'?"],
    ),
    "a Dim times a float": (
        lambda: wrong.Dim("n") * 1.5,
        ["n * 1.5 is not a size", "+ - * // %", "n // 2"],
    ),
    "a string plus a Dim": (lambda: "a" + wrong.Dim("n"), ["'a' + n is not a size"]),
    "half a Dim": (lambda: wrong.Dim("n") / 2, ["a quotient of n and 2", "n // 2"]),
    "a power of a Dim": (lambda: wrong.Dim("n") ** 2, ["a power of n and 2", "n * n"]),
    "a compared Dim": (
        lambda: wrong.Dim("n") < 3,
        ["n cannot be compared with 3", 'Dim("n", min=2, max=64)'],
    ),
    "a name with a minus": (
        lambda: specified(({0: "batch-size"},)),
        ["'batch - size'", 'write "batch_size"'],
    ),
    "a spec for text": (
        lambda: specified((None, "k"), lambda x, k: x, (X, "a")),
        ["k is a str", "write None"],
    ),
    "a NumPy integer for an int": (
        lambda: specified((None, Dim.DYNAMIC), lambda x, k: x * k, (X, 2))(X, np.int64(4)),
        ["k is int64", "give int(k)"],
    ),
    "a misspelt argument of a program": (
        lambda: export(add, (X, X))(x=X, yy=X),
        ["add has no argument 'yy'", "did you mean 'y'?", "add(x, y)"],
    ),
    "nothing to verify": (lambda: export(twice, (X,)).verify(), ["no calls", "verify((x,), (y,))"]),
    "a number to compare with": (
        lambda: export(twice, (X,)).verify(X, eager=3),
        ["eager must be a function, not int"],
    ),
    "no such variant": (lambda: export(twice, (X,)).to_fx(variant=7), ["no variant 7", "give 0"]),
    "no such segment": (lambda: export(twice, (X,)).to_fx(segment=3), ["no segment 3"]),
    "no such variant for torch": (
        lambda: export(twice, (X,)).to_torch(variant=-1),
        ["no variant -1", "give 0"],
    ),
    "an empty path": (lambda: anyshape.load(""), ["not an empty text", 'load("model.any")']),
    "a device that is not there": (
        lambda: export(torch.nn.Linear(3, 2), (X,)).to("cudaa"),
        ["'cudaa' is not a device", '"cpu"'],
    ),
    "a misspelt device": (
        lambda: wrong.export(torch.nn.Linear(3, 2), (X,)).to(devise="cpu"),
        ["to has no argument 'devise'", "did you mean 'device'?"],
    ),
    "a path of weights": (
        lambda: wrong.export(torch.nn.Linear(3, 2), (X,)).load_state_dict("w.pt"),
        ["a mapping, not str", 'torch.load("weights.pt")'],
    ),
    "a call that does not fit": (
        lambda: anyshape.infer_dynamic_shapes(twice, (X,), (X, X)),
        ["call 1 does not fit the function", "it takes (x)"],
    ),
    "a number to report a compiled function to": (
        lambda: wrong.compile(twice).report(3),
        ["report takes the path of a file, not int"],
    ),
    "a marked list": (lambda: wrong.mark_dynamic([X], 0), ["not list", "mark each tensor"]),
    "a dimension of NumPy": (lambda: wrong.mark_dynamic(X, np.float64(0)), ["not np.float64(0.0)"]),
    "the name of an op": (
        lambda: anyshape.register_rule("aten::relu"),
        ["not 'aten::relu'", "register_rule(torch.ops.aten.relu)"],
    ),
    "a rule that is none": (
        lambda: wrong.register_rule(torch.ops.aten.relu)(3),
        ["a rule is a function, not 3"],
    ),
    "the largest of texts": (lambda: anyshape.sym_max(3, "a"), ["sym_max takes numbers, not str"]),
    "the smallest of tensors": (lambda: anyshape.sym_min(X, 3), ["sym_min takes numbers, not Te"]),
    "a size that is no bool": (
        lambda: wrong.ShapeEnv().backed(4, size="no"),
        ["size is True or False, not 'no'"],
    ),
    "an argument of a ShapeEnv": (lambda: wrong.ShapeEnv(3), ["ShapeEnv takes 1 positional"]),
}


@pytest.mark.parametrize("name", USES)
def test_a_wrong_use_is_told(name: str) -> None:
    call, parts = USES[name]
    assert lacks(said(call), *parts) == []


def methods(kind: type) -> dict[str, Any]:
    found = {n: getattr(kind, n) for n in dir(kind) if not n.startswith("_")}
    return {f"{kind.__name__}.{n}": f for n, f in found.items() if callable(f)}


PUBLIC: dict[str, Any] = {
    **{n: getattr(wrong, n) for n in wrong.__all__ if not isinstance(getattr(wrong, n), type)},
    **methods(anyshape.ShapeEnv),
}
QUESTIONS = (  # plain functions of one condition: a wrapper would cost a fifth of a question
    "ShapeEnv.prove",
    "guard_or_false",
    "guard_or_true",
    "statically_known_false",
    "statically_known_true",
)
for question in QUESTIONS:
    del PUBLIC[question]


@pytest.mark.parametrize("name", [n for n, f in PUBLIC.items() if callable(f)])
def test_an_unknown_keyword_is_told(name: str) -> None:
    text = said(lambda: PUBLIC[name](no_such_argument=1))
    assert (
        lacks(text, f"{name.rsplit('.', maxsplit=1)[-1]} has no argument 'no_such_argument'") == []
    )


def test_a_backend_that_returns_no_function_is_told() -> None:
    compiled = anyshape.compile(twice, backend=lambda graph, inputs: None)  # type: ignore[arg-type, return-value]
    with warnings.catch_warnings(record=True) as caught:  # torch's own too
        warnings.simplefilter("always")
        assert torch.equal(compiled(X), twice(X))
    assert any("it returned None, not a function" in str(w.message) for w in caught)


def test_eager_refuses_the_operands_too() -> None:
    for other in ("a", None, [1.0], {}, slice(1), object()):
        for op in (lambda x, o: x + o, lambda x, o: x.mul(o), lambda x, o: o - x):
            with pytest.raises(TypeError):
                op(X, other)
            with pytest.raises(AnyshapeError, match="expected a tensor or a number"):
                export(lambda x, op=op, other=other: op(x, other), (X,))


def test_numbers_of_all_kinds_are_operands() -> None:
    for other in (2, 2.5, 1j, True, np.float32(2.5), np.int64(3), np.float64(0.5), np.bool_(True)):
        program = export(lambda x, other=other: x + other, (X,))
        assert torch.equal(program(X), X + other)


def test_an_error_inside_a_public_function_is_left_alone() -> None:
    def inner() -> None:
        raise TypeError("mine")

    @public
    def outer(f: Any) -> None:
        f()

    with pytest.raises(TypeError, match=r"^mine$"):
        outer(inner)
    with pytest.raises(AnyshapeError, match="outer has no argument 'g'"):
        outer(g=inner)  # type: ignore[call-arg]


def test_a_function_that_fails_with_fitting_arguments_keeps_its_error() -> None:
    def fails(x: Any) -> Any:
        return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as caught:
        export(fails, (X,))
    assert not isinstance(caught.value, AnyshapeError)


def test_a_misspelt_variable_is_a_warning() -> None:
    command = [sys.executable, "-W", "always", "-c", "import anyshape"]
    for name, meant in {"ANYSHAPE_LOG": "'ANYSHAPE_LOGS'", "ANYSHAPE_OF_MINE": ""}.items():
        variables = {**os.environ, name: "guards"}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        assert (f"did you mean {meant}?" in done.stderr) is bool(meant)
        assert ("AS731" in done.stderr) is bool(meant)
