from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.config import SETTINGS, Config, config, listed
from anyshape.errors import AnyshapeError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def defaults() -> Iterator[None]:
    """Undo assignments, which change the whole process."""
    before = {name: getattr(config, name) for name in SETTINGS}
    yield
    for name, value in before.items():
        setattr(config, name, value)


module = sys.modules["anyshape.config"]  # the package has the object by the same name

DEFAULTS = [
    ("specialize_zero_one", True),
    ("backed_size_oblivious", False),
    ("duck_shape", False),
    ("aggressive_guard_free_semantics", 0),
    ("do_not_emit_stack_traces", False),
    ("solver", None),
    ("dynamic_sources", None),
    ("unbacked_sources", None),
    ("static_sources", None),
    ("recompile_limit", 8),
    ("segment_limit", 64),
    ("regions", "auto"),
    ("audit", False),
    ("stance", "default"),
    ("profile_store", None),
    ("agree", None),
    ("profile", None),
    ("logs", None),
    ("trace", None),
]
SOURCES = ("dynamic_sources", "unbacked_sources", "static_sources")
OTHERS = [
    *((name, value) for name in SOURCES for value in ("", "x", ["x", r"L\['y.*'\]:1"], ("x:0",))),
    ("recompile_limit", 1),
    ("recompile_limit", 256),
    ("segment_limit", 1),
    ("profile_store", "decisions.json"),
    ("profile_store", "memory://decisions.json"),
    ("agree", "group"),
    ("profile", "profile.json"),
    ("logs", "guards, +graph"),
    ("logs", ["recompiles", "+dynamic"]),
    ("logs", ""),
]


@pytest.fixture(autouse=True)
def no_lists_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS.values():
        for variable in setting.environment:
            monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(("name", "value"), DEFAULTS)
def test_default(name: str, value: Any) -> None:
    assert getattr(config, name) is value
    assert getattr(Config(), name) is value


def test_every_setting_has_a_default_among_its_values_and_a_sentence() -> None:
    assert [name for name, _ in DEFAULTS] == list(SETTINGS)
    for setting in SETTINGS.values():
        assert setting.default in setting.valid or not setting.refusal(setting.default)  # type: ignore[misc]
        assert (setting.refusal is None) is (not setting.others)
        assert len(setting.about) > 10


# ---------------------------------------------------------------------- patch


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, value) for name, s in SETTINGS.items() for value in s.valid), *OTHERS],
)
def test_each_valid_value_can_be_patched(name: str, value: Any) -> None:
    before = getattr(config, name)
    with config.patch(**{name: value}):
        assert getattr(config, name) is value
    assert getattr(config, name) is before


def test_patches_nest_and_the_inner_one_wins() -> None:
    with config.patch(duck_shape=True, solver="z3"):
        with config.patch(duck_shape=False, aggressive_guard_free_semantics=2):
            assert (config.duck_shape, config.solver) == (False, "z3")
            assert config.aggressive_guard_free_semantics == 2
        assert (config.duck_shape, config.solver) == (True, "z3")
        assert config.aggressive_guard_free_semantics == 0
    assert (config.duck_shape, config.solver) == (False, None)


def test_a_patch_is_undone_by_an_exception() -> None:
    with pytest.raises(KeyError), config.patch(duck_shape=True):
        raise KeyError
    assert not config.duck_shape


def test_a_patch_of_nothing_changes_nothing() -> None:
    with config.patch():
        assert repr(config) == repr(Config())


def test_many_patches_at_once_are_undone_in_order() -> None:
    with ExitStack() as stack:
        for effort in (1, 2, 0, 1):
            stack.enter_context(config.patch(aggressive_guard_free_semantics=effort))
        assert config.aggressive_guard_free_semantics == 1
    assert config.aggressive_guard_free_semantics == 0


def test_another_thread_does_not_see_a_patch() -> None:
    seen = []
    with config.patch(duck_shape=True):
        thread = threading.Thread(target=lambda: seen.append(config.duck_shape))
        thread.start()
        thread.join()
        assert config.duck_shape
    assert seen == [False]


def test_threads_with_different_patches_do_not_meet() -> None:
    barrier = threading.Barrier(3)

    def work(effort: int) -> int:
        with config.patch(aggressive_guard_free_semantics=effort):
            barrier.wait()  # all are inside their patches now
            seen = config.aggressive_guard_free_semantics
            barrier.wait()
        return seen

    with ThreadPoolExecutor(3) as executor:
        assert list(executor.map(work, range(3))) == [0, 1, 2]


