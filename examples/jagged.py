"""Jagged features: lists of all users in one tensor, split by lengths that only the data know."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import anyshape

FEATURES, ITEMS, WIDTH = 4, 100, 8


class Pooled(nn.Module):
    """The sum of the embeddings of each list of each user."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(ITEMS, WIDTH) for _ in range(FEATURES))

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """For each user the sums of all features."""
        parts = torch.split(values, lengths.sum(1).tolist())
        users = torch.arange(lengths.size(1))
        pooled = []
        for table, ids, counts in zip(self.tables, parts, lengths, strict=True):
            owner = torch.repeat_interleave(users, counts, output_size=ids.size(0))
            empty = torch.zeros(lengths.size(1), WIDTH)
            pooled.append(empty.index_add(0, owner, table(ids)))
        return torch.cat(pooled, 1)


def batch(users: int) -> tuple[Tensor, Tensor]:
    """Values and lengths of some users, with many empty lists."""
    lengths = torch.randint(0, 3, (FEATURES, users))
    return torch.randint(0, ITEMS, (int(lengths.sum()),)), lengths


def main() -> None:
    """Export the model, show what it requires, compare it, and show what it refuses."""
    torch.manual_seed(0)
    model = Pooled().eval().requires_grad_(False)
    program = anyshape.export(model, batch(4), dynamic_shapes=({0: "total"}, {1: "users"}))
    print(program.contract())
    print(program.verify(*[batch(users) for users in (0, 1, 2, 3, 50)]))
    values, lengths = batch(3)
    try:
        program(values[1:], lengths)
    except anyshape.RuntimeAssertError as error:
        print(f"one value less is refused: {error.what}")


if __name__ == "__main__":
    main()
