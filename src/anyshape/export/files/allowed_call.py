"""Calls of functions that `torch.compiler.allow_in_graph` has marked, as plain data and back.

A file names the function by its module and its qualified name. Loading imports nothing: the module
must be there, and the process that loads must have marked the function, so that a file can call
only what the process has allowed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked, plain, structure
from anyshape.torch_compat.dynamo import is_allowed_in_graph
from anyshape.trace.opaque_call import OpaqueCall

if TYPE_CHECKING:
    from anyshape.export.files.stand_in import Classes

_FIELDS: Final = ("module", "name", "plain", "result", "taken")
_MAX_NAME: Final = 1000  # characters


def encode(call: OpaqueCall) -> dict[str, Any]:
    """The data of a call; raises if its function would not be found again."""
    module, name = call.function.__module__, call.function.__qualname__
    if _found(module, name) is not call.function:
        raise UnsupportedError(
            f"cannot save a program that calls {name}, which allow_in_graph has marked",
            why=f"{module}.{name} is not this function, so a process that loads would not find it",
            fix="define it at the top of a module, or make it an op with torch.library.custom_op",
        )
    if module == "__main__":
        raise UnsupportedError(
            f"cannot save a program that calls {name}, which allow_in_graph has marked",
            why="it is defined in the script that runs, which another process does not import",
            fix="define it in a module",
        )
    what = f"a result of {name}"
    return {
        "module": module,
        "name": name,
        "plain": [[place, plain.encode(value, what)] for place, value in call.plain.items()],
        "result": structure.encode(call.spec),
        "taken": list(call.taken),
    }


def decode(data: Any, where: str, classes: Classes) -> OpaqueCall:
    """The call in the data; LoadError if this process has not marked the function."""
    module, name, plain_, result, taken_ = checked.fields(data, _FIELDS, where)
    checked.text(module, where)
    checked.text(name, where)
    found = None if max(len(module), len(name)) > _MAX_NAME else _found(module, name)
    if found is None or not is_allowed_in_graph(found):
        raise LoadError(
            f"{where} calls {module[:60]}.{name[:60]}, which torch.compiler.allow_in_graph has not"
            " marked in this process",
            fix=f"import {module[:60]} before loading",
        )
    spec = structure.decode(result, where, classes)
    last = spec.num_leaves - 1
    taken = [checked.number(i, where, 0, last) for i in checked.items(taken_, where)]
    values: dict[int, Any] = {}
    for pair in checked.items(plain_, where):
        place, value = checked.items(pair, where, 2)
        values[checked.number(place, where, 0, last)] = plain.decode(value, where, 0)
    places = [*taken, *values]
    if len(set(places)) != len(places):
        raise LoadError(f"{where} has a result twice")
    return OpaqueCall(found, spec, tuple(taken), values)


def _found(module: str, name: str) -> Any:
    """The function of that name in a module that was imported; None if there is none."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found
