from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.config import SETTINGS, Config, config
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


DEFAULTS = [
    ("specialize_zero_one", True),
    ("backed_size_oblivious", False),
    ("duck_shape", False),
    ("aggressive_guard_free_semantics", 0),
    ("do_not_emit_stack_traces", False),
    ("solver", None),
]


@pytest.mark.parametrize(("name", "value"), DEFAULTS)
def test_default(name: str, value: Any) -> None:
    assert getattr(config, name) is value
    assert getattr(Config(), name) is value


def test_every_setting_has_a_default_among_its_values_and_a_sentence() -> None:
    assert [name for name, _ in DEFAULTS] == list(SETTINGS)
    for setting in SETTINGS.values():
        assert setting.default in setting.valid
        assert len(setting.about) > 10


# ---------------------------------------------------------------------- patch


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, s in SETTINGS.items() for value in s.valid]
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


# ---------------------------------------------------------------------- for people


def test_repr_shows_what_is_in_force() -> None:
    with config.patch(solver="z3"):
        assert repr(config) == (
            "config(specialize_zero_one=True, backed_size_oblivious=False, duck_shape=False,"
            " aggressive_guard_free_semantics=0, do_not_emit_stack_traces=False, solver='z3')"
        )


def test_dir_lists_the_settings() -> None:
    assert dir(config) == sorted([*SETTINGS, "patch"])


def test_python_may_look_for_its_own_attributes() -> None:
    assert not hasattr(config, "__wrapped__")


def test_hasattr_answers_for_an_unknown_setting() -> None:
    assert hasattr(config, "solver")
    assert not hasattr(config, "no_such_setting")
