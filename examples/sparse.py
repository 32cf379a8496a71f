"""A model with lists that are mostly empty: one program, not one for each pattern of sizes."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

import anyshape

LISTS, ITEMS, WIDTH = 20, 1000, 16


class Visits(nn.Module):
    """Places that users visited: a list of ids for each kind of place, empty for most users."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(ITEMS, WIDTH) for _ in range(LISTS))
        self.head = nn.Sequential(nn.Linear(LISTS * WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, lists: list[Tensor]) -> Tensor:
        """A score."""
        pooled = [table(ids).sum(0) for table, ids in zip(self.tables, lists, strict=True)]
        score: Tensor = self.head(torch.cat(pooled))
        return score


def user() -> list[Tensor]:
    """Lists of 0, 1 or 2 ids."""
    return [torch.randint(0, ITEMS, (int(n),)) for n in torch.randint(0, 3, (LISTS,))]


def programs(
    model: nn.Module, users: list[list[Tensor]], dynamic: Literal["unbacked"] | None
) -> int:
    """How many programs serve the users, each compared with eager execution."""
    compiled = anyshape.compile(model, dynamic=dynamic, recompile_limit=len(users))
    for lists in users:
        torch.testing.assert_close(compiled(lists), model(lists))
    return int(compiled.stats.traces)


def main() -> None:
    """Count the programs of the default and of unbacked sizes, and export the model."""
    torch.manual_seed(0)
    model = Visits().eval().requires_grad_(False)
    users = [user() for _ in range(30)]
    print(f"{len(users)} users, {LISTS} lists of 0, 1 or 2 entries each")
    print(f"  sizes dynamic once they change: {programs(model, users, None)} programs")
    print(f"  sizes unbacked: {programs(model, users, 'unbacked')} program")

    spec = ([{0: f"visits_{i}"} for i in range(LISTS)],)
    program = anyshape.export(model, (users[0],), dynamic_shapes=spec)
    print(f"exported: {len(program.variants)} variant, complete: {program.is_complete}")
    print(f"equal to eager execution: {bool(program.verify(*[(lists,) for lists in users]))}")


if __name__ == "__main__":
    main()
