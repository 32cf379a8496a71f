from __future__ import annotations

from collections import namedtuple

import pytest
import torch

from anyshape.torch_compat import pytree

Point = namedtuple("Point", "x y")


class Box:
    def __init__(self, content):
        self.content = content


@pytest.fixture(scope="module", autouse=True)
def registered():
    pytree.register_pytree_node(
        Box,
        lambda box: ([box.content], "a box"),
        lambda parts, context: Box(*parts),
        flatten_with_keys_fn=lambda box: (
            [(pytree.GetAttrKey("content"), box.content)],
            "a box",
        ),
    )


def test_tree_flatten_and_tree_unflatten():
    leaves, spec = pytree.tree_flatten({"a": [1, (2,)], "b": Point(3, 4)})
    assert leaves == [1, 2, 3, 4]
    assert pytree.tree_unflatten([5, 6, 7, 8], spec) == {"a": [5, (6,)], "b": Point(7, 8)}


def test_tree_flatten_stops_at_what_is_leaf():
    leaves, _ = pytree.tree_flatten([torch.Size([2]), 1], is_leaf=lambda x: type(x) is torch.Size)
    assert leaves == [torch.Size([2]), 1]


def test_tree_leaves():
    assert pytree.tree_leaves(((1, [2]), {"k": 3})) == [1, 2, 3]


def test_tree_structure_and_tree_spec():
    spec = pytree.tree_structure((0, [0]))
    leaf = pytree.tree_structure(0)
    assert leaf.is_leaf()
    assert (spec.type, spec.context) == (tuple, None)
    assert [child.type for child in spec.children()][1] is list
    assert spec == pytree.TreeSpec(tuple, None, [leaf, pytree.TreeSpec(list, None, [leaf])])


def test_register_pytree_node():
    leaves, spec = pytree.tree_flatten(Box(5))
    assert (leaves, spec.type, spec.context) == ([5], Box, "a box")
    assert pytree.tree_unflatten([6], spec).content == 6


def test_supported_nodes_has_the_handlers_of_a_class():
    handler = pytree.SUPPORTED_NODES[Box]
    assert handler.flatten_fn(Box(5)) == ([5], "a box")
    assert handler.unflatten_fn([5], "a box").content == 5
    assert handler.flatten_with_keys_fn(Box(5))[0] == [(pytree.GetAttrKey("content"), 5)]
    assert {dict, list, tuple, torch.Size, namedtuple} <= pytree.SUPPORTED_NODES.keys()
    assert torch.return_types.max in pytree.SUPPORTED_NODES


def test_node_type_is_the_key_of_a_container():
    assert pytree.node_type(Point(1, 2)) is namedtuple
    assert pytree.node_type(Box(1)) is Box
    assert pytree.node_type([]) is list


def test_keystr_spells_the_path_to_a_leaf():
    keys = (pytree.GetAttrKey("a"), pytree.MappingKey("b"), pytree.SequenceKey(3))
    assert [pytree.keystr((key,)) for key in keys] == [".a", "['b']", "[3]"]
    assert pytree.keystr(keys) == ".a['b'][3]"


def test_register_is_how_users_spell_it():
    assert eval(pytree.REGISTER) is pytree.register_pytree_node
