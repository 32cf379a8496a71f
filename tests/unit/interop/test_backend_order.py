"""Kernels that use a number of the run wait for the checks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch._inductor.ir import AssertScalar
from torch.utils._sympy.symbol import SymT, make_symbol

from anyshape.interop.inductor import ChecksFirst

if TYPE_CHECKING:
    import sympy


class Scheduler:
    def __init__(self) -> None:
        self.updates = 0

    def compute_ancestors(self) -> None:
        self.updates += 1


class Step:
    """What the pass needs of a node of Inductor's scheduler."""

    def __init__(self, name: str, ir: Any, scheduler: Scheduler) -> None:
        self.name = name
        self.node = ir
        self.scheduler = scheduler
        self.waits_for: list[str] = []

    def get_first_name(self) -> str:
        return self.name

    def add_fake_dep(self, dep: Any) -> None:
        self.waits_for.append(dep.name)


class Kernel:
    def __init__(self, *symbols: sympy.Symbol) -> None:
        self.symbols = set(symbols)

    def get_free_symbol_uses(self, unbacked_only: bool) -> set[sympy.Symbol]:
        assert unbacked_only
        return self.symbols


def check_of(symbol: sympy.Symbol, name: str) -> AssertScalar:
    check = object.__new__(AssertScalar)  # its own constructor needs a graph of Inductor's
    check.scalar = symbol <= 9
    check.name = name
    return check


def test_uses_wait_for_the_checks_before_them() -> None:
    u, v = (make_symbol(SymT.UNBACKED_INT, i, integer=True) for i in range(2))
    scheduler = Scheduler()
    irs = [Kernel(u), check_of(u, "check_u"), Kernel(u, v), Kernel(v), check_of(v, "check_v")]
    irs += [Kernel(u, v), Kernel()]
    steps = [Step(f"op{i}", ir, scheduler) for i, ir in enumerate(irs)]
    order = list(steps)
    assert ChecksFirst()(steps) == order
    waits = [set(step.waits_for) for step in steps]
    assert waits == [set(), set(), {"check_u"}, set(), set(), {"check_u", "check_v"}, set()]
    assert scheduler.updates == 1


def test_without_checks_nothing_waits() -> None:
    scheduler = Scheduler()
    steps = [Step("op0", Kernel(make_symbol(SymT.UNBACKED_INT, 0, integer=True)), scheduler)]
    ChecksFirst()(steps)
    assert not steps[0].waits_for
    assert scheduler.updates == 0
