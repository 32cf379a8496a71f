"""Saved programs with classes and enums of the user's: used again, or stood in for."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape.errors import ArgumentError, ConstraintError, LoadError, UnsupportedError
from anyshape.export import StandIn, export, load
from anyshape.export.files import archive, structure
from tests.unit.export.files.saved_programs import Point
from tests.unit.export.files.test_hostile_files import content, refusal, with_content

if TYPE_CHECKING:
    from pathlib import Path


class Cache:
    """Parts with names, which are in the context, and one setting."""

    def __init__(self, keys: Any, values: Any, window: int | None = None) -> None:
        self.keys, self.values, self.window = keys, values, window


class Box:
    """One part without a name."""

    def __init__(self, x: Any) -> None:
        self.x = x


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def cache_of(parts: Any, context: Any) -> Cache:
    return Cache(*parts, window=context[1])


def register(patch: pytest.MonkeyPatch, cls: type, flatten: Any, make: Any) -> None:
    """Let pytree know a class for the time of a test."""
    patch.setitem(pytree.SUPPORTED_NODES, cls, pytree.NodeDef(cls, flatten, make, None))


def of_cache(c: Cache) -> Any:
    return [c.keys, c.values], [["keys", "values"], c.window]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Cache, of_cache, cache_of)
    register(monkeypatch, Box, lambda b: ([b.x], None), lambda xs, _: Box(*xs))


def step(cache: Cache, box: Box) -> Any:
    x = cache.keys * 2
    return {"cache": Cache(x, [cache.values, x.shape[0]], cache.window), "box": Box(box.x + 1)}


def example(n: int) -> tuple[Cache, Box]:
    return Cache(torch.arange(n * 2.0).view(n, 2), torch.ones(n), 8), Box(torch.ones(2))


SPEC = ([{0: "n"}, {0: "n"}], None)


def parts(result: Any) -> list[Any]:
    """All that a result of `step` is made of, by name."""
    cache, box = result["cache"], result["box"]
    inside = [cache.keys, cache.values[0], cache.values[1]]
    return [*inside, box[0] if type(box) is StandIn else box.x]


def agree(result: Any, n: int) -> None:
    wanted = step(*example(n))
    for got, want in zip(parts(result), parts(wanted), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.fixture(name="path")
def _saved(tmp_path: Path) -> Path:
    program = export(step, example(3), dynamic_shapes=SPEC)
    agree(program(*example(5)), 5)
    program.save(tmp_path / "a")
    return tmp_path / "a"


def test_registered_classes_are_used_again(path: Path) -> None:
    loaded = load(path)
    result = loaded(*example(5))
    agree(result, 5)
    assert type(result["cache"]) is Cache
    assert result["cache"].window == 8
    assert type(result["box"]) is Box


def test_stand_ins_and_plain_containers(path: Path) -> None:
    loaded = load(path, classes=())
    cache, box = example(5)
    for given in (
        (cache, box),
        ({"keys": cache.keys, "values": cache.values}, [box.x]),
        ({"values": cache.values, "keys": cache.keys}, (box.x,)),
    ):
        result = loaded(*given)
        agree(result, 5)
        assert type(result["cache"]) is StandIn
    stand_in = loaded(*example(5))["cache"]
    assert stand_in["keys"] is stand_in.keys is stand_in[0]
    assert len(stand_in) == 2
    assert next(iter(stand_in)) is stand_in[0]
    assert repr(stand_in).startswith(f"<stand-in of {Cache.__module__}.Cache: keys=tensor")
    with pytest.raises(AttributeError, match="window"):
        _ = stand_in.window
    with pytest.raises(KeyError):
        stand_in["window"]


def test_a_result_is_an_input_again(tmp_path: Path) -> None:
    def more(cache: Cache) -> Cache:
        return Cache(torch.cat([cache.keys, cache.keys[:1]]), cache.values + 1, cache.window)

    cache = Cache(torch.ones(2, 3), torch.ones(3))
    export(more, (cache,), dynamic_shapes=([{0: "n"}, None],)).save(tmp_path / "a")
    loaded = load(tmp_path / "a", classes=())
    state = loaded(cache)
    for _ in range(3):
        state = loaded(state)
    assert state.keys.shape == (6, 3)
    assert torch.equal(state.values, torch.full((3,), 5.0))
    assert torch.equal(load(tmp_path / "a")(state).values, torch.full((3,), 6.0))


def test_a_changed_object_is_returned_or_refused() -> None:
    def changed(cache: Cache) -> Cache:
        cache.keys = cache.keys + 1
        return cache

    cache = Cache(torch.ones(2, 3), torch.ones(3))
    assert export(changed, (cache,))(cache).keys.eq(2).all()
    with pytest.raises(UnsupportedError, match="changes what the argument cache holds"):
        export(lambda cache: changed(cache).keys, (cache,))


def test_bytes_do_not_depend_on_the_classes(path: Path, tmp_path: Path) -> None:
    for i, classes in enumerate((None, (), (Cache,))):
        load(path, classes=classes).save(tmp_path / str(i))
        assert (tmp_path / str(i)).read_bytes() == path.read_bytes()


def test_only_the_classes_that_are_given(path: Path) -> None:
    result = load(path, classes=(Cache,))(*example(4))
    assert type(result["cache"]) is Cache
    assert type(result["box"]) is StandIn
    with pytest.raises(ArgumentError, match="not a class"):
        load(path, classes=("Cache",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda c, b: ({"keys": c.keys}, b), "cache is a dict"),
        (lambda c, b: ([c.keys, c.values], b), "cache is a list"),
        (lambda c, b: (c.keys, b), "cache is a Tensor, not a .*Cache of keys, values"),
        (lambda c, b: (Cache(c.keys, c.values, 9), b), "cache is a Cache"),
        (lambda c, b: (c, [b.x, b.x]), "box is a list"),
        (lambda c, b: (c,), "step is called without the argument 'box'"),
        (lambda c, b: (Cache(c.keys, [c.values], 8), b), r"cache\['values'\] is a list"),
    ],
)
def test_another_structure_is_refused_with_its_place(path: Path, wrong: Any, text: str) -> None:
    for loaded in (load(path), load(path, classes=())):
        with pytest.raises(ArgumentError, match=text):
            loaded(*wrong(*example(4)))


def test_dicts_in_any_order() -> None:
    program = export(
        lambda d, **rest: d["a"] - d["b"] + rest["c"] - rest["e"],
        ({"a": torch.ones(2), "b": torch.zeros(2)},),
        {"c": torch.ones(2), "e": torch.zeros(2)},
    )
    turned = {"b": torch.zeros(2), "a": torch.ones(2)}
    assert program(turned, e=torch.zeros(2), c=torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(ArgumentError, match="is called without the argument 'e'"):
        program(turned, c=torch.ones(2))
    with pytest.raises(ArgumentError, match=r"d is a OrderedDict"):
        program(OrderedDict(turned), e=torch.zeros(2), c=torch.ones(2))


def _zero() -> int:
    return 0


def test_default_dicts(tmp_path: Path) -> None:
    def f(d: Any) -> Any:
        return defaultdict(list, {"sum": d["x"] + d["x"], "rest": [d["x"]]})

    given = defaultdict(None, {"x": torch.ones(2)})
    export(f, (given,)).save(tmp_path / "a")
    result = load(tmp_path / "a")(given)
    assert type(result) is defaultdict
    assert result.default_factory is list
    assert torch.equal(result["sum"], torch.full((2,), 2.0))
    program = export(lambda x: defaultdict(_zero, {"x": x + 1}), (torch.ones(2),))
    assert program(torch.ones(2))["y"] == 0
    with pytest.raises(UnsupportedError, match="defaultdict"):
        program.save(tmp_path / "b")
    with pytest.raises(UnsupportedError, match="returns a function that it made"):
        export(lambda x: defaultdict(lambda: 0, {"x": x + 1}), (torch.ones(2),))


def test_a_context_that_has_no_form_in_a_file(tmp_path: Path) -> None:
    program = export(lambda c: c.keys + 1, (Cache(torch.ones(2), torch.ones(2), Mode.FAST),))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"class .*Cache .*Mode"):
        program.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_a_class_that_makes_something_else_now(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of a library may mean something else by the same context."""
    for make, why in (
        (lambda xs, _: Cache(*xs), "something else"),
        (lambda xs, _: list(xs), "something else"),
        (lambda xs, context: Cache(**context), "TypeError"),
    ):
        register(monkeypatch, Cache, of_cache, make)
        with pytest.raises(UnsupportedError, match=rf"(?s)Cache.*{why}.*classes=\(\)"):
            load(path)(*example(4))
        agree(load(path, classes=())(*example(4)), 4)


