"""Decompositions and solvers of matrices, with the strides that LAPACK leaves.

Unless stated otherwise, the last two dimensions are a matrix, the others a batch, and the result is
column-major.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from anyshape.errors import DimError, RuntimeAssertError, ShapeError
from anyshape.rules.dispatch.result import Instead, Many
from anyshape.rules.dispatch.return_type import named
from anyshape.rules.dispatch.table import rule
from anyshape.rules.reduction import reduced
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import dim_of, dims_of, is_tensor, meta_of, shape_of
from anyshape.rules.shared.promote import complex_of, floating, real_of, result_dtype
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    ask,
    expect,
    expect_equal,
    larger,
    plain,
    product,
    smaller,
    text,
)


def _matrix(op: str, x: Any) -> Meta:
    meta = meta_of(x)
    if len(meta.shape) < 2:
        raise DimError(f"{op}: the input must be at least 2-D, got {text(meta.shape)}")
    return meta


def _square(op: str, x: Any) -> Meta:
    meta = _matrix(op, x)
    n, m = meta.shape[-2:]
    expect_equal(n, m, lambda: f"{op}: a matrix of {text(n)} by {text(m)} is not square")
    return meta


def column_major(shape: tuple[Any, ...], dtype: torch.dtype) -> Meta:
    """A result whose matrices are column-major."""
    rank = len(shape)
    if rank < 2:
        return Meta(shape, dtype)
    return Meta(shape, dtype, Layout(order=(*range(rank - 2), rank - 1, rank - 2)))


# ---------------------------------------------------------------------- one matrix


@rule("linalg_cholesky", "linalg_inv", "inverse", "cholesky", "cholesky_inverse")
def cholesky(x: Any, upper: bool = False) -> Any:
    """A factor or the inverse of a square matrix."""
    meta = _square("cholesky or inverse", x)
    return column_major(meta.shape, meta.dtype)


def _with_info(name: str) -> Any:
    kind = named(name)

    def factor(x: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
        meta = _square(name, x)
        info = Meta(meta.shape[:-2], torch.int32)
        return Many([column_major(meta.shape, meta.dtype), info], kind)

    return factor


for _name in ("linalg_cholesky_ex", "linalg_inv_ex"):
    rule(_name)(_with_info(_name))


@rule("linalg_det", "det", "logdet")
def det(x: Any) -> Any:
    """A number for each matrix."""
    meta = _square("det", x)
    return Meta(meta.shape[:-2], meta.dtype)


def _sign_and_log(name: str) -> Any:
    kind = named(name)

    def slogdet(x: Any) -> Any:
        meta = _square("slogdet", x)
        batch = meta.shape[:-2]
        return Many([Meta(batch, meta.dtype), Meta(batch, real_of(meta.dtype))], kind)

    return slogdet


for _name in ("linalg_slogdet", "slogdet"):
    rule(_name)(_sign_and_log(_name))


@rule("linalg_matrix_exp", "matrix_exp")
def matrix_exp(x: Any) -> Any:
    """The exponential of a matrix."""
    meta = _square("matrix_exp", x)
    return Meta(meta.shape, meta.dtype)


@rule("linalg_matrix_power", "matrix_power")
def matrix_power(x: Any, n: int) -> Any:
    """A product of a matrix with itself; of its inverse for a negative power."""
    meta = _square("matrix_power", x)
    return column_major(meta.shape, meta.dtype) if n == -1 else Meta(meta.shape, meta.dtype)


# ---------------------------------------------------------------------- eigenvalues


@rule("linalg_eig")
def eig(x: Any) -> Any:
    """Eigenvalues and eigenvectors, complex."""
    meta = _square("eig", x)
    dtype = complex_of(meta.dtype)
    parts = [Meta(meta.shape[:-1], dtype), column_major(meta.shape, dtype)]
    return Many(parts, named("linalg_eig"))


@rule("linalg_eigvals")
def eigvals(x: Any) -> Any:
    """Eigenvalues, complex."""
    meta = _square("eigvals", x)
    return Meta(meta.shape[:-1], complex_of(meta.dtype))


@rule("linalg_eigh")
def eigh(x: Any, UPLO: str = "L") -> Any:  # noqa: N803  torch's name
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    meta = _square("eigh", x)
    parts = [Meta(meta.shape[:-1], real_of(meta.dtype)), column_major(meta.shape, meta.dtype)]
    return Many(parts, named("linalg_eigh"))


@rule("linalg_eigvalsh")
def eigvalsh(x: Any, UPLO: str = "L") -> Any:  # noqa: N803  torch's name
    """Eigenvalues of a Hermitian matrix."""
    meta = _square("eigvalsh", x)
    return Meta(meta.shape[:-1], real_of(meta.dtype))


# ---------------------------------------------------------------------- factors


def _sides(meta: Meta) -> tuple[tuple[Any, ...], Any, Any, Any]:
    m, n = meta.shape[-2:]
    return meta.shape[:-2], m, n, smaller(m, n)


@rule("linalg_svd")
def svd(x: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """Singular values and vectors."""
    meta = _matrix("svd", x)
    batch, m, n, k = _sides(meta)
    parts = [
        column_major((*batch, m, m if full_matrices else k), meta.dtype),
        Meta((*batch, k), real_of(meta.dtype)),
        column_major((*batch, n if full_matrices else k, n), meta.dtype),
    ]
    return Many(parts, named("linalg_svd"))


@rule("svd")
def old_svd(x: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors; the right ones are transposed."""
    meta = _matrix("svd", x)
    batch, m, n, k = _sides(meta)
    values = Meta((*batch, k), real_of(meta.dtype))
    if not compute_uv:
        left, right = Meta((*batch, m, m), meta.dtype), column_major((*batch, n, n), meta.dtype)
    else:
        left = column_major((*batch, m, k if some else m), meta.dtype)
        right = Meta((*batch, n, k if some else n), meta.dtype)
    return Many([left, values, right], named("svd"))


