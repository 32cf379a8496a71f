"""How things were before a call, to be restored when it has to be run again.

Restored are the state of random generators, and of tensors: their data, their version, which
autograd compares with that of the tensors it saved, and that they have no history. A history that
was there cannot be restored after an op in place has added to it: `can_restore` is asked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.torch_compat.process_flag import read_flags, set_flags
from anyshape.torch_compat.tensor_subclass import VIEW_BASE
from anyshape.torch_compat.tensor_version import set_version, version_of
from anyshape.trace.graph.graph import leaves
from anyshape.trace.record.effect.held import Held
from anyshape.trace.state.generator_state import is_generator, set_state, state_of
from anyshape.trace.state.undisturbed import undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.trace.graph.graph import Node


class _Tensor(NamedTuple):
    """A tensor as it was."""

    tensor: torch.Tensor
    memory: torch.Tensor  # what it is a tensor over
    copy: torch.Tensor
    version: int | None
    history: Any
    requires_grad: bool

    @classmethod
    def of(cls, t: torch.Tensor) -> _Tensor:
        memory = t.detach()
        return cls(t, memory, memory.clone(), version_of(t), t.grad_fn, t.requires_grad)

    def _has_its_data(self) -> bool:
        """Whether the data are as they were: batch_norm writes to its statistics, and leaves their
        version. A tensor with NaN counts as changed.
        """
        t = self.tensor.detach()
        return t.shape == self.copy.shape and torch.equal(t, self.copy)

    def restore(self) -> None:
        t = self.tensor
        if not _is_over(t, self.memory):
            t.data = self.memory
        if self.version is not None and self.version == version_of(t) and self._has_its_data():
            return
        if t.grad_fn is not self.history:
            if not _is_free(t, self.history):
                raise refused(
                    UnsupportedError,
                    "a call that has changed a tensor in place cannot be run again",
                    why="the tensor is part of an autograd graph that has grown",
                    fix="call the function with force_eager, or change a copy of the tensor",
                )
            t.detach_().requires_grad_(self.requires_grad)
        with torch.no_grad():
            t.detach().copy_(self.copy)
        if self.version is not None:
            set_version(t, self.version)


def _is_over(t: torch.Tensor, memory: torch.Tensor) -> bool:
    """Whether a tensor is still over some memory: none was assigned to `t.data`."""
    same = t.shape == memory.shape and t.dtype is memory.dtype and t.stride() == memory.stride()
    return same and (not t.numel() or t.data_ptr() == memory.data_ptr())


def _is_free(t: torch.Tensor, history: Any) -> bool:
    """Whether a tensor with this history can lose what an op in place adds to it."""
    return history is None and getattr(t, VIEW_BASE) is None


class Snapshot:
    """The state of generators, and copies of the tensors that a call may write to.

    `draws`: also of the generators that random ops use without naming one. `flags`: also settings
    of the process.
    """

    def __init__(
        self,
        tensors: Iterable[torch.Tensor] = (),
        generators: Iterable[Any] = (),
        *,
        draws: bool = True,
        flags: bool = False,
    ) -> None:
        self.flags = read_flags() if flags else None
        given = [torch.default_generator] if draws else []
        self._generators = [(g, undisturbed(state_of, g)) for g in (*given, *generators)]
        self._cuda = _cuda_states() if draws else []
        self._tensors = [_Tensor.of(t) for t in tensors]

    @staticmethod
    def can_restore(tensors: Iterable[torch.Tensor]) -> bool:
        """Whether tensors can be restored after any ops in place on them."""
        return not torch.is_grad_enabled() or all(_is_free(t, t.grad_fn) for t in tensors)

    def restore(self) -> None:
        """Put everything back."""
        if self.flags is not None:
            set_flags(self.flags)
        for generator, state in self._generators:
            undisturbed(set_state, generator, state)
        if self._cuda:
            undisturbed(torch.cuda.set_rng_state_all, self._cuda)
        for kept in self._tensors:
            kept.restore()


def generators_in(nodes: Iterable[Node]) -> list[Any]:
    """The generators that calls name."""
    named = [x for n in nodes for x in leaves((n.args, n.kwargs))]
    found = [x for x in named if type(x) is torch.Generator]
    found += [x.object for x in named if type(x) is Held and is_generator(x.object)]
    return list({id(g): g for g in found}.values())


def _cuda_states() -> list[torch.Tensor]:
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return undisturbed(torch.cuda.get_rng_state_all) if started else []
