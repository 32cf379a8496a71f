"""Texts of torch's error messages that anyshape tells apart, for lack of exception classes."""

from __future__ import annotations

from typing import Final

NO_KERNEL: Final = (
    "not implemented",
    "could not run",
    "data pointer",
    "_local_scalar_dense",
    "meta tensor",
    "internal assert",
    "no fake impl",
    "as opposed to faketensors",
)
"""In lower case, a part of the message of an op that has no meta kernel or whose kernel needs data.
Any other error of a meta kernel means that the operands do not fit."""

NO_NUMBER: Final = "Cannot cast"
"""How the message begins of a kernel that needs a number where it was given a tensor."""

TORCHSCRIPT: Final = "TorchScript interpreter"
"""Part of the message with which TorchScript wraps an error raised inside it. Its class is a plain
`RuntimeError`, so that the wrapped one is only known by its text."""

GENERATED_CHECK: Final = "raise RuntimeError("
"""How the line of Inductor's generated code begins that a failed runtime assert raises from."""


def has_no_kernel(message: str) -> bool:
    """Whether the message of an error is that of a missing meta kernel."""
    lower = message.lower()
    return any(sign in lower for sign in NO_KERNEL)
