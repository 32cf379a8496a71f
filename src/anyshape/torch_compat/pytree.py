"""torch's pytree: nested containers as flat leaves and a structure.

Without it, the containers that users and libraries have registered with torch would be unknown.
"""

from __future__ import annotations

from typing import Final

from torch.utils import _pytree
from torch.utils._pytree import (
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    SequenceKey,
    TreeSpec,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "REGISTER",
    "SUPPORTED_NODES",
    "GetAttrKey",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "broadcast_to_and_flatten",
    "keystr",
    "node_type",
    "register_pytree_node",
    "tree_flatten",
    "tree_leaves",
    "tree_structure",
    "tree_unflatten",
]

broadcast_to_and_flatten: Final = _pytree._broadcast_to_and_flatten
"""The leaves of a prefix of a structure, each as often as it stands for leaves of the structure."""

node_type: Final = _pytree._get_node_type
"""The key of a container in `SUPPORTED_NODES`: its class, or `namedtuple` for all named tuples."""

REGISTER: Final = "torch.utils._pytree.register_pytree_node"
"""How users spell the function that registers a class, for messages."""
