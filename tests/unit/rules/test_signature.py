"""Every rule takes every call that torch takes; one that does not warns, once."""

from __future__ import annotations

import inspect
import types
import warnings

import pytest
import torch

from anyshape import export
from anyshape.errors import RuleSignatureWarning
from anyshape.rules.dispatch import resolve, stale_rule
from anyshape.rules.dispatch.call_form import normalized, reordered, takes
from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.tensor.sym_tensor import ROWS
from anyshape.torch_compat.aten_op import all_op_names, schemas_named
from anyshape.torch_compat.torch_function import SAME_SIGNATURE_MODULES
from anyshape.trace import capture

resolve.loaded_rules()

# Rules of ops that torch has had since a later release than the oldest supported one.
SINCE = {"F.linear_cross_entropy": "2.13", "_upsample_lanczos2d_aa": "2.12"}
# Methods and functions without a schema.
METHODS = set(
    """
    __bool__ __float__ __getitem__ __index__ __int__ __setitem__ _is_view as_tensor asarray bfloat16
    bool broadcast_shapes byte cdouble cfloat char cpu dim double fill_diagonal float half int
    is_contiguous is_shared long manual_seed ndimension new_tensor numel seed short tensor tolist
    storage_offset type unique F.logsigmoid F.one_hot F.prelu
    """.split()  # noqa: SIM905  a table of names
)


class Parameter:
    """A parameter of torch's, of a schema or of a Python function."""

    def __init__(self, name, required, by_keyword):
        self.name, self.required, self.by_keyword = name, required, by_keyword


def of_schema(schema):
    return [Parameter(a.name, not a.has_default_value(), a.kwarg_only) for a in schema.arguments]


def of_function(func, by_keyword=False):
    return [
        Parameter(p.name, p.default is p.empty, p.kind is p.KEYWORD_ONLY or (by_keyword and i > 0))
        for i, p in enumerate(inspect.signature(func).parameters.values())
    ]


def is_apart(schema):
    """Whether an overload is no form of the op: for named dimensions, which are refused, or an
    `out=` form, whose other arguments are those of the plain one.
    """
    return (
        "ame" in schema.overload_name
        or any(a.name == "names" for a in schema.arguments)
        or any(a.is_out or a.name == "out" for a in schema.arguments)
    )


def signatures(name):
    """torch's signatures of an op, each as its parameters."""
    if name.startswith("F."):
        return [of_function(getattr(torch.nn.functional, name[2:]))]
    known = _registered()
    return [of_function(f, by_keyword=True) for f in python_functions(name)] + [
        of_schema(s)
        for s in schemas_named(f"aten::{name.removeprefix('aten.')}")
        if (s.name, s.overload_name) in known and not is_apart(s)
    ]


def python_functions(name):
    """The Python functions of a name, which hand all their arguments on by keyword."""
    found = [getattr(owner, name, None) for owner in (torch, torch.Tensor)]
    return [
        f
        for f in found
        if isinstance(f, types.FunctionType)
        and f.__module__ in SAME_SIGNATURE_MODULES
        and not any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(f).parameters.values())
    ]


def _registered(_known=[]):  # noqa: B006  computed once
    if not _known:
        _known += [{tuple((n + ".").split(".")[:2]) for n in all_op_names()}]
    return _known[0]


def forms(parameters):
    """All arguments by position, all but the first by keyword, and the required ones alone."""
    first = [p for p in parameters if not p.by_keyword][:1]
    placed = [p for p in parameters if not p.by_keyword]
    named = [p for p in parameters if p.by_keyword]
    yield placed, named
    yield first, [p for p in parameters if p not in first]
    yield [p for p in placed if p.required], [p for p in named if p.required]


def fits(rule, placed, named):
    args, kwargs = normalized(rule.function, (0,) * len(placed), {p.name: 0 for p in named})
    other = reordered(rule.name, args, kwargs)
    return takes(rule.function, *(other or (args, kwargs)))


def missing(name):
    """Whether the installed torch is older than the op."""
    return torch.__version__ < SINCE.get(name, "0")


@pytest.mark.parametrize("name", sorted(RULES.keys() - METHODS))
def test_the_rule_takes_what_torch_takes(name):
    if missing(name):
        assert not hasattr(torch.nn.functional, name.removeprefix("F."))
        return
    found = signatures(name)
    assert found, f"torch has no {name}"
    for parameters in found:
        for placed, named in forms(parameters):
            shown = [p.name for p in placed], [p.name for p in named]
            assert fits(RULES[name], placed, named), f"{name}: {shown}"


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_rule_without_a_schema_is_of_a_function_or_method(name):
    assert name in RULES
    owners = (torch, torch.Tensor, torch.nn.functional)
    names = (name.removeprefix("F."), f"{name}_")
    assert any(hasattr(owner, n) for owner in owners for n in names)


# ---------------------------------------------------------------------- a rule that is out of date


