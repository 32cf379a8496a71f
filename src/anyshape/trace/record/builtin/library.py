"""What is known of the modules of Python, and of methods in C, by their names.

A module that is missing in `PURE` is refused by name; one that is missing in the others has
functions that are called as if they only computed.
"""

from __future__ import annotations

import inspect
import sys
import threading
from typing import Any, Final

from anyshape.env.site import in_package

EFFECTFUL: Final = frozenset(
    ("posix", "nt", "_io", "_socket", "select", "signal", "_posixsubprocess", "_thread", "_ctypes",
     "fcntl", "mmap", "faulthandler", "_sqlite3", "_queue", "atexit", "_signal", "resource",
     "gc")
)  # fmt: skip
ARRAY_CHANGES: Final = frozenset(
    ("fill", "sort", "partition", "put", "resize", "itemset", "setfield", "setflags", "byteswap",
     "__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__")
)  # fmt: skip
# modules of Python whose functions only compute
PURE: Final = frozenset(
    ("abc", "ast", "base64", "bisect", "calendar", "collections", "colorsys", "contextlib", "copy",
     "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib",
     "heapq", "html", "inspect", "ipaddress", "json", "keyword", "math", "numbers",
     "operator", "packaging", "re", "statistics", "string", "struct", "textwrap", "types", "typing",
     "unicodedata", "urllib.parse", "warnings", "weakref", "zlib", "threading",
     "_weakrefset", "_collections_abc", "os", "traceback")
)  # fmt: skip
# modules whose classes keep functions that a trace finds again when it calls the object
KEEPING: Final = frozenset(("builtins", "functools", "types", "itertools", "collections"))
HARMLESS: Final = frozenset(("fspath", "allocate_lock", "RLock", "get_ident"))
ADVANCING: Final = frozenset(("__next__", "send", "throw", "close", "asend", "athrow", "aclose"))
VARYING: Final = ("time", "random", "_random", "secrets", "uuid", "numpy.random", "_datetime")
# functions that look at frames, or have them watched
WATCHING: Final[tuple[Any, ...]] = (
    sys._getframe, inspect.currentframe, inspect.stack, sys.gettrace, sys.settrace, sys.getprofile,
    sys.setprofile, threading.gettrace, threading.settrace, threading.getprofile,
    threading.setprofile,
)  # fmt: skip


def is_pure(module: str) -> bool:
    """Whether the functions of a module of Python only compute."""
    return module in PURE or any(in_package(module, name) for name in PURE)
