"""A detector: how many boxes there are is in the data, and suppression is a loop with a branch."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

import anyshape


def suppress(boxes: Tensor, scores: Tensor, limit: float) -> Tensor:
    """The indices of the boxes that overlap no better one, best first."""
    order = scores.argsort(descending=True)
    boxes = boxes[order]
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(2)
    overlap = shared / (area[:, None] + area - shared)
    ranks = torch.arange(boxes.size(0))
    keep = torch.ones(boxes.size(0), dtype=torch.bool)
    for i in range(boxes.size(0)):
        if keep[i]:
            keep = keep & ~((ranks > i) & (overlap[i] > limit))
    return order[keep]


class Detector(nn.Module):
    """Features of places in, boxes and scores out."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 5)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The boxes that are kept, with their scores."""
        found = self.head(features)
        good = found[:, 4] > 0
        corner, size, scores = found[good, :2], found[good, 2:4].abs() + 0.1, found[good, 4]
        boxes = torch.cat([corner, corner + size], 1)
        kept = suppress(boxes, scores, 0.3)
        return boxes[kept], scores[kept]


def main() -> None:
    """Export the detector, save it, load it, and compare it with eager execution."""
    torch.manual_seed(0)
    model = Detector().eval().requires_grad_(False)
    program = anyshape.export(model, (torch.randn(6, 8),), dynamic_shapes=({0: "places"},))
    print("exported; it branches on data in these lines:")
    print("\n".join(f"  {line}" for line in program.contract().branches))
    calls = [(torch.randn(places, 8),) for places in (0, 1, 2, 7, 60)]
    print(program.verify(*calls))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "detector.any")
        program.save(file)
        loaded = anyshape.load(file)
        print(f"saved in {file.stat().st_size / 1000:.0f} kB, and loaded")
    for (features,) in calls:
        boxes, scores = loaded(features)
        wanted = model(features)
        assert torch.equal(boxes, wanted[0])
        assert torch.equal(scores, wanted[1])
        print(f"  {features.size(0):2} places: {boxes.size(0)} boxes")


if __name__ == "__main__":
    main()
