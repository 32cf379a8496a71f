"""`ListMeta`: what is known of a list whose length only the run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import known

if TYPE_CHECKING:
    from anyshape.tensor.layout import Layout
    from anyshape.tensor.size import Size

TENSOR: Final = "tensor"
INTEGER: Final = "int"
FLOAT: Final = "float"
_CPU: Final = torch.device("cpu")  # where numbers are
KINDS: Final = (TENSOR, INTEGER, FLOAT)


class ListMeta(Meta):
    """The length, and the sizes of the items: `shape` is that of the stacked items. A size is None
    if the items differ in it.

    `items` is the kind of the items. Those of a list that is `nested` are lists of such items,
    whose lengths are not known. `dense` tells that all items are contiguous, and at the start of
    their memory.
    """

    __slots__ = ("dense", "items", "nested")

    shape: tuple[Any, ...]

    def __init__(
        self,
        shape: tuple[Any, ...],
        items: str,
        *,
        dtype: torch.dtype = torch.int64,
        device: torch.device | None = _CPU,
        requires_grad: bool | None = False,
        dense: bool = True,
        nested: bool = False,
    ) -> None:
        super().__init__(shape, dtype, CONTIGUOUS, device, requires_grad)
        self.items = items
        self.dense = dense
        self.nested = nested

    @classmethod
    def of(cls, item: Meta, *, dense: bool = False) -> ListMeta:
        """What is known of a list of one tensor."""
        return cls(
            (1, *item.shape),
            TENSOR,
            dtype=item.dtype,
            device=item.device,
            requires_grad=bool(item.requires_grad),
            dense=dense,
        )

    @property
    def length(self) -> Size:
        """The number of items."""
        found: Size = self.shape[0]
        return found

    @property
    def kind(self) -> Any:
        """What two lists must have in common so that one may be the other, without sizes."""
        return (self.items, self.nested, self.dtype, self.device, self.requires_grad)

    def of_length(self, n: Any) -> ListMeta:
        """The same with another length."""
        return self.with_shape((n, *self.shape[1:]))

    def with_shape(self, shape: tuple[Any, ...]) -> ListMeta:
        """The same with other sizes."""
        return ListMeta(
            shape,
            self.items,
            dtype=self.dtype,
            device=self.device,
            requires_grad=self.requires_grad,
            dense=self.dense,
            nested=self.nested,
        )

    def joined(self, other: ListMeta, length: Any) -> ListMeta | None:
        """What is known of items of both; None if they are of two kinds."""
        if self.kind != other.kind or len(self.shape) != len(other.shape):
            return None
        pairs = zip(self.shape[1:], other.shape[1:], strict=True)
        sizes = [n if _are_equal(n, m) else None for n, m in pairs]
        made = self.with_shape((length, *sizes))
        made.dense = self.dense and other.dense
        return made

    def item_layout(self) -> Layout:
        """The layout of an item."""
        return CONTIGUOUS if self.dense else unsure(CONTIGUOUS)

    def __repr__(self) -> str:
        sizes = ", ".join(["?" if n is None else str(n) for n in self.shape[1:]])
        dtype = str(self.dtype).removeprefix("torch.")
        item = f"{dtype}[{sizes}]" if self.items == TENSOR else self.items
        return f"list({self.shape[0]} x {f'list({item})' if self.nested else item})"


def _are_equal(n: Any, m: Any) -> bool:
    if n is None or m is None:
        return False
    if type(n) is int and type(m) is int:
        return n == m
    return known(n == m) is True