@pytest.fixture
def planted(monkeypatch):
    """A rule for `softmax` that has not heard of `dtype`."""
    found = RULES["softmax"]

    def softmax(x, dim):
        return found.function(x, dim)

    monkeypatch.setitem(RULES, "softmax", Rule("softmax", softmax))
    ROWS.clear()
    yield softmax
    ROWS.clear()
    stale_rule._warned.discard(softmax)


def test_a_rule_that_is_out_of_date_warns_once_and_the_meta_kernel_answers(planted):
    def program(x):
        return torch.softmax(x, 0, dtype=torch.float64), torch.softmax(x, 1, dtype=torch.float64)

    x = torch.randn(3, 4)
    with pytest.warns(RuleSignatureWarning) as caught:
        traced = export(program, (x,), dynamic_shapes=({0: "n"},))
    (warning,) = caught
    text = str(warning.message)
    assert "the shape rule of softmax does not take a call" in text
    assert torch.__version__ in text
    assert f"{planted.__module__}." in text
    assert "(x, dim)" in text
    assert "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor" in text
    assert "test_signature.py" in text
    for n in (1, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(traced(x), program(x))


def test_a_rule_that_takes_the_call_does_not_warn(planted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export(lambda x: torch.softmax(x, 0), (torch.randn(3, 4),))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.softmax(x, 0, torch.float64, 5),
        lambda x: torch.softmax(x, 0, nonsense=1),
        lambda x: torch.mm(x, nonsense=x),
        lambda x: x.mul_(),
        lambda x: x.softmax(0, nonsense=1),
        lambda x: x.sum(1, True, None, 3),
        lambda x: torch.mm(x, x, x, x, out=x),
    ],
)
def test_a_wrong_call_is_the_caller_s_error_and_does_not_warn(program):
    x = torch.ones(3, 3)
    with pytest.raises(TypeError):
        program(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError):
            export(program, (x,))


# ---------------------------------------------------------------------- other forms of a call

X, Y, C = torch.randn(3, 3).double(), torch.randn(3, 3), torch.eye(3) > 0
FORMS = {
    "add(x, alpha, other)": lambda: torch.add(X, 2, Y),
    "x.add(alpha, other)": lambda: X.add(2, Y),
    "aten.add.Scalar(x, other, alpha)": lambda: torch.ops.aten.add.Scalar(X, 2, 3),
    "sub(x, alpha, other)": lambda: torch.sub(X, 2, Y),
    "addcmul(x, value, a, b)": lambda: torch.addcmul(X, 2, Y, Y),
    "addmm(beta, x, alpha, a, b)": lambda: torch.addmm(2, Y, 3, Y, Y),
    "addmm(beta, x, a, b)": lambda: torch.addmm(2, Y, Y, Y),
    "x.addmm(beta, alpha, a, b)": lambda: Y.addmm(2, 3, Y, Y),
    "x.addmm_(beta, a, b)": lambda: Y.clone().addmm_(2, Y, Y),
    "where(c, input=, other=)": lambda: torch.where(C, input=X, other=Y),
    "where(condition=, input=, other=)": lambda: torch.where(condition=C, input=X, other=Y),
    "x.where(c, other)": lambda: X.where(C, Y),
    "polygamma(n, input=)": lambda: torch.polygamma(1, input=Y),
    "searchsorted(s, input=)": lambda: torch.searchsorted(Y[0].sort()[0], input=Y),
    "new_zeros(size=)": lambda: Y.new_zeros(size=(2, 5)),
    "view(size=)": lambda: Y.view(size=(9,)),
    "cholesky(x, upper)": lambda: torch.cholesky(Y @ Y.T + 9 * torch.eye(3), True),
    "histogram(x)": lambda: torch.histogram(Y),
    "hamming_window(n, periodic, alpha=)": lambda: torch.hamming_window(5, True, alpha=0.5),
    "chebyshev(x, n=)": lambda: torch.special.chebyshev_polynomial_t(Y, n=Y),
    "lstsq(input=, b=)": lambda: torch.linalg.lstsq(input=Y, b=Y)[0],
    "tensorsolve(input=, other=)": lambda: torch.linalg.tensorsolve(input=Y, other=Y[0]),
    "sum(axis=, keepdims=)": lambda: torch.sum(Y, axis=0, keepdims=True),
}


@pytest.mark.filterwarnings(
    "ignore::UserWarning:torch", "ignore:This overload", "ignore:torch.chol"
)
@pytest.mark.parametrize("call", FORMS.values(), ids=FORMS)
def test_each_form_of_a_call_has_the_shape_and_dtype_of_eager(call):
    """The first result is measured while tracing, so that the rule alone tells."""
    seen = []

    def program():
        out = call()
        first = out if isinstance(out, torch.Tensor) else out[0]
        seen.append((tuple(first.shape), first.dtype))
        return out

    capture(program, ())
    program()
    assert seen[0] == seen[-1]
