"""The stance: how compiled functions serve calls. Ours wins over that of `torch.compiler`."""

from __future__ import annotations

from typing import Final

from anyshape.config import config
from anyshape.torch_compat.dynamo import stance as torch_stance

_OURS: Final = {"aot_eager_then_compile": "eager_then_compile"}


def is_ordinary() -> bool:
    """Whether calls are served as usual, and nothing is audited."""
    return config.is_ordinary() and torch_stance() == "default"


def stance() -> str:
    """`config.stance`, or what `torch.compiler.set_stance` says where that is the default."""
    own = config.stance
    if own != "default":
        return own
    theirs = torch_stance()
    return _OURS.get(theirs, theirs)
