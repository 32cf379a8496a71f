"""Planted bugs that the comparison with eager execution must find, and none where there is none."""

from __future__ import annotations

import contextlib
import copy
import io
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import AnyshapeError, ShapeError
from anyshape.torch_compat.process_flag import read_flags, set_flags
from tests.differential.hostile import run as runner
from tests.differential.hostile.run import Outcome, run

if TYPE_CHECKING:
    from collections.abc import Callable


class StandIn:
    """A compiler that runs the function itself."""

    eager_because = None

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        self.fn = fn
        self.entries: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


class Deaf(StandIn):
    """Sees sizes and nothing else: what was outside at the first call stays."""

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        super().__init__(fn)
        self.kept: dict[Any, Any] = {}

    def __call__(self, x: torch.Tensor) -> Any:
        factors = self.kept.setdefault(x.shape, self.fn(x.clone()) / x)
        return x * factors


class Quiet(StandIn):
    """Keeps what a function prints."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            return self.fn(*args, **kwargs)


class Copies(StandIn):
    """Works on copies: no argument is changed, and none comes back."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*copy.deepcopy(args), **kwargs)


class Draws(StandIn):
    """Draws a random number too many."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        torch.rand(1)
        return self.fn(*args, **kwargs)


class Twice(StandIn):
    """Has every effect twice."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.fn(*copy.deepcopy(args), **kwargs)
        return self.fn(*args, **kwargs)


class Detaches(StandIn):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs).detach()


class Remembers(StandIn):
    """Gives one object back on every call."""

    result: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.result = self.result if self.result is not None else self.fn(*args, **kwargs)
        return self.result


class Frozen(StandIn):
    """Gives what the first call of a size gave: state that changes later is not seen."""

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        super().__init__(fn)
        self.kept: dict[Any, Any] = {}

    def __call__(self, x: torch.Tensor) -> Any:
        if x.shape not in self.kept:
            self.kept[x.shape] = self.fn(x)
        return copy.deepcopy(self.kept[x.shape])


class PutsBack(StandIn):
    """Leaves the settings of the process as they were."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = read_flags()
        try:
            return self.fn(*args, **kwargs)
        finally:
            set_flags(before)


class Raises(StandIn):
    error: Exception = KeyError("planted")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error


class Refuses(Raises):
    error = AnyshapeError("planted")


class WrongShape(Raises):
    error = ShapeError("planted")


class Sleeps(StandIn):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(60)


def outcome(program: str, stand_in: Callable[..., Any]) -> Outcome:
    kind, _, name = program.partition("/")
    return run(kind, name, "None", stand_in)


@pytest.mark.parametrize(
    ("program", "stand_in", "kind"),
    [
        ("reads/global_number", Deaf, "DIFFERENT"),
        ("implicit/add", Deaf, "DIFFERENT"),
        ("reads/global_number", Copies, "same"),
        ("reads/global_number", Draws, "DIFFERENT"),
        ("reads/global_number", Remembers, "DIFFERENT"),
        ("reads/global_number", Raises, "crash"),
        ("reads/global_number", Refuses, "refused"),
        ("reads/global_number", WrongShape, "DIFFERENT"),
        ("absent/hasattr_of_an_object", Copies, "DIFFERENT"),  # the result is the argument
        ("absent/pop_with_a_default", Twice, "DIFFERENT"),
        ("writes/counter_of_an_object", Twice, "DIFFERENT"),
        ("writes/dict_argument_gets_a_key", Copies, "DIFFERENT"),
        ("output/print_text", Quiet, "DIFFERENT"),
        ("output/log_text", Twice, "DIFFERENT"),
        ("autograd/function_applied", Detaches, "DIFFERENT"),
        ("methods/container_made_inside", Remembers, "DIFFERENT"),
        ("raises/error_that_escapes", Raises, "crash"),
        ("settings/mkldnn_left", PutsBack, "DIFFERENT"),
        ("settings/deterministic_left", PutsBack, "DIFFERENT"),
        ("settings/null", PutsBack, "same"),
        ("hidden/descriptor_with_a_name", Frozen, "DIFFERENT"),
        ("hidden/chain_map_child", Frozen, "DIFFERENT"),
        ("inspected/signature", Frozen, "DIFFERENT"),
        ("inspected/signature_of_a_library", Frozen, "same"),
        ("unbound/proxy", Frozen, "DIFFERENT"),
        ("unbound/random", Frozen, "DIFFERENT"),
        ("protocols/call_that_an_instance_has", Frozen, "DIFFERENT"),
        ("iterators/iterator_of_the_users_goes_on", Frozen, "DIFFERENT"),
        ("failures/retried_until_it_works", Frozen, "DIFFERENT"),
        ("numbers/fractions_of_sizes", Frozen, "DIFFERENT"),
        ("memory/attribute_of_a_tensor_from_outside", Frozen, "DIFFERENT"),
        ("size_arithmetic/queue_of_sizes", Frozen, "DIFFERENT"),
        ("argument_forms/written_and_read", Copies, "DIFFERENT"),
        ("structures_returned/tuples_of_sizes_as_keys", Remembers, "DIFFERENT"),
        ("training_objects/schedule_by_steps", Frozen, "DIFFERENT"),
        ("aliased_writes/argument_through_a_view", Copies, "DIFFERENT"),
    ],
)
def test_a_planted_bug_is_found(program: str, stand_in: Any, kind: str) -> None:
    found = outcome(program, stand_in)
    assert found.kind == kind, found.about


@pytest.mark.parametrize("kind", [kind for kind in runner.classes() if kind != "exports"])
def test_nothing_is_found_where_nothing_is_wrong(kind: str) -> None:
    """A program against itself: both executions are independent and repeatable."""
    found = {name: outcome(f"{kind}/{name}", StandIn) for name in runner.names(kind)}
    assert {name: o for name, o in found.items() if o.kind != "same"} == {}


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SECONDS", 0.2)
    found = outcome("reads/global_number", Sleeps)
    assert found.kind == "crash"
    assert "hangs" in found.about
