"""The module of a program: the names of the exported module, and the program as its forward.

A call reads the tensors from the places where they are now, so that optimizers, `load_state_dict`,
`torch.func.functional_call`, parametrizations and copies work as for any module. Where other
tensors are found than those of the last call, the program is bound to them; they must have the form
that it was traced for, and tied ones must still be tied.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import StateError
from anyshape.export.state.naming import PARAMETER
from anyshape.export.state.root import root_of
from anyshape.export.state.state import Form
from anyshape.export.state.state_dict import have_equal_values, need_apart
from anyshape.export.state.submodule import Submodule, class_named, need_alike
from anyshape.torch_compat.module_attribute import (
    BUFFERS,
    MODULES,
    NON_PERSISTENT,
    PARAMETERS,
)

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterable, Mapping

    from anyshape.export.program import ExportedProgram
    from anyshape.export.state.state import State

_Module = torch.nn.Module


class ProgramModule(Submodule):
    """An `nn.Module` that runs an exported program on its own parameters and buffers.

    They are the tensors of the program: training one trains the other. A deep copy has its own.
    """

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__(program.state.training, "")
        owners = {e.name.rpartition(".")[0] for e in program.state.entries if e.is_registered}
        self.anyshape_origins = _origins(program, owners)
        self._anyshape_build(program.state)
        for call in program.module_calls:
            if call.path is not None and "[" not in call.path:
                self._anyshape_at(call.path, program.state).anyshape_class = call.class_name
        del self.anyshape_origins
        self.anyshape_bound = _Bound(self, copy.copy(program))

    def _anyshape_build(self, state: State) -> None:
        """Register the tensors under all their names."""
        for e in state.entries:
            if e.is_registered:
                path, _, name = e.name.rpartition(".")
                # A function may have any name for a tensor, so nothing checks it.
                own = vars(self._anyshape_at(path, state))
                own[PARAMETERS if e.kind == PARAMETER else BUFFERS][name] = e.tensor
                if not e.is_saved:
                    own[NON_PERSISTENT].add(name)

    def anyshape_place(self, name: str) -> tuple[torch.nn.Module, str]:
        """The module that has a tensor, and the name of the tensor in it."""
        *path, last = name.split(".")
        owner: torch.nn.Module = self
        for part in path:
            owner = vars(owner)[MODULES][part]
        return owner, last

    def _anyshape_at(self, path: str, state: State) -> Submodule:
        """The module at a path; one that is at several paths is one module here too."""
        if not path:
            return self
        outer, _, name = path.rpartition(".")
        owner = self._anyshape_at(outer, state)
        found = vars(owner)[MODULES].get(name)
        if found is None:
            if path in state.shared:
                found = self._anyshape_at(state.shared[path], state)
            else:
                kind, original = self.anyshape_origins.get(path, ("", None))
                found = class_named(kind)(state.training, path)
                found.anyshape_class = kind
                found.anyshape_resemble(original)
            vars(owner)[MODULES][name] = found
        assert isinstance(found, Submodule)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """As for every module; tensors that are assigned to tied names with equal values are tied
        again.
        """
        keys = super().load_state_dict(state_dict, strict=strict, assign=assign)
        for name, first in self.anyshape_bound.aliases.items() if assign else ():
            owner, last = self.anyshape_place(name)
            tensor, same = (self.anyshape_bound.get(n) for n in (name, first))
            registry = vars(owner)[PARAMETERS]
            if last in registry and tensor is not same and have_equal_values(tensor, same):
                registry[last] = same
        return keys

    register_forward_hook = _Module.register_forward_hook
    register_forward_pre_hook = _Module.register_forward_pre_hook
    register_full_backward_hook = _Module.register_full_backward_hook
    register_full_backward_pre_hook = _Module.register_full_backward_pre_hook
    register_backward_hook = _Module.register_backward_hook

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        return self.anyshape_bound.program()(*args, **kwargs)

    def anyshape_signature(self) -> inspect.Signature:
        """The signature of a call, for an export of the module."""
        return self.anyshape_bound.program().anyshape_signature()

    def __deepcopy__(self, memo: dict[int, Any]) -> ProgramModule:
        made = ProgramModule(copy.deepcopy(self.anyshape_bound.program(), memo))
        memo[id(self)] = made
        return made

    def __copy__(self) -> ProgramModule:
        return ProgramModule(self.anyshape_bound.program())

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return ProgramModule, (self.anyshape_bound.program(),)


class _Bound:
    """A program over the tensors of a module, wherever they come from."""

    def __init__(self, module: ProgramModule, program: ExportedProgram) -> None:
        self._program = program
        entries = [e for e in program.state.entries if e.is_registered]
        self._places = [(e.name, _getter(module, e.name)) for e in entries]
        self._forms = [program.state.forms[e.name] for e in entries]
        self._last = [e.tensor for e in entries]
        named = {e.name for e in entries}
        ties = program.state.aliases()
        self.aliases = {n: first for n, first in ties.items() if n in named and first in named}

    def get(self, name: str) -> torch.Tensor:
        """The tensor that has a name in the module now."""
        return next(get for n, get in self._places if n == name)()

    def program(self) -> ExportedProgram:
        """The program over the tensors that are in the module now."""
        found = [get() for _, get in self._places]
        for t, form in zip(found, self._forms, strict=True):
            if t.dtype is not form.dtype or t.shape != form.shape or t.device != form.device:
                raise self._misfit(found)
        if any(a is not b for a, b in zip(found, self._last, strict=True)):
            self._bind(found)
        return self._program

    def _bind(self, found: list[torch.Tensor]) -> None:
        program = self._program
        state, replaced = program.state, dict[int, torch.Tensor]()
        for (name, _), old, new in zip(self._places, self._last, found, strict=True):
            if replaced.setdefault(id(old), new) is not new:
                raise StateError(
                    f"{name} is no longer tied to {state.entry(name).alias_of}",
                    why="the program was traced with one tensor under both names",
                    fix="assign one tensor to both",
                )
        need_apart(state, replaced)
        self._program, self._last = program.rebound(replaced), found

    def _misfit(self, found: list[torch.Tensor]) -> StateError:
        forms = [Form(tuple(t.shape), t.dtype, t.device) for t in found]
        pairs = zip(self._places, forms, self._forms, strict=True)
        name, actual, form = next((n, a, f) for (n, _), a, f in pairs if a != f)
        if actual.device.type == "meta" and self._program.state.entry(name).is_missing:
            return missing_error(self._program.name, [name])
        target = f"{str(actual.device)!r}" if actual.dtype is form.dtype else f"{actual.dtype}"
        fix = "" if actual.shape != form.shape else f"convert the program: program.to({target})"
        return StateError(f"{name} is {actual}, and the program was traced for {form}", fix=fix)


def _origins(
    program: ExportedProgram, owners: set[str]
) -> dict[str, tuple[str, torch.nn.Module | None]]:
    """The names of the classes of modules with tensors, and the modules, where they still are."""
    found: dict[str, tuple[str, torch.nn.Module | None]] = {}
    root = None if program.origin is None else root_of(program.origin.fn)
    for path, m in () if root is None else root.named_modules(remove_duplicate=False):
        if path in owners:
            found[path] = (f"{type(m).__module__}.{type(m).__qualname__}", m)
    for call in program.module_calls:
        if call.path and call.path in owners:
            found.setdefault(call.path, (call.class_name, call.module))
    return found


def _getter(module: ProgramModule, name: str) -> Callable[[], torch.Tensor]:
    """Reads a tensor from its place; one that is parametrized is an attribute."""
    *path, last = name.split(".")
    paths = [".".join(path[: i + 1]) for i in range(len(path))]
    places: list[Any] = [module.anyshape_place(f"{at}.")[0] for at in paths]

    def get() -> torch.Tensor:
        owner: torch.nn.Module = module
        for part, known in zip(path, places, strict=True):
            own = vars(owner)[MODULES].get(part)
            if own is not known:
                need_alike(own, known)
            owner = own
        for registry in (vars(owner)[PARAMETERS], vars(owner)[BUFFERS]):
            if last in registry:
                found = registry[last]
                break
        else:
            found = getattr(owner, last, None)
        if not isinstance(found, torch.Tensor):
            raise StateError(f"the module of the program has no tensor {name}")
        return found

    return get


def missing_error(program: str, names: Iterable[str]) -> StateError:
    """The error of a call of a program that was loaded without weights."""
    listed = [*names]
    more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
    return StateError(
        f"{program} has no values for {listed[0]}{more}",
        why="it was loaded without weights",
        fix="call load_state_dict first",
    )
