"""Warnings that come while a compiler of torch works: shown once it has succeeded.

A compiler that fails may have warned of why, as autograd does of a backward that cannot run. The
program then runs as plain Python, and says itself what eager execution says.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any


class HeldWarnings:
    """A block in which one thread's warnings wait; an error that leaves it drops them."""

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._held: list[tuple[Any, ...]] = []
        self._show = warnings.showwarning
        hold: Any = self._hold
        self._own = hold  # one object: each read of a method makes another
        warnings.showwarning = hold

    def _hold(self, *args: Any) -> None:
        if threading.get_ident() == self._thread:
            self._held.append(args)
        else:
            self._show(*args)

    def __exit__(self, error: Any, *_: object) -> None:
        if warnings.showwarning is self._own:
            warnings.showwarning = self._show
        if error is None:
            for args in self._held:
                self._show(*args)
        elif self._held:
            with warnings.catch_warnings():  # which forgets what was shown at which line
                pass