@rule("linalg_svdvals")
def svdvals(x: Any, *, driver: Any = None) -> Any:
    """Singular values."""
    meta = _matrix("svdvals", x)
    return Meta((*meta.shape[:-2], _sides(meta)[3]), real_of(meta.dtype))


@rule("linalg_qr")
def qr(x: Any, mode: str = "reduced") -> Any:
    """An orthogonal matrix and a triangular one."""
    meta = _matrix("qr", x)
    batch, m, n, k = _sides(meta)
    rows = m if mode == "complete" else k
    q = Meta((0,), meta.dtype) if mode == "r" else column_major((*batch, m, rows), meta.dtype)
    return Many([q, column_major((*batch, rows, n), meta.dtype)], named("linalg_qr"))


@rule("geqrf")
def geqrf(x: Any) -> Any:
    """The factors of a QR decomposition as LAPACK gives them."""
    meta = _matrix("geqrf", x)
    batch, _, _, k = _sides(meta)
    parts = [column_major(meta.shape, meta.dtype), Meta((*batch, k), meta.dtype)]
    return Many(parts, named("geqrf"))


@rule("linalg_lu")
def lu(x: Any, *, pivot: bool = True) -> Any:
    """A permutation, a lower and an upper triangle."""
    meta = _matrix("lu", x)
    batch, m, n, k = _sides(meta)
    p = Meta((*batch, m, m) if pivot else (0,), meta.dtype)
    parts = [p, Meta((*batch, m, k), meta.dtype), Meta((*batch, k, n), meta.dtype)]
    return Many(parts, named("linalg_lu"))


@rule("linalg_lu_factor")
def lu_factor(x: Any, *, pivot: bool = True) -> Any:
    """Both triangles in one matrix, and the pivots."""
    meta = _matrix("lu_factor", x)
    batch, _, _, k = _sides(meta)
    parts = [column_major(meta.shape, meta.dtype), Meta((*batch, k), torch.int32)]
    return Many(parts, named("linalg_lu_factor"))