def test_of_two_classes_with_one_name_none_is_used(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = type("Box", (Box,), {"__module__": Box.__module__})
    register(monkeypatch, twin, lambda b: ([b.x], None), lambda xs, _: twin(*xs))
    result = load(path)(*example(4))
    assert type(result["box"]) is StandIn
    assert type(result["cache"]) is Cache


def test_nothing_is_imported_and_nothing_is_needed(path: Path) -> None:
    code = (
        "import sys, torch; from anyshape.export import load\n"
        f"p = load({str(path)!r})\n"
        "r = p({'keys': torch.ones(7, 2), 'values': torch.ones(7)}, [torch.ones(2)])\n"
        "print(tuple(r['cache'].keys.shape), r['cache'].values[1], r['box'][0].tolist())\n"
        f"print({__name__!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["(7, 2) 7 [2.0, 2.0]", "False"]


def test_a_planted_mistake_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts in the wrong order, or of another call, do not agree."""
    rebuilt = structure.rebuilt
    monkeypatch.setattr(structure, "rebuilt", lambda xs, spec: rebuilt(xs[::-1], spec))
    result = load(path, classes=())(*example(5))
    with pytest.raises((AssertionError, TypeError)):
        agree(result, 5)


# ---------------------------------------------------------------------- enums


def scaled(x: torch.Tensor, mode: Mode, level: Level) -> Any:
    return x * (2 if mode is Mode.FAST else 3) + level, mode, level


def test_enums_are_known_by_their_names(tmp_path: Path) -> None:
    x = torch.ones(3)
    program = export(scaled, (x, Mode.SLOW, Level.HIGH), dynamic_shapes=({0: "n"}, None, None))
    program.save(tmp_path / "a")
    for classes in ((), (Mode,), (Mode, Level)):
        loaded = load(tmp_path / "a", classes=classes)
        assert str(loaded.contract()) == str(program.contract())
        result, mode, level = loaded(torch.ones(5), Mode.SLOW, Level.HIGH)
        assert torch.equal(result, torch.full((5,), 5.0))
        assert mode is Mode.SLOW if classes else repr(mode) == "Mode.SLOW"
        assert level == Level.HIGH
        with pytest.raises(ConstraintError, match=r"Mode\.FAST"):
            loaded(torch.ones(5), Mode.FAST, Level.HIGH)
        with pytest.raises((ConstraintError, ArgumentError), match="level"):
            loaded(torch.ones(5), Mode.SLOW, Level.LOW)
        for bad in (2, "SLOW", Level.HIGH, enum.Enum("Other", "FAST SLOW").SLOW):
            with pytest.raises((ConstraintError, ArgumentError), match="mode"):
                loaded(torch.ones(5), bad, Level.HIGH)
        loaded.save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_enum_that_lost_its_member(tmp_path: Path) -> None:
    export(scaled, (torch.ones(3), Mode.SLOW, Level.HIGH)).save(tmp_path / "a")
    less = enum.Enum("Mode", "FAST", module=Mode.__module__)  # type: ignore[misc]
    loaded = load(tmp_path / "a", classes=(less,))
    assert loaded(torch.ones(3), Mode.SLOW, Level.HIGH)[0].tolist() == [5.0] * 3
    with pytest.raises(ConstraintError, match="mode"):
        loaded(torch.ones(3), less.FAST, Level.HIGH)


# ---------------------------------------------------------------------- hostile files

DEEP: Any = 0
for _ in range(200):
    DEEP = {"tuple": [DEEP]}


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"class": ["a.B", ["x", "x"], None, [0, 0, 0]]}, "3"),
        ({"class": ["a.B", ["x", "x", "x"], None, [0, 0, 0]]}, "two parts of one name"),
        ({"class": ["a.B", ["x", "y", "z"], ["x", "y"], [0, 0, 0]]}, "not those in its context"),
        ({"class": ["a.B", None, {"value": "v0"}, [0, 0, 0]]}, "'value'"),
        ({"class": ["a.B", None, {"call": "os.system"}, [0, 0, 0]]}, "'call'"),
        ({"class": ["a.B", None, DEEP, [0, 0, 0]]}, "too deeply"),
        ({"class": ["a" * 2000, None, None, [0, 0, 0]]}, "the name of a class"),
        ({"class": [3, None, None, [0, 0, 0]]}, "text"),
        ({"class": ["a.B", None, None]}, "4"),
        ({"dataclass": ["a.B", None, [0, 0, 0]]}, "a list"),
        ({"dataclass": ["a.B", ["x", 1, "y"], [0, 0, 0]]}, "text"),
        ({"default_dict": ["eval", [["x", 0]]]}, "known there"),
    ],
)
def test_hostile_structures(tree: Any, text: str, path: Path) -> None:
    data = content("branch")
    data["variants"][0]["out_tree"] = tree
    assert text in refusal(with_content("branch", data), path)


def test_a_file_names_a_module_that_is_not_imported(path: Path) -> None:
    data = content("branch")
    for variant in data["variants"]:
        variant["out_tree"] = {"class": ["antigravity.Fly", ["x"], ["x"], [0]]}
    path.write_bytes(with_content("branch", data))
    assert type(load(path)(torch.ones(3))) is StandIn
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "name",
    [
        "anyshape.export.files.stand_in.StandIn",
        "anyshape.trace.tree.Fields",
        "builtins.list",
        "builtins.dict",
        "torch.return_types.max",
        "torch.fx.immutable_collections.immutable_dict",
        "torch._higher_order_ops.flat_apply._ConstantFunction",
        "torch._higher_order_ops.auto_functionalize.SchemaHolder",
    ],
)
@pytest.mark.parametrize("context", [None, ["x"], [["x"], 1], {"tuple": ["x", ["x"]]}])
def test_a_file_names_a_class_that_is_not_meant(name: str, context: Any, path: Path) -> None:
    """Whatever comes of it is made of the parts, or refused; saved again, it is the same."""
    data = content("branch")
    names = None if context is None else ["x"]
    for variant in data["variants"]:
        variant["out_tree"] = {"class": [name, names, context, [0]]}
        variant["in_tree"]["tuple"][0] = {"tuple": [{"class": [name, names, context, [0]]}]}
    whole = with_content("branch", data)
    try:
        path.write_bytes(whole)
        loaded = load(path)
    except LoadError:
        return
    loaded.save(path)
    assert archive.read_file(path)[archive.PROGRAM] == archive.dumps(data)
    for given in ({"x": torch.ones(3)}, [torch.ones(3)], torch.ones(3)):
        try:
            result = loaded(given)
        except (ArgumentError, UnsupportedError):
            continue
        assert pytree.tree_leaves(result)[0].tolist() == [0.0] * 3


def test_fields_that_the_class_does_not_have(path: Path) -> None:
    """A class of another version: its fields are not set, it is stood in for."""
    data = content("branch")
    name = f"{Point.__module__}.Point"
    for fields, kind in ((["x", "label"], Point), (["x", "other"], StandIn)):
        for variant in data["variants"]:
            variant["out_tree"] = {"dataclass": [name, fields, [0, 0]]}
            variant["outputs"] = variant["outputs"][:1] * 2
        path.write_bytes(with_content("branch", data))
        assert type(load(path, classes=(Point,))(torch.ones(3))) is kind


def test_files_of_the_first_version_are_read(path: Path) -> None:
    data = content("branch")
    data["format"] = 1
    data["state"] = [[name, number] for name, _, number in data["state"]["entries"]]
    del data["modules"]
    for variant in data["variants"]:
        del variant["recorded"]
        for node in variant["nodes"]:
            del node["call"]
    path.write_bytes(with_content("branch", data))
    assert load(path)(torch.ones(3)).tolist() == [0.0] * 3
