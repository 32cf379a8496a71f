"""State of tensors besides shape, dtype and device: as in eager execution, by guard or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.errors import ArgumentError, ConstraintError, UnsupportedError
from anyshape.export import export, load
from tests.differential.every_mode import MODES, Program, check

if TYPE_CHECKING:
    from pathlib import Path


def leaf() -> tuple[Any]:
    return (torch.ones(3, requires_grad=True),)


def inner() -> tuple[Any]:
    return (torch.ones(3, requires_grad=True) * 1,)


def with_gradient() -> tuple[Any]:
    t = torch.ones(3, requires_grad=True)
    t.sum().backward()
    return (t,)


def in_inference() -> tuple[Any]:
    with torch.inference_mode():
        return (torch.ones(3),)


def having(value: Any) -> Any:
    def make() -> tuple[Any]:
        t = torch.ones(3)
        t.foo = value  # type: ignore[attr-defined]
        return (t,)

    return make


def plain() -> tuple[Any]:
    return (torch.ones(3),)


def about(fn: Any, *calls: Any, traced: bool = True) -> Program:
    return Program(lambda: fn, calls, traced)


def on_parameter(fn: Any, change: Any, traced: bool = True) -> Program:
    """A program over a parameter that changes after the first call."""

    def make() -> Any:
        p = nn.Parameter(torch.ones(3, 2))

        def prepare(i: int) -> None:
            if i:
                change(p, i)

        return lambda x: fn(x, p), prepare

    calls = tuple(lambda: (torch.ones(3, 2),) for _ in range(3))
    return Program(make, calls, traced)


def set_gradient(p: Any, i: int) -> None:
    p.grad = torch.ones(3, 2) * i


def set_transposed(p: Any, i: int) -> None:
    p.data = torch.ones(2, 3).t()


PROGRAMS = {
    "x.grad": about(
        lambda x: x * 2 if x.grad is None else x.grad * 10, leaf, with_gradient, traced=False
    ),
    "x.is_leaf": about(lambda x: x * 2 if x.is_leaf else x + 10, leaf, inner),
    "x.grad_fn": about(lambda x: x * 2 if x.grad_fn is None else x + 10, leaf, inner, traced=False),
    "type of grad_fn": about(
        lambda x: x * 2 if "Mul" in type(x.grad_fn).__name__ else x + 10,
        inner,
        lambda: (torch.ones(3, requires_grad=True) + 1,),
        traced=False,
    ),
    "x.retains_grad": about(lambda x: x * 2 if x.retains_grad else x + 10, leaf, inner),
    "x._base": about(
        lambda x: x * 2 if x._base is None else x + 10,
        plain,
        lambda: (torch.ones(6)[:3],),
        traced=False,
    ),
    "x._is_view()": about(
        lambda x: x + 10 if x._is_view() else x * 2, plain, lambda: (torch.ones(6)[:3],)
    ),
    "x.is_inference()": about(lambda x: x + 10 if x.is_inference() else x * 2, plain, in_inference),
    "x.is_neg()": about(
        lambda x: x + 10 if x.is_neg() else x * 2,
        plain,
        lambda: (torch.ones(3, dtype=torch.complex64).conj().imag,),
    ),
    "x.is_conj()": about(
        lambda x: x + 10 if x.is_conj() else x * 2,
        lambda: (torch.ones(3, dtype=torch.complex64),),
        lambda: (torch.ones(3, dtype=torch.complex64).conj(),),
    ),
    "x.foo": about(lambda x: x * x.foo, having(1), having(2), having(2.0), having(True)),
    "x.foo or not": about(lambda x: x * getattr(x, "foo", 10), plain, having(2), having(4)),
    "hasattr": about(lambda x: x * 3 if hasattr(x, "foo") else x + 1, plain, having(2), plain),
    "no attribute": about(lambda x: x * x.foo, having(2), plain),
    "p.grad": on_parameter(lambda x, p: x if p.grad is None else x + p.grad * 10, set_gradient),
    "p.requires_grad": on_parameter(
        lambda x, p: x * 2 if p.requires_grad else x + 10, lambda p, _: p.requires_grad_(False)
    ),
    "requires_grad of a result": on_parameter(
        lambda x, p: x * 2 if (x * p).requires_grad else x + 10,
        lambda p, _: p.requires_grad_(False),
    ),
    "p.is_contiguous()": on_parameter(
        lambda x, p: x * p if p.is_contiguous() else x * p + 10, set_transposed
    ),
    "p.stride()": on_parameter(lambda x, p: (x * p.stride(0), p.storage_offset()), set_transposed),
    "stride of a result": on_parameter(lambda x, p: (p * 2).stride() + x.shape, set_transposed),
    "sparse": about(
        lambda x: x.to_dense() + 10 if x.is_sparse else x * 2,
        lambda: (torch.eye(3),),
        lambda: (torch.eye(3).to_sparse(),),
        lambda: (torch.eye(3),),
    ),
    "mkldnn": about(
        lambda x: x.to_dense() + 1 if x.is_mkldnn else x * 2,
        lambda: (torch.eye(3),),
        lambda: (torch.eye(3).to_mkldnn(),),
    ),
    "quantized": about(
        lambda x: x.dequantize() * 2 if x.is_quantized else x + 10,
        lambda: (torch.eye(3),),
        lambda: (torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),),
        lambda: (torch.quantize_per_tensor(torch.eye(3), 0.2, 0, torch.qint8),),
    ),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_state(name: str, mode: Any) -> None:
    check(PROGRAMS[name], mode)


class Twice(torch.Tensor):
    @property
    def doubled(self) -> Any:
        return self * 2

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("dynamic", [None, True, False, "unbacked"])
def test_strange_tensors_run_eagerly_and_others_go_on(dynamic: Any) -> None:
    def fn(x: Any) -> Any:
        if x.is_nested:
            return x.to_padded_tensor(0.0)
        return x.doubled if hasattr(x, "doubled") else x * 3

    compiled = anyshape.compile(fn, dynamic=dynamic)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
        nested = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
        assert torch.equal(compiled(nested), torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        special = compiled(torch.ones(3).as_subclass(Twice))
        assert type(special) is Twice
        assert special.sum().item() == 6
    assert compiled.eager_because is None
    assert compiled.stats.traces == 1


def test_an_exported_program_refuses_strange_tensors() -> None:
    with pytest.raises(ArgumentError, match="x is of class Twice"):
        export(lambda x: x * 2, (torch.ones(3).as_subclass(Twice),))
    program = export(lambda x: x * 2, (torch.ones(3, 3),))
    with pytest.raises(ConstraintError, match=r"x is torch\.sparse_coo of"):
        program(torch.eye(3).to_sparse())
    with pytest.raises(ArgumentError, match="no sizes"):
        program(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]))


def test_constants_of_classes_with_their_own_ops_are_refused() -> None:
    special = torch.ones(3).as_subclass(Twice)
    fn = anyshape.compile(lambda x: special + x)
    assert type(fn(torch.ones(3))) is Twice
    assert "break: a constant of class Twice" in fn.explain()


def test_a_subclass_of_parameter_is_a_constant_as_any_other() -> None:
    class Scale(nn.Parameter):
        pass

    scale = Scale(torch.ones(3))
    fn = anyshape.compile(lambda x: scale * x)
    assert torch.equal(fn(torch.ones(3)), torch.ones(3))
    assert fn.eager_because is None


def test_a_guard_on_state_explains_itself() -> None:
    fn = anyshape.compile(lambda x: x * 2 if x.is_leaf else x + 10)
    fn(*leaf())
    fn(*inner())
    assert "is_leaf of x is False; it was True while tracing" in str(fn.recompilations[-1])


def test_state_observed_after_a_break_is_checked_when_the_program_runs() -> None:
    def fn(x: Any) -> Any:
        if x.sum() > 0:
            return x * getattr(x, "foo", 10)
        return x

    compiled = anyshape.compile(fn)
    assert compiled(*plain()).sum().item() == 30
    with pytest.raises(anyshape.errors.RuntimeAssertError, match="attribute foo"):
        compiled(*having(2)())


def test_a_program_that_depends_on_state_of_its_inputs_is_not_saved(tmp_path: Path) -> None:
    program = export(lambda x: x * 2 if x._is_view() else x + 1, (torch.ones(3),))
    with pytest.raises(UnsupportedError, match="state of its tensors"):
        program.save(tmp_path / "p.anyshape")
    weight = nn.Parameter(torch.ones(3))
    program = export(lambda x: x * weight if weight.requires_grad else x, (torch.ones(3),))
    program.save(tmp_path / "p.anyshape")
    assert torch.equal(load(tmp_path / "p.anyshape")(torch.ones(3)), torch.ones(3))
