"""One state that a program sees by several ways: what is written by one is read by every other.

For each kind of state, every way to write it is followed by every way to read it, in one program
that is called with other sizes and the state put back between. A program may be refused; it may
never differ from eager execution, nor leave another state behind.
"""

from __future__ import annotations

import functools
import operator
import types
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.trace.record import recorder
from anyshape.trace.record.attribute import attribute
from tests.differential import viewed_module

if TYPE_CHECKING:
    from collections.abc import Callable

MODES: tuple[dict[str, Any], ...] = ({}, {"dynamic": "unbacked", "fullgraph": True})


class State(NamedTuple):
    """Ways to write 5 where 1 was, ways to read it, and how to put 1 back."""

    writers: tuple[Callable[[], Any], ...]
    readers: tuple[Callable[[], Any], ...]
    reset: Callable[[], Any]


class Plain:
    kept = 1

    def __init__(self) -> None:
        self.x = 1


class Slotted:
    __slots__ = ("x",)

    x: int


def variables_of_a_module() -> State:
    m, space = viewed_module.THIS, viewed_module.NAMESPACE

    def imported() -> Any:
        from tests.differential.viewed_module import X

        return X

    return State(
        (
            viewed_module.assign,
            lambda: setattr(m, "X", 5),
            lambda: operator.setitem(m.__dict__, "X", 5),
            lambda: vars(m).update(X=5),
            lambda: operator.setitem(viewed_module.assign.__globals__, "X", 5),
        ),
        (
            viewed_module.value,
            lambda: m.X,
            lambda: m.__getattribute__("X"),
            lambda: object.__getattribute__(m, "X"),
            lambda: m.__dict__["X"],
            lambda: vars(m).get("X"),
            lambda: space["X"],
            lambda: operator.attrgetter("X")(m),
            imported,
        ),
        lambda: setattr(m, "X", 1),
    )


def attributes_of_an_object() -> State:
    o = Plain()

    def merged() -> None:
        o.__dict__ |= {"x": 5}

    return State(
        (
            lambda: setattr(o, "x", 5),
            lambda: operator.setitem(o.__dict__, "x", 5),
            lambda: vars(o).update(x=5),
            lambda: object.__setattr__(o, "x", 5),
            merged,
        ),
        (
            lambda: o.x,
            lambda: o.__dict__["x"],
            lambda: list(vars(o).values()),
            lambda: {**vars(o)},
            lambda: object.__getattribute__(o, "x"),
            lambda: [v for _, v in sorted(o.__dict__.items())],
        ),
        lambda: setattr(o, "x", 1),
    )


def slots() -> State:
    o = Slotted()
    slot: Any = Slotted.x
    return State(
        (
            lambda: setattr(o, "x", 5),
            lambda: slot.__set__(o, 5),
            lambda: object.__setattr__(o, "x", 5),
        ),
        (
            lambda: o.x,
            lambda: slot.__get__(o),
            lambda: operator.attrgetter("x")(o),
            lambda: object.__getattribute__(o, "x"),
        ),
        lambda: setattr(o, "x", 1),
    )


def attributes_of_a_class() -> State:
    base: Any = type("Base", (), {"kept": 1})
    derived: Any = type("Derived", (base,), {})
    o, space = derived(), vars(base)
    return State(
        (lambda: setattr(base, "kept", 5), lambda: type.__setattr__(base, "kept", 5)),
        (
            lambda: base.kept,
            lambda: derived.kept,
            lambda: o.kept,
            lambda: super(derived, o).kept,
            lambda: base.__dict__["kept"],
            lambda: space.get("kept"),
            lambda: [vars(c).get("kept") for c in derived.__mro__],
        ),
        lambda: setattr(base, "kept", 1),
    )


def parts_of_a_function() -> State:
    def f(a: int = 1, *, k: int = 1) -> Any:
        return a, k

    part: Any = f

    def reset() -> None:
        part.__defaults__, part.__kwdefaults__, part.extra = (1,), {"k": 1}, 1

    return State(
        (
            lambda: setattr(part, "__defaults__", (5,)),
            lambda: setattr(part, "__kwdefaults__", {"k": 5}),
            lambda: operator.setitem(part.__kwdefaults__, "k", 5),
            lambda: setattr(part, "extra", 5),
            lambda: operator.setitem(part.__dict__, "extra", 5),
        ),
        (
            f,
            lambda: part.__defaults__,
            lambda: part.__kwdefaults__["k"],
            lambda: part.extra,
            lambda: vars(part)["extra"],
        ),
        reset,
    )


def variables_of_a_closure() -> State:
    v = 1

    def value() -> Any:
        return v

    def assign(new: Any = 5) -> None:
        nonlocal v
        v = new

    (cell,) = value.__closure__ or ()
    return State(
        (
            assign,
            lambda: setattr(cell, "cell_contents", 5),
            lambda: setattr((value.__closure__ or ())[0], "cell_contents", 5),
        ),
        (value, lambda: v, lambda: cell.cell_contents),
        lambda: assign(1),
    )


