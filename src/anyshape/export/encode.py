"""An exported program as plain data for `program.json`; `decode.py` is the inverse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.export import checked, structure, weights
from anyshape.export.callable_ops import name_of
from anyshape.export.scope import ScopeWriter, Sites
from anyshape.symbolic.condition import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.graph import SYMBOLIC, Name, Value, operand_of

if TYPE_CHECKING:
    from anyshape.export.explore import Refused
    from anyshape.export.program import ExportedProgram
    from anyshape.trace.capture import Captured
    from anyshape.trace.inputs import Leaf

FORMAT: Final = 1
_SYMBOLIC: Final = {SymInt: "int", SymBool: "bool", SymFloat: "real"}
_ENUMS: Final = {
    torch.dtype: "dtype",
    torch.memory_format: "memory_format",
    torch.layout: "layout",
}


def encode(program: ExportedProgram) -> tuple[dict[str, Any], bytes]:
    """The data of a program, and its weights."""
    sites = Sites()
    constants: dict[int, torch.Tensor] = {}
    for variant in program.variants:
        for _, tensor in variant.graph.constants:
            constants.setdefault(id(tensor), tensor)
    for tensor in program.state.values():
        constants.setdefault(id(tensor), tensor)
    numbers = {key: i for i, key in enumerate(constants)}
    names = {numbers[id(t)]: name for name, t in program.state.items()}
    records, data = weights.encode(
        list(constants.values()), [names.get(i, f"unnamed_{i}") for i in range(len(numbers))]
    )
    content = {
        "constants": records,
        "format": FORMAT,
        "is_complete": program.is_complete,
        "name": program.name,
        "on_deviation": program.on_deviation,
        "refused": [_refused(r, sites) for r in program.refused],
        "state": [[name, numbers[id(t)]] for name, t in program.state.items()],
        "torch": str(torch.__version__),
        "variants": [_Variant(v, sites, numbers).encode() for v in program.variants],
    }
    content["sites"] = [list(site) for site in sites.numbers]
    return content, data


def _refused(refused: Refused, sites: Sites) -> dict[str, Any]:
    first = refused.guards[0]
    scope = ScopeWriter(first.condition.pool, first._knowledge.sources, sites, None)
    guards = [scope.obligation(o) for o in refused.guards]
    kind = type(refused.error).__name__
    return {"error": [kind, str(refused.error)], "guards": guards, "terms": scope.terms()}


class _Variant:
    def __init__(self, variant: Captured, sites: Sites, numbers: dict[int, int]) -> None:
        self.variant = variant
        self.sites = sites
        self.numbers = numbers
        env = variant.tracer.env
        self.scope = ScopeWriter(env.pool, env.sources, sites, env)

    def encode(self) -> dict[str, Any]:
        v, scope = self.variant, self.scope
        content: dict[str, Any] = {
            "asserts": [scope.obligation(o) for o in v.runtime_asserts],
            "binds": [list(bind) for bind in v.inputs.binds],
            "constants": [self.numbers[id(t)] for _, t in v.graph.constants],
            "deviations": [
                {
                    "about": d.about,
                    "at": self.sites.number(d.site),
                    "condition": scope.text(d.condition),
                    "op": d.op,
                }
                for d in v.deviations
            ],
            "door": {
                "dtype": _enum(v.tracer.dtype),
                "gradients": v.tracer.asked_grad,
                "layouts": v.tracer.asked_layout,
            },
            "guards": [scope.obligation(o) for o in v.guards],
            "in_tree": structure.encode(v.inputs.spec),
            "inputs": [self._leaf(leaf) for leaf in v.inputs.leaves],
            "nodes": [self._node(node) for node in v.graph.nodes],
            "out_tree": structure.encode(v.out_spec),
            "outputs": [self._arg(leaf) for leaf in v.graph.outputs],
            "relations": [[i, d, self._size(n)] for i, d, n in v.inputs.relations],
            "replacements": scope.replacements(),
        }
        content["terms"] = scope.terms()
        return content

    def _leaf(self, leaf: Leaf) -> dict[str, Any]:
        example = leaf.example
        content: dict[str, Any] = {"name": leaf.name, "twin": leaf.twin}
        if not isinstance(example, torch.Tensor):
            return {**content, "plain": self._arg(example, exact=leaf.name)}
        content["example"] = {
            "device": str(example.device),
            "dtype": _enum(example.dtype),
            "grad": example.requires_grad,
            "offset": int(example.storage_offset()),
            "shape": list(example.shape),
            "strides": list(example.stride()),
        }
        content["shape"] = [self._size(n) for n in leaf.shape]
        content["layout"] = None
        if leaf.value is not None:
            layout = leaf.value.meta.layout.found()
            content["layout"] = {
                "offset": layout.offset,
                "order": None if layout.order is None else list(layout.order),
                "strides": None if layout.strides is None else list(layout.strides),
            }
        return content

    def _node(self, node: Any) -> dict[str, Any]:
        return {
            "args": [self._arg(a) for a in node.args],
            "at": self.sites.number(node.site),
            "kwargs": [[name, self._arg(a)] for name, a in node.kwargs.items()],
            "op": name_of(node.func),
            "outs": self._outs(node.outs),
        }

    def _outs(self, outs: Any) -> Any:
        kind = type(outs)
        if outs is None:
            return None
        if kind is tuple:
            return [self._outs(part) for part in outs]
        if kind is Name:
            return {"symbol": str.__str__(outs)}
        meta = outs.meta
        return {
            "device": str(meta.device),
            "dtype": _enum(meta.dtype),
            "grad": bool(meta.requires_grad),
            "shape": [self._size(n) for n in meta.shape],
            "value": outs.index,
        }

    def _size(self, n: Any) -> Any:
        return n if type(n) is int else {"int": self.scope.text(n.expr)}

    def _arg(self, a: Any, exact: str = "") -> Any:
        """An argument; `exact` is the name of an input, which must keep its type."""
        kind = type(a)
        if a is None or kind is bool or kind is str:
            return a
        if kind is int:
            return _int(a)
        if kind is float:
            return a if math.isfinite(a) else {"float": repr(a)}
        if kind is Value:
            return {"value": repr(a)}
        if kind in SYMBOLIC:
            return {_SYMBOLIC[kind]: self.scope.text(operand_of(a))}
        if kind is list:
            return [self._arg(part) for part in a]
        if kind in (tuple, SymSize, torch.Size):
            parts = [self._arg(part) for part in a]
            return {"tuple" if kind is tuple else "size": parts}
        if kind is dict and all(type(k) in (str, int, bool, type(None)) for k in a):
            return {"dict": [[k, self._arg(part)] for k, part in a.items()]}
        return self._rare(a, exact)

    def _rare(self, a: Any, exact: str) -> Any:
        kind = type(a)
        if kind is slice:
            return {"slice": [self._arg(part) for part in (a.start, a.stop, a.step)]}
        if a is Ellipsis:
            return {"ellipsis": True}
        if kind is complex:
            return {"complex": [repr(a.real), repr(a.imag)]}
        if kind in _ENUMS:
            return {_ENUMS[kind]: _enum(a)}
        if kind is torch.device:
            return {"device": str(a)}
        if not exact:  # a number or text of another class is one all the same
            for plain in (bool, int, float, str):
                if isinstance(a, plain):
                    return self._arg(plain(a))
        where = f"the input {exact}" if exact else "an argument of an op"
        raise UnsupportedError(
            f"saving a program with {where} that is a {kind.__module__}.{kind.__qualname__}",
            why="it has no form in a file",
        )


def _int(n: int) -> int:
    if abs(n) > checked.MAX_INT:
        raise UnsupportedError("saving an integer beyond 64 bits")
    return n


def _enum(x: Any) -> str:
    return str(x).removeprefix("torch.")