@rule("linalg_lu_factor_ex")
def lu_factor_ex(x: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """The same, with the error codes of LAPACK."""
    found = lu_factor(x)
    parts = [*found.parts, Meta(meta_of(x).shape[:-2], torch.int32)]
    return Many(parts, named("linalg_lu_factor_ex"))


# ---------------------------------------------------------------------- equations


def _is_vector(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether the right side is one vector for each matrix; undecided sizes must then match."""
    if len(b) == 1:
        return True
    if len(b) != len(a) - 1:
        return False
    for n, m in zip(a[:-1], b, strict=True):
        if not ask(n == m, True):
            return False
    for n, m in zip(a[:-1], b, strict=True):
        expect_equal(
            n,
            m,
            lambda: (
                f"a right side of shape {text(b)} is a batch of vectors only if it fits {text(a)}"
            ),
        )
    return True


@rule("linalg_solve")
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803  torch's names
    """The solution of a system of equations."""
    a, b = _square("solve", A), meta_of(B)
    vector = _is_vector(a.shape, b.shape)
    sides = (*b.shape, 1) if vector else b.shape
    inner = sides[-2] if left else sides[-1]
    expect_equal(
        a.shape[-1],
        inner,
        lambda: f"solve: shapes {text(a.shape)} and {text(b.shape)} do not fit",
    )
    batch = broadcast(a.shape[:-2], sides[:-2])
    shape = (*batch, sides[-2]) if vector else (*batch, *sides[-2:])
    return column_major(shape, b.dtype) if left else Meta(shape, b.dtype)


@rule("linalg_tensorinv")
def tensorinv(x: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a matrix of its first `ind` dimensions and the others."""
    meta = meta_of(x)
    left, right = meta.shape[:ind], meta.shape[ind:]
    expect_equal(
        product(left),
        product(right),
        lambda: f"tensorinv: a tensor of shape {text(meta.shape)} is not square at {ind}",
    )
    order = (*range(len(right), len(meta.shape)), *range(len(right)))
    return Meta((*right, *left), meta.dtype, Layout(order=order))


@rule("linalg_tensorsolve")
def tensorsolve(x: Any, other: Any, dims: Any = None) -> Any:
    """The solution of a system whose unknowns and right sides are tensors."""
    a, b = meta_of(x), meta_of(other)
    moved = dims_of(dims, len(a.shape)) if dims is not None else ()
    shape = [n for d, n in enumerate(a.shape) if d not in moved]
    shape += [a.shape[d] for d in moved]
    unknowns = tuple(shape[len(b.shape) :])
    expect_equal(
        product(unknowns),
        product(b.shape),
        lambda: f"tensorsolve: shapes {text(a.shape)} and {text(b.shape)} do not fit",
    )
    return Meta(unknowns, b.dtype)


def _lstsq_with_residuals(*args: Any, **kwargs: Any) -> Any:
    """Least squares for matrices of full rank; torch returns residuals only for those."""
    found = torch.linalg.lstsq(*args, **kwargs)
    if found.residuals.dim() == 1 and not found.residuals.numel():
        raise RuntimeAssertError("lstsq: a matrix without full rank has no residuals")
    return found


@rule("linalg_lstsq")
def lstsq(x: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """Least squares: the solution, the residuals, the ranks and the singular values."""
    right = b
    a, b = _matrix("lstsq", x), meta_of(b)
    vector = _is_vector(a.shape, b.shape)
    sides = (*b.shape, 1) if vector else b.shape
    expect_equal(
        a.shape[-2],
        sides[-2],
        lambda: f"lstsq: shapes {text(a.shape)} and {text(b.shape)} do not fit",
    )
    batch = broadcast(a.shape[:-2], sides[:-2])
    m, n = a.shape[-2:]
    rows, columns = larger(m, n), sides[-1]
    strides: list[Any] = [1] if vector else [1, rows]
    step = plain(rows * columns)
    for size in reversed(batch):
        strides.insert(0, step)
        step = plain(step * size)
    shape = (*batch, n) if vector else (*batch, n, columns)
    driver = driver or "gelsy"
    tall = driver != "gelsy" and ask(m > n, True)
    if driver != "gelsy":
        expect(
            m > n if tall else m <= n,
            lambda: "lstsq: residuals are given for more rows than columns only",
        )
    none = Meta((0,), real_of(a.dtype))
    values = driver in ("gelsd", "gelss")
    parts = [
        Meta(shape, a.dtype, Layout(strides=tuple(strides))),
        Meta((*batch, columns), real_of(a.dtype)) if tall else none,
        Meta((0,) if driver == "gels" else a.shape[:-2], torch.int64),
        Meta((*a.shape[:-2], smaller(m, n)), real_of(a.dtype)) if values else none,
    ]
    out = Many(parts, named("linalg_lstsq"))
    if tall and values:
        return Instead(_lstsq_with_residuals, (x, right, rcond), out, driver=driver)
    return out


# ---------------------------------------------------------------------- norms and products


@rule("linalg_matrix_norm")
def matrix_norm(
    x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A norm of matrices."""
    meta = _matrix("matrix_norm", x)
    if len(dims_of(dim, len(meta.shape))) != 2:
        raise ShapeError("linalg.matrix_norm: dim must be a 2-tuple of ints")
    return Meta(reduced(meta.shape, dim, keepdim), real_of(dtype or meta.dtype))


@rule("linalg_norm")
def norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A norm of vectors or matrices."""
    meta = meta_of(x)
    return Meta(reduced(meta.shape, dim, keepdim), real_of(dtype or meta.dtype))


@rule("linalg_multi_dot", "chain_matmul")
def multi_dot(tensors: Any, *more: Any) -> Any:
    """A product of matrices; the first and the last may be vectors."""
    given = [tensors, *more] if is_tensor(tensors) else list(tensors)
    shapes = [shape_of(t) for t in given]
    if len(shapes) < 2:
        raise ShapeError("multi_dot(): expected at least 2 tensors")
    for a, b in itertools.pairwise(shapes):
        expect_equal(a[-1], b[0], lambda: f"multi_dot: shapes {text(shapes)} do not fit")
    left = shapes[0][:-1]
    right = shapes[-1][1:]
    return Meta((*left, *right), meta_of(given[0]).dtype)


@rule("kron")
def kron(x: Any, other: Any) -> Any:
    """Each element times the whole other tensor."""
    a, b = shape_of(x), shape_of(other)
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    shape = tuple([plain(n * m) for n, m in zip(a, b, strict=True)])
    return Meta(shape, result_dtype(x, other))


@rule("linalg_cross")
def cross(x: Any, other: Any, *, dim: Any = -1) -> Any:
    """The cross product of vectors with 3 elements."""
    shape = broadcast(shape_of(x), shape_of(other))
    n = shape[dim_of(dim, len(shape))]
    expect_equal(n, 3, lambda: f"cross: expected a dimension of 3 elements, got {text(n)}")
    return Meta(shape, result_dtype(x, other), CONTIGUOUS)


# ---------------------------------------------------------------------- statistics


@rule("cov")
def cov(x: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of the rows."""
    return _between_rows(x, "cov", aweights)


@rule("corrcoef")
def corrcoef(x: Any) -> Any:
    """The correlations of the rows."""
    return _between_rows(x, "corrcoef", None)


def _between_rows(x: Any, op: str, weights: Any) -> Meta:
    meta = meta_of(x)
    dtype = floating(meta.dtype if weights is None else result_dtype(x, weights))
    if len(meta.shape) > 2:
        raise ShapeError(f"{op}: expected at most two dimensions, got {text(meta.shape)}")
    if len(meta.shape) < 2:
        return Meta((), dtype)
    n = meta.shape[0]
    if not ask(n != 1, True):
        return Meta((), dtype)
    expect(n != 1, lambda: f"{op}: with one row the result has no dimensions")
    return Meta((n, n), dtype)


@rule("gradient")
def gradient(x: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    """Estimates of the derivatives along dimensions."""
    meta = meta_of(x)
    rank = len(meta.shape)
    if dim is None and isinstance(spacing, tuple | list) and spacing and rank != len(spacing):
        raise ShapeError("gradient: expected one spacing for each dimension")
    dims = dims_of(dim, rank)
    for d in dims:
        n = meta.shape[d]
        expect(
            n >= edge_order + 1,
            lambda: f"gradient: shape {text(meta.shape)} has a size below {edge_order + 1}",
        )
    return Many([Meta(meta.shape, floating(meta.dtype)) for _ in dims])


@rule("hash_tensor")
def hash_tensor(x: Any, dim: Any = (), keepdim: bool = False, *, mode: int = 0) -> Any:
    """A hash of the elements."""
    return Meta(reduced(shape_of(x), dim, keepdim), torch.uint64)
