"""What a new user reads: the user's words, names, values, line, and what to write instead."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape import AnyshapeError, export

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = torch.ones(4)


def data_branch(x: Any) -> Any:
    n = (x > 0).sum()
    if n > 0:
        return x / n
    return x


def item_branch(x: Any) -> Any:
    n = (x > 0).sum().item()
    return x[:n] if n > 3 else x


def size_from_item(x: Any) -> Any:
    n = x.sum().long().item()
    return torch.zeros(n)


def two_sizes(x: Any) -> Any:
    n = x.sum().long().item()
    first = torch.zeros(n)
    n = x.prod().long().item()
    return first + torch.zeros(n)


def converted(x: Any) -> Any:
    n = x.sum()
    return [x] * int(n)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.head(x)


def add(left: Any, right: Any) -> Any:
    return left + right


def other_dtypes(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x.int(), lambda x: x, (x,))


SEEN: list[Any] = []


def effect(x: Any) -> Any:
    SEEN.append(x.sum())
    return x + 1


def said(call: Callable[[], Any]) -> str:
    """The message of a call that fails; it ends with the code."""
    with pytest.raises(AnyshapeError) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(f"\n  more: anyshape errors {caught.value.code}")
    return text


def lacks(text: str, *parts: str) -> list[str]:
    """The parts that a message does not have."""
    return [part for part in parts if part not in text]


PAIR = (torch.ones(3), torch.ones(3))
RAISE = {"control_flow": "raise"}
MESSAGES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "a branch on a tensor": (
        lambda: export(data_branch, (X,), **RAISE),  # type: ignore[arg-type]
        ["cannot decide n > 0", "in data_branch: if n > 0:", "torch.where(n > 0, a, b)"],
    ),
    "a branch on an item": (
        lambda: export(item_branch, (X,), **RAISE),  # type: ignore[arg-type]
        ["cannot decide n > 3", "n = (x > 0).sum().item()", "torch._check(n > 3)"],
    ),
    "a conversion": (
        lambda: export(converted, (X,), **RAISE),  # type: ignore[arg-type]
        ["cannot turn int(n) into a Python int", "return [x] * int(n)"],
    ),
    "a size from an item": (
        lambda: export(size_from_item, (X,))(-X),
        ["n is negative", "return torch.zeros(n); n is -4, made at", "n = x.sum().long().item()"],
    ),
    "two numbers in one variable": (
        lambda: export(two_sizes, (X,))(2 * X),
        ["[u0] and [u1]", "u0 is 8, made at", "u1 is 16, made at", "n = x.prod().long().item()"],
    ),
    "shapes in a module": (
        lambda: export(Model(), (torch.ones(3, 7),), dynamic_shapes=({0: "b"},)),
        ["[b, 7] and [4, 8]", "7 is not 8", "test_messages.py:", "return self.head(x)"],
    ),
    "shapes in a module of torch": (
        lambda: export(torch.nn.Linear(8, 4), (torch.ones(3, 7),)),
        ["7 is not 8", "linear.py:", "F.linear("],
    ),
    "a misspelt argument of a spec": (
        lambda: export(add, PAIR, dynamic_shapes={"left": None, "rihgt": None}),
        ["'rihgt'", "did you mean 'right'?", "'left', 'right'"],
    ),
    "an argument that a spec omits": (
        lambda: export(add, PAIR, dynamic_shapes={"left": {0: "n"}}),
        ["leaves out 'right'", "add 'right': None"],
    ),
    "a missing argument": (
        lambda: export(add, PAIR)(X),
        ["add is called without the argument 'right'", "call it as add(left, right)"],
    ),
    "an unknown argument": (
        lambda: export(add, PAIR)(X, rihgt=X),
        ["add has no argument 'rihgt'", "did you mean 'right'?"],
    ),
    "another size": (
        lambda: export(add, PAIR)(X, X),
        ["left.size(0) is 4", "traced for 3", 'as {0: "n"}'],
    ),
    "an effect": (
        lambda: export(effect, (X,)),
        ["changes a list", "SEEN.append(x.sum())", "return the value"],
    ),
    "sides of torch.cond": (
        lambda: export(other_dtypes, (X,)),
        ["torch.int32 and torch.float32", "return torch.cond(", "return the same"],
    ),
    "a misspelt option": (
        lambda: anyshape.compile(add, dynamic="unbakced"),  # type: ignore[call-overload]
        ["'unbakced'", "did you mean 'unbacked'?"],
    ),
    "a misspelt setting": (
        lambda: setattr(anyshape.config, "soler", "z3"),
        ["'soler'", "did you mean 'solver'?"],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_says_it(name: str) -> None:
    call, parts = MESSAGES[name]
    assert lacks(said(call), *parts) == []


def test_a_message_that_lacks_something_is_found() -> None:
    assert lacks(said(MESSAGES["a branch on an item"][0]), "n > 3", "4 <= u0") == ["4 <= u0"]


def changed(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


FILES: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "damaged": (changed, ["program.json is damaged", "its checksum", "copy the file again"]),
    "truncated": (lambda f: f.write_bytes(f.read_bytes()[:900]), ["ends inside", "truncated"]),
    "empty": (lambda f: f.write_bytes(b""), ["not a saved program", "it is empty"]),
    "text": (lambda f: f.write_bytes(b"a model " * 40), ["not a saved program", "another format"]),
    "torch.save": (lambda f: torch.save({"x": X}, f), ["torch.save", "torch.load"]),
    "a pickle": (lambda f: f.write_bytes(pickle.dumps({})), ["a pickle", "torch.load"]),
    "safetensors": (
        lambda f: f.write_bytes((60).to_bytes(8, "little") + b'{"x":' + b" " * 60),
        ["safetensors", "load_state_dict"],
    ),
    "torch.export.save": (
        lambda f: f.write_bytes(b"PK\3\4" + bytes(22) + b"\x1d\0\0\0archive/data/weights/weight_0"),
        ["torch.export.save", "anyshape.from_torch"],
    ),
    "another zip": (
        lambda f: f.write_bytes(b"PK\3\4" + bytes(22) + b"\x09\0\0\0notes.txt"),
        ["a zip that starts with b'notes.txt'"],
    ),
    "absent": (lambda f: f.unlink(), ["cannot read", "No such file"]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_a_program_is_named(name: str, tmp_path: Path) -> None:
    spoil, parts = FILES[name]
    file = tmp_path / "model.any"
    export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)).save(file)
    spoil(file)
    assert lacks(said(lambda: anyshape.load(file)), str(file), *parts) == []


def test_a_recompilation_names_the_sizes_that_matter() -> None:
    def total(x: Any, rest: list[Any]) -> Any:
        return (x * 2 if x.size(0) > 5 else x).sum() + sum(y.sum() for y in rest)

    compiled = anyshape.compile(total)
    for n in (3, 4, 9):
        compiled(torch.ones(n), [torch.ones(n + k) for k in range(9)])
    text = str(compiled.recompilations[-1])
    assert lacks(text, "(x.size(0) = 9)", "x.size(0) > 5", "anyshape.mark_unbacked(x, 0)") == []
