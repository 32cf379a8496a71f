"""Runs a captured graph node by node on real tensors, and compares what was predicted of each."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.expr import evaluate
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import strides_of
from anyshape.trace.graph.graph import Name, Value
from anyshape.trace.mode.execution_modes import keep_modes


class Replay:
    """One run. `wrong` lists each value whose shape, dtype or strides are not as predicted."""

    def __init__(self, captured: Any, flat: list[Any]) -> None:
        self.captured = captured
        self.values: dict[Value, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.wrong: list[str] = []
        leaves = captured.inputs.leaves
        for leaf, x in zip(leaves, flat, strict=True):
            if leaf.value is not None:
                self.values[leaf.value] = x
        for bind in captured.inputs.binds:
            self.symbols[bind.name] = bind.read(flat)
        self.values.update(captured.graph.constants)

    def run(self, *, strides: bool = True) -> list[str]:
        graph = self.captured.graph
        late: list[Any] = []
        with keep_modes():
            for node in graph.nodes:
                out = node.func(*self.real(node.args), **self.real(node.kwargs))
                self.bind(node.outs, out)
                late.append(node)
                late = [n for n in late if not self.compared(n, strides)]
        assert not late
        return self.wrong

    def compared(self, node: Any, strides: bool) -> bool:
        """Compare the results of a node, unless a size of theirs is not known yet."""
        try:
            self.compare(node, node.outs, strides)
        except KeyError:
            return False
        return True

    def bind(self, pattern: Any, out: Any) -> None:
        kind = type(pattern)
        if kind is Value:
            self.values[pattern] = out
        elif kind is Name:
            self.symbols[str(pattern)] = out
        elif kind is tuple:
            assert len(pattern) == len(out)
            for p, o in zip(pattern, out, strict=True):
                self.bind(p, o)

    def real(self, x: Any) -> Any:
        kind = type(x)
        if kind is Value:
            return self.values[x]
        if kind is SymInt:
            return evaluate(x.expr, self.symbols)
        if kind is SymFloat:
            return evaluate(x.value, self.symbols)
        if kind is SymBool:
            return bool(evaluate(x.condition, self.symbols))
        if kind in (tuple, list):
            return kind([self.real(part) for part in x])
        if kind is dict:
            return {k: self.real(part) for k, part in x.items()}
        if kind is slice:
            return slice(self.real(x.start), self.real(x.stop), self.real(x.step))
        return x

    def compare(self, node: Any, pattern: Any, strides: bool) -> None:
        if type(pattern) is tuple:
            for part in pattern:
                self.compare(node, part, strides)
        if type(pattern) is not Value:
            return
        meta, actual = pattern.meta, self.values[pattern]
        if not isinstance(actual, torch.Tensor):
            self.wrong.append(f"{node}: {type(actual).__name__} where a tensor was predicted")
            return
        shape = self.real(tuple(meta.shape))
        if shape != tuple(actual.shape):
            self.wrong.append(
                f"{node}: shape {tuple(actual.shape)}, predicted {meta.shape} = {shape}"
            )
            return
        if meta.dtype is not actual.dtype:
            self.wrong.append(f"{node}: {actual.dtype}, predicted {meta.dtype}")
        if meta.device != actual.device:
            self.wrong.append(f"{node}: on {actual.device}, predicted {meta.device}")
        if bool(meta.requires_grad) != actual.requires_grad:
            self.wrong.append(
                f"{node}: requires_grad {actual.requires_grad}, predicted {meta.requires_grad}"
            )
        if not strides or actual.numel() < 2:
            return
        found = self.real(tuple(strides_of(meta)))
        differs = any(
            n > 1 and a != b for n, a, b in zip(shape, found, actual.stride(), strict=True)
        )
        if differs:
            self.wrong.append(f"{node}: strides {actual.stride()}, predicted {found}")