def test_a_task_inherits_the_patch_and_keeps_its_own() -> None:
    async def inner() -> bool:
        with config.patch(solver="z3"):
            await asyncio.sleep(0)
            return config.duck_shape and config.solver == "z3"

    async def outer() -> list[bool]:
        with config.patch(duck_shape=True):
            tasks = [asyncio.create_task(inner()) for _ in range(2)]
            await asyncio.sleep(0)
            assert config.solver is None
            return await asyncio.gather(*tasks)

    assert asyncio.run(outer()) == [True, True]


def test_a_copied_context_keeps_the_patch() -> None:
    with config.patch(duck_shape=True):
        context = copy_context()
    assert not config.duck_shape
    assert context.run(lambda: config.duck_shape)


def test_two_objects_are_apart() -> None:
    other = Config()
    with config.patch(duck_shape=True):
        assert not other.duck_shape
    other.duck_shape = True
    assert not config.duck_shape


# ---------------------------------------------------------------------- assignment


@pytest.mark.usefixtures("defaults")
def test_an_assignment_is_seen_by_every_thread_and_lies_under_the_patches() -> None:
    config.aggressive_guard_free_semantics = 2
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.aggressive_guard_free_semantics))
    thread.start()
    thread.join()
    assert seen == [2]
    with config.patch(aggressive_guard_free_semantics=1):
        config.aggressive_guard_free_semantics = 0
        assert config.aggressive_guard_free_semantics == 1
    assert config.aggressive_guard_free_semantics == 0


# ---------------------------------------------------------------------- what is refused

WRONG = [
    ("duck_shape", 1),
    ("duck_shape", "yes"),
    ("duck_shape", None),
    ("aggressive_guard_free_semantics", True),  # a bool is no number here
    ("aggressive_guard_free_semantics", 3),
    ("aggressive_guard_free_semantics", 1.0),
    ("solver", "cvc5"),
    ("solver", False),
    ("recompile_limit", 0),
    ("segment_limit", 0),
    ("recompile_limit", True),
    ("recompile_limit", None),
    ("recompile_limit", 8.0),
    ("stance", "eager"),
    ("stance", None),
    ("profile_store", ""),
    ("profile_store", 3),
    ("agree", "ranks"),
    ("agree", True),
    ("profile", b"x"),
    *((name, value) for name in SOURCES for value in (3, ["x", 3], "(", ("ok", "x["), [""], {"x"})),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_with_the_valid_ones(name: str, value: Any) -> None:
    valid = SETTINGS[name].valid
    with pytest.raises(ConfigError) as patched, config.patch(**{name: value}):
        pytest.fail("the body must not run")
    with pytest.raises(ConfigError) as assigned:
        setattr(config, name, value)
    for error in (patched.value, assigned.value):
        assert name in error.what
        assert repr(value) in error.what
        assert all(repr(v) in error.fix for v in valid)
        assert SETTINGS[name].others in error.fix
    assert getattr(config, name) is SETTINGS[name].default


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as patched, config.patch(duck_shapes=True):
        pytest.fail("the body must not run")
    with pytest.raises(ConfigError) as assigned:
        config.duck_shapes = True  # type: ignore[attr-defined]
    with pytest.raises(ConfigError) as read:
        _ = config.duck_shapes  # type: ignore[attr-defined]
    for error in (patched.value, assigned.value, read.value):
        assert "duck_shapes" in str(error)
        assert all(name in error.fix for name in SETTINGS)


def test_one_wrong_setting_refuses_the_whole_patch() -> None:
    with pytest.raises(ConfigError), config.patch(duck_shape=True, solver="cvc5"):
        pytest.fail("the body must not run")
    assert not config.duck_shape


def test_the_error_is_one_of_ours() -> None:
    assert issubclass(ConfigError, AnyshapeError)
    assert issubclass(ConfigError, ValueError)


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'x\(' is neither a name nor a pattern: missing \)"):
        config.dynamic_sources = "L['y'], x("


# ---------------------------------------------------------------------- the environment


