"""Settings: patches nest, are undone, belong to a thread and a context; wrong ones are refused."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from anyshape import ConfigError, ShapeEnv, config
from anyshape.config import SETTINGS, Config


def test_defaults() -> None:
    assert config.specialize_zero_one is True
    assert config.backed_size_oblivious is False
    assert config.duck_shape is False
    assert config.aggressive_guard_free_semantics == 0
    assert config.do_not_emit_stack_traces is False
    assert config.solver is None
    assert dir(config) == sorted([*SETTINGS, "patch"])
    assert repr(config).startswith("config(specialize_zero_one=True, ")
    assert all(s.default in s.valid and s.about for s in SETTINGS.values())


def test_patches_nest() -> None:
    with config.patch(duck_shape=True, solver="z3"):
        with config.patch(duck_shape=False, aggressive_guard_free_semantics=2):
            assert (config.duck_shape, config.solver) == (False, "z3")
            assert config.aggressive_guard_free_semantics == 2
        assert (config.duck_shape, config.solver) == (True, "z3")
        assert config.aggressive_guard_free_semantics == 0
        with config.patch():
            assert config.duck_shape is True
    assert (config.duck_shape, config.solver) == (False, None)


def test_an_exception_undoes_a_patch() -> None:
    class OwnError(Exception):
        pass

    with pytest.raises(OwnError), config.patch(duck_shape=True):
        raise OwnError
    assert config.duck_shape is False

    def stop() -> None:
        with config.patch(duck_shape=True):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert config.duck_shape is False


def test_a_patch_is_a_decorator_too() -> None:
    @config.patch(specialize_zero_one=False)
    def make() -> str:
        return str(ShapeEnv().guards)

    assert make() == "[]"
    assert make() == "[]"
    assert config.specialize_zero_one is True


def test_a_patch_can_be_used_once_only() -> None:
    patch = config.patch(duck_shape=True)
    with patch:
        pass
    with pytest.raises((RuntimeError, AttributeError)), patch:
        pass
    assert config.duck_shape is False


def test_a_patch_belongs_to_its_thread() -> None:
    seen: dict[str, bool] = {}
    inside, finish = threading.Event(), threading.Event()

    def patched() -> None:
        with config.patch(duck_shape=True):
            seen["inside"] = config.duck_shape
            inside.set()
            finish.wait(10)

    thread = threading.Thread(target=patched)
    thread.start()
    assert inside.wait(10)
    seen["other thread"] = config.duck_shape
    finish.set()
    thread.join()
    assert seen == {"inside": True, "other thread": False}
    with config.patch(duck_shape=True), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: config.duck_shape).result() is False
        context = contextvars.copy_context()
        assert pool.submit(context.run, lambda: config.duck_shape).result() is True


def test_a_patch_belongs_to_its_task() -> None:
    async def worker(level: int, started: asyncio.Event, go: asyncio.Event) -> list[int]:
        seen = []
        with config.patch(aggressive_guard_free_semantics=level):
            started.set()
            await go.wait()
            seen.append(config.aggressive_guard_free_semantics)
            seen.append(await asyncio.create_task(child()))
        seen.append(config.aggressive_guard_free_semantics)
        return seen

    async def child() -> int:
        await asyncio.sleep(0)
        return config.aggressive_guard_free_semantics

    async def main() -> list[list[int]]:
        go = asyncio.Event()
        events = [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.create_task(worker(i + 1, e, go)) for i, e in enumerate(events)]
        for event in events:
            await event.wait()
        assert config.aggressive_guard_free_semantics == 0
        go.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [[1, 1, 0], [2, 2, 0]]


def test_assignment_changes_the_default_of_the_process() -> None:
    try:
        config.duck_shape = True
        assert config.duck_shape is True
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: config.duck_shape).result() is True
        with config.patch(duck_shape=False):
            assert config.duck_shape is False
            config.duck_shape = True
            assert config.duck_shape is False  # the patch is nearer
    finally:
        config.duck_shape = False
    assert config.duck_shape is False


WRONG: list[tuple[str, Any]] = [
    ("duck_shape", 1),
    ("duck_shape", None),
    ("duck_shape", "yes"),
    ("specialize_zero_one", 0),
    ("aggressive_guard_free_semantics", True),
    ("aggressive_guard_free_semantics", 3),
    ("aggressive_guard_free_semantics", -1),
    ("aggressive_guard_free_semantics", 1.0),
    ("solver", "z4"),
    ("solver", False),
    ("solver", ["z3"]),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_with_the_valid_ones(name: str, value: Any) -> None:
    before = repr(config)
    with pytest.raises(ConfigError) as caught, config.patch(**{name: value}):
        pytest.fail("the patch took effect")
    assert f"config.{name} cannot be {value!r}" in caught.value.what
    for valid in SETTINGS[name].valid:
        assert repr(valid) in caught.value.fix
    with pytest.raises(ConfigError):
        setattr(config, name, value)
    assert repr(config) == before


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    before = repr(config)
    for use in (
        lambda: config.patch(ducks=True).__enter__(),
        lambda: config.ducks,
        lambda: setattr(config, "ducks", True),
        lambda: setattr(config, "patch", None),
        lambda: config.patch(duck_shape=True, ducks=True).__enter__(),
    ):
        with pytest.raises(ConfigError) as caught:
            use()
        assert all(name in caught.value.fix for name in SETTINGS)
    assert repr(config) == before


def test_python_may_look_for_special_names() -> None:
    with pytest.raises(AttributeError):
        config.__wrapped__  # noqa: B018
    assert not hasattr(config, "__fspath__")


def test_a_planted_global_patch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a patch that changes the process is seen by another thread."""
    from contextlib import contextmanager

    @contextmanager
    def everywhere(self: Config, **settings: Any) -> Any:
        old = dict(self._defaults)
        self._defaults.update(settings)
        yield
        self._defaults.update(old)

    monkeypatch.setattr(Config, "patch", everywhere)
    with pytest.raises(AssertionError):
        test_a_patch_belongs_to_its_thread()