def tables_of_a_module() -> State:
    m: Any = torch.nn.Linear(1, 1)
    m.register_buffer("b", torch.ones(1))
    return State(
        (
            lambda: setattr(m, "b", torch.full((1,), 5.0)),
            lambda: operator.setitem(m._buffers, "b", torch.full((1,), 5.0)),
            lambda: m._buffers.update(b=torch.full((1,), 5.0)),
            lambda: m.b.fill_(5.0),
        ),
        (
            lambda: m.b,
            lambda: m._buffers["b"],
            lambda: dict(m.named_buffers())["b"],
            lambda: m.state_dict()["b"],
            lambda: m.get_buffer("b"),
        ),
        lambda: setattr(m, "b", torch.ones(1)),
    )


def arguments_of_a_partial() -> State:
    def f(a: int, b: int = 1) -> Any:
        return a, b

    p: Any = functools.partial(f, 1)
    return State(
        (
            lambda: p.keywords.update(b=5),
            lambda: operator.setitem(p.keywords, "b", 5),
        ),
        (p, lambda: p.keywords.get("b"), lambda: len(p.keywords)),
        p.keywords.clear,
    )


def views_of_a_dict() -> State:
    d: dict[str, Any] = {"a": 1}
    keys, values, items, proxy = d.keys(), d.values(), d.items(), types.MappingProxyType(d)

    def reset() -> None:
        d.clear()
        d["a"] = 1

    return State(
        (
            lambda: operator.setitem(d, "b", 5),
            lambda: d.update(a=5),
            lambda: d.setdefault("b", 5),
            lambda: d.__ior__({"a": 5}),
            lambda: d.pop("a", None),
        ),
        (
            lambda: list(values),
            lambda: len(keys),
            lambda: "b" in keys,
            lambda: sorted(keys | {"c"}),
            lambda: ("b", 5) in items,
            lambda: proxy.get("a"),
            lambda: "b" in proxy,
            lambda: {**proxy},
            lambda: list(reversed(d)),
        ),
        reset,
    )


STATES = (
    variables_of_a_module,
    attributes_of_an_object,
    slots,
    attributes_of_a_class,
    parts_of_a_function,
    variables_of_a_closure,
    tables_of_a_module,
    arguments_of_a_partial,
    views_of_a_dict,
)


def program(write: Callable[[], Any], read: Callable[[], Any], *, first: bool) -> Any:
    """A program that writes and reads, and may have read before."""

    def fn(x: Any) -> Any:
        if first:
            read()
        write()
        return x * 2, read()

    return fn


def outcomes(fn: Any, state: State) -> list[str]:
    """What calls at three sizes give, and the state that each leaves behind."""
    found = []
    for n in (3, 0, 1):
        state.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = fn(torch.ones(n))[1]
        found.append(repr((result, [read() for read in state.readers[:2]])))
    state.reset()
    return found


def differences(make: Callable[[], State], mode: dict[str, Any]) -> tuple[list[Any], int]:
    """The programs of a kind of state that differ from eager, and how many were compared."""
    state = make()
    state.reset()
    wrong, compared = [], 0
    for i, write in enumerate(state.writers):
        for k, read in enumerate(state.readers):
            fn = program(write, read, first=(i + k) % 2 == 0)
            try:
                ours = outcomes(anyshape.compile(fn, **mode), state)
            except AnyshapeError:
                state.reset()
                continue
            compared += 1
            if ours != outcomes(fn, state):
                wrong.append((i, k))
    return wrong, compared


@pytest.mark.parametrize("mode", MODES, ids=["default", "unbacked"])
@pytest.mark.parametrize("make", STATES, ids=lambda make: make.__name__)
def test_what_is_written_is_read(make: Callable[[], State], mode: dict[str, Any]) -> None:
    wrong, compared = differences(make, mode)
    assert not wrong
    assert compared


def test_a_view_that_is_stale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (attribute, recorder):
        monkeypatch.setattr(module, "show_change", lambda *_: None)
    assert differences(variables_of_a_module, MODES[1])[0]
    assert differences(attributes_of_a_class, MODES[1])[0]


def test_values_that_vary_are_read_by_every_way() -> None:
    """Numbers that change between calls become inputs, for those ways that can see them."""

    def imported(x: torch.Tensor) -> Any:
        from tests.differential.viewed_module import X

        return x * X, X

    def helper(k: float = 2.0) -> float:
        return k

    def default(x: torch.Tensor) -> Any:
        defaults = helper.__defaults__ or ()
        return x * helper(), defaults[0], hasattr(viewed_module.THIS, "LATE")

    for fn in (imported, default):
        for mode in MODES:
            compiled = anyshape.compile(fn, **mode)
            for k in (1.0, 2.0, 3.0, -0.0, 5.0):
                viewed_module.THIS.X, helper.__defaults__ = k, (k,)
                if k == 5.0:
                    viewed_module.THIS.LATE = k
                assert repr(compiled(torch.ones(3))) == repr(fn(torch.ones(3)))
            del viewed_module.THIS.LATE
    viewed_module.THIS.X = 1
