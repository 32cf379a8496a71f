"""Kernels and likelihoods of GPyTorch."""

from __future__ import annotations

import gpytorch
import torch

from tests.zoo.case import Case


def kernel() -> Case:
    covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    class Matrix(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.covariance = covariance

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.covariance(x, y).to_dense()

    return Case(
        Matrix(), [(torch.randn(n, 2), torch.randn(m, 2)) for n, m in ((5, 4), (1, 3), (8, 2))]
    )


def matern() -> Case:
    class Matrix(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.covariance = gpytorch.kernels.MaternKernel(nu=1.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.covariance.forward(x, x)

    return Case(Matrix(), [(torch.randn(n, 2),) for n in (5, 2, 8)])


def posterior() -> Case:
    def mean(x: torch.Tensor, y: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        def k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (-torch.cdist(a, b).square()).exp()

        chol = torch.linalg.cholesky(k(x, x) + 0.1 * torch.eye(x.shape[0]))
        return k(new, x) @ torch.cholesky_solve(y[:, None], chol)

    sizes = ((5, 3), (2, 1), (7, 6))
    return Case(mean, [(torch.randn(n, 2), torch.randn(n), torch.randn(m, 2)) for n, m in sizes])


PROGRAMS = {make.__name__: make for make in (kernel, matern, posterior)}
