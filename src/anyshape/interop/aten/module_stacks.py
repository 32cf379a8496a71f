"""Modules and lines of nodes, as torch writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyshape.env.site import Site
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.graph.module_call import ModuleCall

_ROOT = "L__self__"


class ModuleStacks:
    """The `nn_module_stack` of each call, and the modules in the order of their first call."""

    def __init__(self, root: str) -> None:
        self.top = {_ROOT: ("", root)}
        self.paths: dict[str, None] = {}
        self._stacks: dict[int, dict[str, tuple[str, str]]] = {}
        self._lines: dict[Any, str] = {}

    def meta(self, step: Node) -> dict[str, Any]:
        """What the nodes of a call get."""
        found: dict[str, Any] = {"nn_module_stack": self._stack(step.module_call)}
        if step.site is not None:
            found["stack_trace"] = self._line(step.site)
        return found

    def around(self, call: ModuleCall) -> dict[str, Any]:
        """What nodes get that are written before a call of a module, for it."""
        return {"nn_module_stack": self._stack(call.outer)}

    def within(self, call: ModuleCall) -> dict[str, Any]:
        """What nodes get that are written at the end of a call of a module, in it."""
        return {"nn_module_stack": self._stack(call)}

    def _stack(self, call: ModuleCall | None) -> dict[str, tuple[str, str]]:
        if call is None:
            return self.top
        found = self._stacks.get(id(call))
        if found is None:
            found = self._stacks[id(call)] = {**self._stack(call.outer), **self._entry(call)}
        return found

    def _entry(self, call: ModuleCall) -> dict[str, tuple[str, str]]:
        path = call.path
        if not path:
            return {}
        again = f"@{call.number}" if call.number else ""
        self.paths.setdefault(path)
        return {f"{_ROOT}{path}{again}": (path, call.class_name)}

    def _line(self, site: Site) -> str:
        found = self._lines.get(site)
        if found is None:
            place = f'File "{site.file}", line {site.line}, in {site.function}'
            found = self._lines[site] = f"{place}\n    {site.text}" if site.text else place
        return found
