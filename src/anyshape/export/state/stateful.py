"""`Stateful`: what an exported program offers about its tensors, with the names of a module."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

import torch

from anyshape.export.state.conversion import Target, converted
from anyshape.export.state.graph_signature import GraphSignature, signature_of
from anyshape.export.state.hierarchy import ProgramModule
from anyshape.export.state.naming import BUFFER, NON_PERSISTENT_BUFFER, PARAMETER
from anyshape.export.state.state_dict import IncompatibleKeys, change_of
from anyshape.public_call import public

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyshape.export.state.conversion import Origin
    from anyshape.export.state.state import State
    from anyshape.trace.capture import Captured


class Stateful:
    """A program with a state. The tensors are those of the exported module, not copies: training
    the module trains the program, and the other way round.
    """

    name: str
    variants: list[Captured]
    state: State
    function: Any
    origin: Origin | None = None  # what it was exported from

    @property
    def graph_signature(self) -> GraphSignature:
        """The parameters, buffers, inputs and results by name; see `GraphSignature`."""
        return signature_of(self.variants, self.state)

    def state_dict(self) -> OrderedDict[str, torch.Tensor]:
        """The parameters and persistent buffers under all their names, as the module's
        `state_dict` has them: detached, over the same memory.
        """
        found = [(e.name, e.tensor.detach()) for e in self.state.entries if e.is_saved]
        return OrderedDict(found)

    @public
    def load_state_dict(
        self, state_dict: Mapping[str, torch.Tensor], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Give the parameters and persistent buffers other values.

        The values are copied into the tensors of the program, which are those of the exported
        module; with `assign` the given tensors take their places, and the module keeps its own.
        Shapes and dtypes must be equal. With `strict`, names that are missing or unknown are a
        StateError; one name of a tied tensor is enough. Nothing changes if something does not fit.
        """
        change = change_of(self.state, state_dict, strict=strict, assign=assign)
        with torch.no_grad():
            for tensor, value in change.copied:
                tensor.copy_(value)
        if change.replaced:
            self._rebind(change.replaced)
        return change.keys

    def named_parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The parameters, each once, under its first name."""
        yield from [(e.name, e.tensor) for e in self.state.of_kind(PARAMETER)]

    def parameters(self) -> Iterator[torch.Tensor]:
        """The parameters, each once."""
        yield from [e.tensor for e in self.state.of_kind(PARAMETER)]

    def named_buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers, each once, under its first name; those that are not persistent too."""
        found = self.state.of_kind(BUFFER, NON_PERSISTENT_BUFFER)
        yield from [(e.name, e.tensor) for e in found]

    def buffers(self) -> Iterator[torch.Tensor]:
        """The buffers, each once."""
        yield from [tensor for _, tensor in self.named_buffers()]

    def module(self) -> ProgramModule:
        """An `nn.Module` with the hierarchy and the tensors of the exported module that runs this
        program. It can be trained, copied and pickled. Its mode cannot change: `train()` and
        `eval()` raise, except for the mode that the program was traced in.
        """
        return ProgramModule(self)  # type: ignore[arg-type]  # the only subclass

    @public
    def to(
        self,
        *args: Any,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        non_blocking: bool = False,
    ) -> Self:
        """The program on another device, or of another floating-point dtype: a new one, which is
        exported from a converted copy of the module, with the same weights. Tensors of the example
        are moved, and those of a floating-point dtype converted. This program stays as it is.
        A program that was loaded, or a function with tensors, cannot be converted.
        """
        target = Target.of(args, device, dtype)
        made: Self = converted(self.name, self.origin, self.state, target)
        return made

    def double(self) -> Self:
        """The program in float64; see `to`."""
        return self.to(torch.float64)

    def float(self) -> Self:
        """The program in float32; see `to`."""
        return self.to(torch.float32)

    def half(self) -> Self:
        """The program in float16; see `to`."""
        return self.to(torch.float16)

    def bfloat16(self) -> Self:
        """The program in bfloat16; see `to`."""
        return self.to(torch.bfloat16)

    def cpu(self) -> Self:
        """The program on the CPU; see `to`."""
        return self.to("cpu")

    def cuda(self, device: int | str | torch.device = "cuda") -> Self:
        """The program on a GPU; see `to`."""
        return self.to(device)

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Self:
        """This program over other tensors, which are given by the ids of those here. `function`
        has other tensors, so it is not the function of this program.
        """
        made = copy.copy(self)
        made._rebind(tensors)
        return made

    def _rebind(self, tensors: Mapping[int, torch.Tensor]) -> None:
        self.variants = [v.rebound(tensors) for v in self.variants]
        self.state = self.state.replaced(tensors)
        self.function = None

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = self.rebound({id(t): copy.deepcopy(t, memo) for t in self.state.values()})
        memo[id(self)] = made
        return made
