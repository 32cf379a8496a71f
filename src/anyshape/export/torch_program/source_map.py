"""The code that torch generates for a graph, line by line: the user's line, and the module.

A line of the code assigns a node of the graph, by its name. The node knows the user's lines, the
innermost last, and the calls of modules that it is part of, the outermost first.
"""

from __future__ import annotations

import ast
import re
import weakref
from typing import TYPE_CHECKING, Final

from torch.fx import GraphModule

from anyshape.env import site as sites
from anyshape.env.site import Origin
from anyshape.export.state.call_path import nodes_of
from anyshape.torch_compat.torch_program import NO_MODULE
from anyshape.trace.graph.module_call import ModuleCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch.fx import Node

    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Node as Step

_FRAME: Final = re.compile(r'File "([^"]*)", line (\d+), in ([^\n]*)(?:\n    ([^\n]*))?')
_OF_TORCH: Final = re.compile(r"(^|[/\\]site-packages[/\\])torch[/\\]|^<")
NO_CLASS: Final = "torch.nn.modules.module.Module"  # of a module that no node is part of
_AGAIN: Final = re.compile(r"@(\d+)$")


class SourceMap:
    """The lines of the code of a module, and of the modules in it that are graphs, too."""

    def __init__(self, module: GraphModule) -> None:
        self.nodes: dict[tuple[str, int], Node] = {}
        self._calls: dict[tuple[str, ...], ModuleCall] = {}
        for part in module.modules():
            if isinstance(part, GraphModule):
                self._add(part)

    def _add(self, module: GraphModule) -> None:
        code = module.forward.__func__.__code__ if hasattr(module.forward, "__func__") else None
        if code is None:
            return
        nodes = {node.name: node for node in module.graph.nodes}
        origins: dict[int, Origin] = {}
        for line, name in _assigned(module.code):
            node = nodes.get(name)
            if node is None or (code.co_filename, line) in self.nodes:
                continue
            self.nodes[code.co_filename, line] = node
            origin = origin_of(node.meta.get("stack_trace"))
            if origin is not None:
                origins[line] = origin
        sites.origins[code.co_filename] = origins
        weakref.finalize(module, sites.origins.pop, code.co_filename, None)

    def name_calls(self, variants: Sequence[Captured]) -> None:
        """Give every node of a program the call of the module that torch's node was part of."""
        for part in [part for variant in variants for part in variant.parts]:
            for node in nodes_of(part.graph.nodes):
                node.module_call = self.call_of(node)

    def call_of(self, node: Step) -> ModuleCall | None:
        """The innermost call of a module that the line of a node is part of."""
        site = node.site
        if type(site) is not sites.Site:
            return None
        found = self.nodes.get((site.code.co_filename, site.own_line))
        return None if found is None else self._call(found)

    def named(self, name: str) -> ModuleCall:
        """The call of a module by its name, `path` or `path@number`."""
        path, _, number = name.partition("@")
        for call in self._calls.values():
            if (call.path, call.number) == (path, int(number or 0)):
                return call
        return ModuleCall.saved(path, NO_CLASS, int(number or 0), None)  # it has no nodes

    def _call(self, node: Node) -> ModuleCall | None:
        """The innermost call of a module that a node of torch's is part of."""
        call: ModuleCall | None = None
        keys: tuple[str, ...] = ()
        for key, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
            if key == NO_MODULE:
                continue
            keys = (*keys, key)
            known = self._calls.get(keys)
            if known is None:
                again = _AGAIN.search(key)
                name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
                number = int(again[1]) if again else 0
                known = ModuleCall.saved(_AGAIN.sub("", path), name, number, call)
                self._calls[keys] = known
            call = known
        return call


def root_class(nodes: Iterable[Node]) -> str | None:
    """The name of the class that torch's program was made from, if a node knows it."""
    for node in nodes:
        for path, kind in (node.meta.get("nn_module_stack") or {}).values():
            if path == "":
                name = kind if isinstance(kind, str) else kind.__qualname__
                return name.rpartition(".")[2]
    return None


def origin_of(trace: str | None) -> Origin | None:
    """The innermost line of the user in the stack trace of a node; None where there is none."""
    for file, line, function, text in reversed(_FRAME.findall(trace or "")):
        if not _OF_TORCH.search(file) and not sites.is_framework(file):
            return Origin(file, int(line), function, text.strip())
    return None


def _assigned(code: str) -> Iterator[tuple[int, str]]:
    """The line and the variable of each assignment in generated code."""
    for statement in ast.walk(ast.parse(code)):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.lineno, statement.targets[0].id
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.lineno, statement.target.id
