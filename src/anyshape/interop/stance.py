"""The stance: how compiled functions serve calls. Ours wins over that of `torch.compiler`."""

from __future__ import annotations

from typing import Final

from anyshape.config import config
from anyshape.errors import UnsupportedError
from anyshape.torch_compat.dynamo import has_stance
from anyshape.torch_compat.dynamo import stance as torch_stance
from anyshape.torch_compat.thread_state import dispatch_mode_depth, saved_tensors_hooks
from anyshape.torch_compat.torch_function import has_function_mode

_OURS: Final = {"aot_eager_then_compile": "eager_then_compile"}


def is_ordinary() -> bool:
    """Whether calls are served as usual, and nothing is audited."""
    return config.is_ordinary() and not has_stance()


def stance() -> str:
    """`config.stance`, or what `torch.compiler.set_stance` says where that is the default."""
    own = config.stance
    if own != "default":
        return own
    theirs = torch_stance()
    return _OURS.get(theirs, theirs)


def is_watched(*, is_lowered: bool, fullgraph: bool) -> bool:
    """Whether a mode or hooks of the caller would see other calls than those of the function.

    A function mode sees what a trace asks; a dispatch mode, and hooks on saved tensors, see what
    a compiler makes of the ops. A dispatch mode sees all ops of the function with `fullgraph`, too,
    as under torch.compile; a function mode is an error then.
    """
    if is_lowered and dispatch_mode_depth() > 0:
        return True
    if fullgraph:
        if has_function_mode():
            raise UnsupportedError(
                "a function with fullgraph=True is traced within a function mode of the caller",
                why="the mode would see what the trace asks",
                fix="leave fullgraph out: the function then runs eagerly within the mode",
            )
        return False
    return has_function_mode() or (is_lowered and saved_tensors_hooks() is not None)
