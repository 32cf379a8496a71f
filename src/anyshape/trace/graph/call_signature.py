"""`CallSignature`: what a call of a module got and gave, for programs that keep it.

Arguments and results are taken apart by torch's pytree, so that the structures are those that
torch's programs have. A leaf is a tensor, a number, a truth value, text or None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat import pytree
from anyshape.trace.scan import Scan

if TYPE_CHECKING:
    from anyshape.trace.graph.module_call import ModuleCall

PLAIN: Final = (SymInt, SymBool, SymFloat, int, float, bool, str, type(None))


class CallSignature(NamedTuple):
    """A call of a module with the leaves of its arguments and results, over values of the graph.

    `in_spec` is the structure of the pair of positional and named arguments.
    """

    call: ModuleCall
    inputs: list[Any]
    in_spec: Any
    outputs: list[Any]
    out_spec: Any


def frozen(tracer: Any, path: str, x: Any) -> tuple[list[Any], Any]:
    """The leaves of what the module at a path gets or gives, over values, and their structure."""
    if tracer.bodies:
        raise _not_kept(path, "a function that torch calls has a graph of its own", "")
    leaves, spec = pytree.tree_flatten(x)
    for leaf in leaves:
        if type(leaf) not in PLAIN and not isinstance(leaf, torch.Tensor):
            raise _not_kept(
                path,
                f"it gets or gives a {type(leaf).__name__}",
                f"register the class with {pytree.REGISTER}, or ",
            )
    return list(Scan(tracer).args(tuple(leaves))), spec


def _not_kept(path: str, why: str, fix: str) -> UnsupportedError:
    site = capture_site()
    return refused(
        UnsupportedError,
        f"the signature of {path} cannot be kept" + (f": it is called at {site}" if site else ""),
        why=why,
        fix=f"{fix}leave {path} out of preserve_module_call_signature",
    )
