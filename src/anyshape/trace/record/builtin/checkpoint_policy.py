"""The policy of a selective checkpoint: a function that eager execution asks after every op.

The program keeps all that autograd saves, and asks nobody. That is no difference if the policy does
nothing but answer: its code calls nothing and writes nothing but its own variables.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import TYPE_CHECKING, Any, Final

from anyshape.torch_compat.selective_checkpoint import policy_of
from anyshape.trace.twin.twin import code_behind

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder

_ACTS: Final = ("CALL", "IMPORT", "DELETE", "YIELD", "AWAIT", "RAISE", "SETUP_WITH", "BEFORE_WITH")
_WRITES: Final = ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "STORE_NAME")
_INTRINSIC: Final = "INTRINSIC"  # steps of Python's own, such as a list that becomes a tuple


def is_silent_checkpoint(recorder: Recorder, mode: Any) -> bool:
    """Whether a mode is one of a selective checkpoint whose policy only answers."""
    policy = policy_of(mode)
    while type(policy) is functools.partial:
        policy = policy.func
    return policy is not None and _only_answers(recorder.real_function(policy) or policy)


def _only_answers(f: Any) -> bool:
    if type(f) is not types.FunctionType:
        return False
    code = code_behind(f.__code__) or f.__code__
    own = {*code.co_cellvars}
    for step in dis.get_instructions(code):
        name = step.opname
        acts = any(part in name for part in _ACTS) and _INTRINSIC not in name
        if acts or name in _WRITES or (name == "STORE_DEREF" and step.argval not in own):
            return False
    return True
