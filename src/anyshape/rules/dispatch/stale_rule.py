"""Rules that are out of date: torch accepts a call that the signature of the rule does not.

torch's own meta kernel serves such a call, about a hundred times slower than a rule. The program is
still correct, so this is a warning, given once for each rule.
"""

from __future__ import annotations

import inspect
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.env.site import warn
from anyshape.errors import RuleSignatureWarning
from anyshape.torch_compat.aten_op import schemas_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.rules.dispatch.table import Rule

_SIGNATURE_LIMIT: Final = 6  # in one warning
_warned: Final[set[Callable[..., Any]]] = set()


def warn_out_of_date(found: Rule, func: Any) -> None:
    """Warn that torch accepts a call of `func` which the rule does not."""
    rule = found.function
    if rule in _warned:
        return
    _warned.add(rule)
    site = capture_site()
    lines = [
        f"the shape rule of {found.name} does not take a call that torch {torch.__version__} takes"
        + (f", at {site}" if site else "")
        + "; torch's meta kernel answers such calls, about a hundred times slower",
        f"  rule: {rule.__module__}.{rule.__qualname__}{inspect.signature(rule)}",
        *[f"  torch: {text}" for text in torch_signatures(found.name, func)],
    ]
    warn(RuleSignatureWarning("\n".join(lines)))


def torch_signatures(name: str, func: Any) -> list[str]:
    """The signatures of an op in torch, as text."""
    if isinstance(func, types.FunctionType):
        return [f"{func.__name__}{inspect.signature(func)}"]
    return [str(schema) for schema in schemas_named(f"aten::{name}")][:_SIGNATURE_LIMIT]
