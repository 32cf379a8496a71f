"""Of several checks that fail, the first of the program is reported, as in eager execution."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

import anyshape
from anyshape import Dim, RuntimeAssertError, check, export, load
from anyshape.env import Env, Fact, Obligation
from anyshape.env.obligation import in_program_order
from anyshape.export.files import archive
from anyshape.export.files.encode import FORMAT
from anyshape.expr import parse
from anyshape.interop import to_fx
from anyshape.trace import capture


def tightening(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Two checks on one size, of which the second implies the first."""
    n = x.size(0)
    check(n <= 10, "a")
    check(n <= 5, "b")
    return x + 1


def in_order(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Each check is on what became known last."""
    n = x.size(0)
    check(n <= 10, "a")
    check(n <= 5, "b")
    k = m.sum().item()
    check(k <= 8, "d")
    check(k <= 4, "e")
    return x + k


def out_of_order(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Checks on what is known early come after checks on what is known late."""
    n = x.size(0)
    k = m.sum().item()
    j = (m * 2).sum().item()
    check(n <= 10, "a")
    check(j >= 3, "c")
    check(k <= 8, "d")
    check(n <= 5, "b")
    check(k <= 4, "e")
    return x + k + j


def by_an_op(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """An op needs what an earlier check on data does not say."""
    k = m.sum().item()
    check(k <= 4, "e")
    check(x.size(0) <= 7, "a")
    return x.view(2, -1)


PROGRAMS = [tightening, in_order, out_of_order]
CALLS = list(itertools.product((3, 7, 20), (1, 2, 6, 20)))


def outcome(program: Any, n: int, k: int) -> str:
    """The message of the check that a call fails with; empty if it fails with none."""
    try:
        program(torch.ones(n), torch.tensor([k]))
    except RuntimeAssertError as error:
        return error.what
    return ""


def exported(f: Any) -> Any:
    example = (torch.ones(3), torch.tensor([2]))
    return export(f, example, dynamic_shapes=({0: Dim.UNBACKED}, None))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_report_the_check_that_eager_execution_reports(f: Any) -> None:
    eager = [outcome(f, *call) for call in CALLS]
    assert len(set(eager)) > 2
    assert [outcome(exported(f), *call) for call in CALLS] == eager
    compiled = anyshape.compile(f, dynamic="unbacked")
    compiled(torch.ones(3), torch.tensor([2]))
    assert [outcome(compiled, *call) for call in CALLS] == eager


def test_the_short_list_is_what_a_run_tests() -> None:
    program = exported(tightening)
    assert [o.message for o in program.runtime_asserts] == ["b"]
    assert program.code.count("fail(") == 1
    assert "failed" not in exported(in_order).code
    assert exported(out_of_order).code.count("if not") == 3


def test_the_line_is_that_of_the_first_check() -> None:
    with pytest.raises(RuntimeAssertError, match=r"^a") as caught:
        exported(tightening)(torch.ones(20), torch.tensor([1]))
    assert 'check(n <= 10, "a")' in caught.value.why


def test_a_need_of_an_op_waits_for_the_checks_before_it() -> None:
    example = (torch.ones(4), torch.tensor([2]))
    program = export(by_an_op, example, dynamic_shapes=({0: Dim.UNBACKED}, None))
    assert outcome(program, 3, 6) == "e"
    assert outcome(program, 3, 2).startswith("shape [2, -1]")
    assert outcome(program, 9, 6) == "e"
    assert outcome(program, 9, 2) == "a"


def test_a_condition_without_a_value_fails() -> None:
    env = Env()
    env.unbacked(), env.unbacked()
    facts = [Fact(parse(env.pool, text), "check") for text in ("u0 // u1 >= 2", "u0 >= 1")]
    last = Obligation(facts[1], env.knowledge, facts)
    first, is_open = last.first_failing({"u0": 0, "u1": 0})
    assert (first.text, is_open) == ("2 <= u0 // u1", False)
    first, is_open = last.first_failing({"u0": 0})
    assert (first.text, is_open) == ("1 <= u0", True)
    alone = Obligation(facts[1], env.knowledge)
    assert alone.first_failing({"u0": 0}) == (alone, False)


def test_all_conditions_in_the_order_of_the_program() -> None:
    env = Env()
    env.unbacked(), env.unbacked()
    texts = ("u0 >= 1", "u1 >= 1 and u0 >= 2", "u0 >= 1", "u1 >= 5")
    facts = [Fact(parse(env.pool, text), "check") for text in texts]
    listed = [Obligation(fact, env.knowledge, facts) for fact in facts[1:]]
    alone = Obligation(Fact(parse(env.pool, "u1 >= 7"), "check"), env.knowledge)
    found = in_program_order([alone, *listed])
    assert [o.text for o in found] == ["1 <= u0", "1 <= u1", "2 <= u0", "5 <= u1", "7 <= u1"]


# ---------------------------------------------------------------------- two checks, both orders


def loose_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """The second check implies the first, so that the short list has the second alone."""
    k = m.sum().item()
    torch._check(k <= 8, lambda: "k8")
    torch._check(k <= 4, lambda: "k4")
    return x + k


def tight_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    k = m.sum().item()
    torch._check(k <= 4, lambda: "k4")
    torch._check(k <= 8, lambda: "k8")
    return x + k


def data_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """The size is known before the program runs, and checked after what only the run knows."""
    k = m.sum().item()
    torch._check(k <= 4, lambda: "k")
    torch._check(x.size(0) <= 5, lambda: "n")
    return x + k


def size_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    k = m.sum().item()
    torch._check(x.size(0) <= 5, lambda: "n")
    torch._check(k <= 4, lambda: "k")
    return x + k


def younger_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    k, j = m.sum().item(), m.amax().item()
    torch._check(j <= 8, lambda: "j")
    torch._check(k <= 4, lambda: "k")
    return x + k + j


def older_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    k, j = m.sum().item(), m.amax().item()
    torch._check(k <= 4, lambda: "k")
    torch._check(j <= 8, lambda: "j")
    return x + k + j


def product_first(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """A condition with a product is checked after a compiled graph, the other one inside it."""
    k, j = m.sum().item(), m.amax().item()
    torch._check(k * j <= 40, lambda: "product")
    torch._check(k <= 4, lambda: "k")
    return x + k + j


def product_last(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    k, j = m.sum().item(), m.amax().item()
    torch._check(k <= 4, lambda: "k")
    torch._check(k * j <= 10, lambda: "product")
    return x + k + j


def sizes_loose_first(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    torch._check(x.size(0) <= 10, lambda: "n10")
    torch._check(x.size(0) <= 5, lambda: "n5")
    return x + 1


def sizes_tight_first(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    torch._check(x.size(0) <= 5, lambda: "n5")
    torch._check(x.size(0) <= 10, lambda: "n10")
    return x + 1


PAIRS = [
    *[loose_first, tight_first, data_first, size_first, younger_first, older_first],
    *[product_first, product_last, sizes_loose_first, sizes_tight_first],
]


def text(program: Any, n: int, k: int) -> str:
    """The first line of the error of a call; empty if there is none."""
    try:
        program(torch.ones(n), torch.tensor([k]))
    except (RuntimeError, AssertionError) as error:
        return str(error).split("\n")[0]
    return ""


def loaded(f: Any, version: int = FORMAT) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program")
        exported(f).save(path)
        again = load(path)
        again.save(path.with_suffix(".again"))
        assert path.read_bytes() == path.with_suffix(".again").read_bytes()
        if version < FORMAT:
            parts = archive.read_file(path)
            data = json.loads(parts[archive.PROGRAM])
            data["format"] = version
            data["state"] = []
            del data["modules"]
            for variant in data["variants"]:
                del variant["recorded"]
                for node in variant["nodes"]:
                    del node["call"]
            parts[archive.PROGRAM] = json.dumps(data).encode()
            parts[archive.CHECKSUMS] = archive.checksums(parts)
            with path.open("wb") as file:
                archive.write(file, parts)
            again = load(path)
        return again


def as_fx(f: Any) -> Any:
    return to_fx(capture(f, (torch.ones(3), torch.tensor([2])), dynamic="unbacked"))


def compiled_by(**options: Any) -> Any:
    def make(f: Any) -> Any:
        compiled = anyshape.compile(f, **options)
        compiled(torch.ones(3), torch.tensor([2]))
        return compiled

    return make


WAYS = {
    "exported": exported,
    "loaded": loaded,
    "to_fx": as_fx,
    "static": compiled_by(dynamic=False, recompile_limit=20),
    "backed": compiled_by(dynamic=True),
    "backed, fullgraph": compiled_by(dynamic=True, fullgraph=True),
    "backed, aot_eager": compiled_by(dynamic=True, backend="aot_eager"),
    "unbacked": compiled_by(dynamic="unbacked"),
    "unbacked, fullgraph": compiled_by(dynamic="unbacked", fullgraph=True),
    "unbacked, aot_eager": compiled_by(dynamic="unbacked", backend="aot_eager"),
    "unbacked, a graph": compiled_by(dynamic="unbacked", backend=lambda module, _: module),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", PAIRS, ids=lambda f: f.__name__)
def test_the_first_of_two_checks_is_reported_everywhere(f: Any, way: str) -> None:
    eager = [text(f, *call) for call in CALLS]
    assert len(set(eager)) >= 2
    assert [text(WAYS[way](f), *call) for call in CALLS] == eager


@pytest.mark.parametrize("f", [loose_first, younger_first, product_first, data_first])
def test_the_first_of_two_checks_is_reported_by_inductor(f: Any) -> None:
    program = compiled_by(dynamic="unbacked", backend="inductor")(f)
    assert [text(program, *call) for call in CALLS] == [text(f, *call) for call in CALLS]


def test_old_files_report_the_first_assert_that_fails() -> None:
    assert text(loaded(loose_first, 2), 3, 20) == "k4"
    assert text(loaded(data_first, 2), 20, 20) == "k"


def test_a_program_with_effects_before_its_checks_does_them_and_reports_the_first() -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return product_first(x, m)

    program = compiled_by(dynamic="unbacked", backend="aot_eager")(f)
    x = torch.zeros(3)
    with pytest.raises(RuntimeError, match="product"):
        program(x, torch.tensor([20]))
    assert x.tolist() == [1.0] * 3
