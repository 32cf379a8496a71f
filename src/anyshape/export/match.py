"""The containers that an exported program takes for those that it was exported with.

A dict may have another order. Where the program expects a class, it also takes the stand-in of that
class, another class of the same name, or its parts: in a dict by their names, or in a list or tuple
if they have none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from anyshape.export.files.stand_in import StandIn
from anyshape.export.files.structure import foreign
from anyshape.torch_compat import pytree
from anyshape.trace.argument.call_structure import Containers
from anyshape.trace.record.read.exact_equality import same as exactly

if TYPE_CHECKING:
    from anyshape.trace.tree import Level


class _Accepted(Containers):
    def parts(self, spec: Any, x: Any, found: Level | None) -> list[Any] | None:
        """See `Containers`."""
        same = super().parts(spec, x, found)
        if same is not None:
            return same
        kind, context, count = spec.type, spec.context, spec.num_children
        is_same_kind = found is not None and found.kind is kind and len(found.parts) == count
        if is_same_kind and kind in (dict, OrderedDict):
            own = {key: key for key in x}
            if all(key in own and exactly(own[key], key) for key in context):
                return [x[key] for key in context]
        of = foreign(kind, context, count)
        if of is None:
            return None
        if found is not None and foreign(found.kind, found.context, len(found.parts)) == of:
            return found.parts
        if type(x) is dict and of.names is not None and set(x) == set(of.names):
            return [x[name] for name in of.names]
        if type(x) in (list, tuple) and of.names is None and len(x) == count:
            return list(x)
        return None

    def keys(self, spec: Any) -> list[Any]:
        """See `Containers`."""
        of = None if spec.is_leaf() else foreign(spec.type, spec.context, spec.num_children)
        return super().keys(spec) if of is None else of.keys(spec.num_children)

    def expected(self, spec: Any) -> str:
        """See `Containers`."""
        of = None if spec.is_leaf() else foreign(spec.type, spec.context, spec.num_children)
        if of is None:
            return super().expected(spec)
        return f"a {of.name} of {', '.join(map(str, of.keys(spec.num_children))) or 'nothing'}"

    def actual(self, x: Any, found: Level | None) -> str:
        """See `Containers`."""
        if type(x) is StandIn and found is not None:
            return self.expected(pytree.TreeSpec(StandIn, found.context, []))
        return super().actual(x, found)


ACCEPTED: Final = _Accepted()
