"""Classification, detection and video models, ops and transforms of torchvision."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torchvision
from torchvision.models import detection, optical_flow, segmentation, video
from torchvision.transforms import v2

from tests.zoo.case import Case


def classifier(name: str, sizes: tuple[tuple[int, int], ...], **settings: Any) -> Case:
    """A classifier at several batch and image sizes."""
    model = torchvision.models.get_model(name, weights=None, num_classes=5, **settings)
    return Case(model, [(torch.randn(b, 3, n, n),) for b, n in sizes])


def vision_transformer() -> Case:
    model = torchvision.models.VisionTransformer(16, 4, 2, 2, 16, 32, num_classes=5)
    return Case(model, [(torch.randn(b, 3, 16, 16),) for b in (3, 1, 0, 5)])


def swin() -> Case:
    model = torchvision.models.SwinTransformer([2, 2], 8, [2, 2], [2, 2], [4, 4], num_classes=5)
    sizes = ((2, 16, 16), (1, 18, 22), (3, 32, 16))
    return Case(model, [(torch.randn(b, 3, h, w),) for b, h, w in sizes])


def max_vit() -> Case:
    model = torchvision.models.MaxVit((32, 32), 8, 4, [8, 16], [1, 1], 8, 0.0, num_classes=5)
    return Case(model, [(torch.randn(b, 3, 32, 32),) for b in (3, 2, 5)])


def fcn() -> Case:
    model = segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=3)
    return Case(model, [(torch.randn(b, 3, h, w),) for b, h, w in ((2, 32, 40), (1, 48, 33))])


def faster_rcnn() -> Case:
    model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=96,
        box_detections_per_img=5, rpn_post_nms_top_n_test=8,
    )  # fmt: skip
    calls: list[Any] = [([torch.rand(3, h, w)],) for h, w in ((64, 80), (70, 64))]
    return Case(model, calls, trains=False)


def ssdlite() -> Case:
    model = detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3, detections_per_img=5
    )
    calls: list[Any] = [([torch.rand(3, h, w)],) for h, w in ((64, 80), (70, 64))]
    return Case(model, calls, trains=False)


def raft() -> Case:
    model = optical_flow.raft_small(weights=None)
    frames = [torch.randn(b, 3, 128, w) for b, w in ((1, 128), (2, 136))]
    return Case(model, [(f, f.flip(-1), 2) for f in frames], trains=False)


def r3d() -> Case:
    model = video.r3d_18(weights=None, num_classes=4)
    return Case(model, [(torch.randn(b, 3, t, 16, 16),) for b, t in ((2, 4), (1, 6))])


def nms() -> Case:
    def keep(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        corners = torchvision.ops.box_convert(boxes, "cxcywh", "xyxy")
        return corners[torchvision.ops.nms(corners, scores, 0.5)]

    return Case(keep, [(torch.rand(n, 4), torch.rand(n)) for n in (8, 1, 0, 20)])


def roi_align() -> Case:
    def pool(x: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        return torchvision.ops.roi_align(x, [boxes], output_size=3, spatial_scale=0.5)

    sizes = ((5, 16), (1, 20), (0, 12))
    return Case(pool, [(torch.randn(1, 2, s, s), torch.rand(n, 4) * 8) for n, s in sizes])


def box_losses() -> Case:
    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.sort(-1).values, b.sort(-1).values
        giou = torchvision.ops.generalized_box_iou(a, b)
        focal = torchvision.ops.sigmoid_focal_loss(giou, (giou > 0).float(), reduction="sum")
        return focal + torchvision.ops.complete_box_iou_loss(a, a * 1.1, reduction="sum")

    return Case(loss, [(torch.rand(n, 4), torch.rand(m, 4)) for n, m in ((4, 5), (1, 1), (3, 9))])


def transforms() -> Case:
    steps = v2.Compose([
        v2.Resize(20, antialias=True), v2.CenterCrop(16), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.2] * 3),
    ])  # fmt: skip
    sizes = ((32, 40), (21, 50), (64, 20))
    calls: list[Any] = [(torch.randint(0, 255, (3, h, w), dtype=torch.uint8),) for h, w in sizes]
    return Case(steps, calls, trains=False)


SQUARE = ((3, 64), (1, 96), (2, 72))

PROGRAMS = {
    "resnet18": partial(classifier, "resnet18", ((3, 32), (1, 48), (2, 33))),
    "vgg11": partial(classifier, "vgg11_bn", ((2, 32), (1, 48))),
    "densenet121": partial(classifier, "densenet121", ((2, 32), (3, 48))),
    "googlenet": partial(
        classifier, "googlenet", ((3, 64), (2, 96)), aux_logits=False, init_weights=False
    ),
    "mobilenet_v3_small": partial(classifier, "mobilenet_v3_small", SQUARE),
    "shufflenet_v2": partial(classifier, "shufflenet_v2_x0_5", SQUARE),
    "efficientnet_b0": partial(classifier, "efficientnet_b0", ((2, 32), (3, 64))),
    "regnet_y_400mf": partial(classifier, "regnet_y_400mf", ((2, 32), (3, 64))),
    "convnext_tiny": partial(classifier, "convnext_tiny", ((2, 32), (1, 64))),
    "vision_transformer": vision_transformer,
    "swin": swin,
    "max_vit": max_vit,
    "fcn": fcn,
    "faster_rcnn": faster_rcnn,
    "ssdlite": ssdlite,
    "raft": raft,
    "r3d": r3d,
    "nms": nms,
    "roi_align": roi_align,
    "box_losses": box_losses,
    "transforms": transforms,
}