@pytest.mark.parametrize("name", SOURCES)
def test_lists_are_read_from_the_environment_when_used(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = SETTINGS[name].environment
    assert ours == "ANYSHAPE_" + name.upper()
    assert theirs == "TORCH_COMPILE_" + name.upper()
    monkeypatch.setenv(theirs, "x")
    assert getattr(config, name) == "x"
    monkeypatch.setenv(ours, "y")
    assert getattr(config, name) == "y"
    with config.patch(**{name: ["z"]}):
        assert getattr(config, name) == ["z"]
        with config.patch(**{name: ""}):
            assert getattr(config, name) == ""
    monkeypatch.setenv(ours, "")
    assert getattr(config, name) == "x"
    monkeypatch.setenv(theirs, "(")
    assert getattr(config, name) == "("  # whoever uses it says what is wrong
    assert hasattr(config, name)


# ---------------------------------------------------------------------- lists of names

LISTS: list[tuple[Any, list[tuple[str, int | None, bool]]]] = [
    (None, []),
    ("", []),
    (" ,, ", []),
    ("x", [("x", None, False)]),
    (" L['x'] , L['y'] :0,", [("L['x']", None, False), ("L['y']", 0, False)]),
    ("batch[0].w:-1", [("batch[0].w", -1, False)]),
    ("L['self']._modules['0'].k", [("L['self']._modules['0'].k", None, False)]),
    (r"L\['x.*'\]:1", [(r"L\['x.*'\]", 1, True)]),
    ("L['a, b'],c", [("L['a, b']", None, False), ("c", None, False)]),
    ('L["a, b"]:2,c', [('L["a, b"]', 2, False), ("c", None, False)]),
    ("'L['a, b']:1', x", [("L['a, b']", 1, False), ("x", None, False)]),
    ('"a b, c":-1,d', [("a b, c", -1, True), ("d", None, False)]),
    ("x{1,2}:0,y", [("x{1,2}", 0, True), ("y", None, False)]),
    (r"L\['x{1,2}'\],y", [(r"L\['x{1,2}'\]", None, True), ("y", None, False)]),
    (r"L\['x.*,L\['y.*", [(r"L\['x.*", None, True), (r"L\['y.*", None, True)]),
    ("[^,]+,z", [("[^,]+", None, True), ("z", None, False)]),
    (r"a\,b,c", [(r"a\,b", None, True), ("c", None, False)]),
    (("x,y", "L['b-a']"), [("x,y", None, True), ("L['b-a']", None, False)]),
    ((" x",), [(" x", None, True)]),
]


@pytest.mark.parametrize(("value", "expected"), LISTS)
def test_entries_of_a_list(value: Any, expected: list[tuple[str, int | None, bool]]) -> None:
    assert [(e.name, e.dim, e.pattern is not None) for e in listed(value)] == expected


@given(st.lists(st.text(alphabet="ab ,:'[].", min_size=1), max_size=4))
def test_quotes_keep_any_name_without_them(names: list[str]) -> None:
    """What stands between quotes that the name does not have comes back as it is."""
    given_ = [f"L['{n.replace(chr(39), '')}']" for n in names]
    text = ",".join(f'"{entry}"' for entry in given_)
    assert [e.text for e in listed(text)] == given_ == [e.text for e in listed(tuple(given_))]


def test_splitting_at_every_comma_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_split", lambda text: [e for e in text.split(",") if e])
    listed.cache_clear()
    try:
        wrong = sum(_differs(value, expected) for value, expected in LISTS)
    finally:
        listed.cache_clear()
    assert wrong >= 6


def _differs(value: Any, expected: Any) -> bool:
    try:
        test_entries_of_a_list(value, expected)
    except (AssertionError, ValueError):
        return True
    return False


# ---------------------------------------------------------------------- for people


def test_repr_shows_what_is_in_force() -> None:
    with config.patch(solver="z3"):
        assert repr(config) == (
            "config(specialize_zero_one=True, backed_size_oblivious=False, duck_shape=False,"
            " aggressive_guard_free_semantics=0, do_not_emit_stack_traces=False, solver='z3',"
            " dynamic_sources=None, unbacked_sources=None, static_sources=None, recompile_limit=8,"
            " segment_limit=64, regions='auto', audit=False, stance='default', profile_store=None,"
            " agree=None, profile=None, logs=None, trace=None)"
        )


def test_dir_lists_the_settings() -> None:
    assert dir(config) == sorted([*SETTINGS, "patch"])


def test_python_may_look_for_its_own_attributes() -> None:
    assert not hasattr(config, "__wrapped__")


def test_hasattr_answers_for_an_unknown_setting() -> None:
    assert hasattr(config, "solver")
    assert not hasattr(config, "no_such_setting")
