"""What a newcomer gets wrong in calls of anyshape: one error of ours, with what to write."""

from __future__ import annotations

import os
import subprocess
import sys
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


def specified(spec: Any, fn: Any = twice, args: Any = (X,)) -> Any:
    return export(fn, args, dynamic_shapes=spec)


def checked(x: Any) -> Any:
    anyshape.check(x.shape[0] > 100)
    return x


def patched(*settings: Any) -> None:
    with wrong.config.patch(*settings):
        pass


USES: dict[str, tuple[Callable[[], Any], list[str]]] = {
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
}


@pytest.mark.parametrize("name", USES)
def test_a_wrong_use_is_told(name: str) -> None:
    call, parts = USES[name]
    assert lacks(said(call), *parts) == []


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
