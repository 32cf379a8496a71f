"""Programs compiled on the first call, and again only where they must be. See the README.

The package shares its name with the function: Python makes it an attribute of `anyshape` when it is
imported, so it can be called too, and `anyshape.compile(...)` works either way.
"""

import sys
from types import ModuleType
from typing import Any

from anyshape.compile.audit import audit as audit
from anyshape.compile.compile import compile as compile
from anyshape.compile.compiled import Compiled as Compiled
from anyshape.events import Recompilation as Recompilation


class _Callable(ModuleType):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return compile(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
