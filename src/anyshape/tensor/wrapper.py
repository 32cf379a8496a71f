"""Tensors of classes that wrap other tensors, as operands of a traced call.

A rule knows plain tensors only. It asks for the metadata of an operand, and the tracer raises
`WrapperOperand` if its class wraps others: the call is then handled as a whole, by
`trace/argument/wrapper.py`.
"""

from __future__ import annotations


class WrapperOperand(BaseException):
    """An operand wraps other tensors. No handler of errors in a rule or a program may see it."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind.__name__)
        self.kind = kind
