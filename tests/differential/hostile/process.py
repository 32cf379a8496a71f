"""The state of the process that programs read and write: described, and put back after each run."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from anyshape.errors import AnyshapeWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = ("PYTEST", "TORCHINDUCTOR")  # variables that others set
FLAGS: dict[str, tuple[Any, Any]] = {  # how each is read and written
    "grad": (torch.is_grad_enabled, torch.set_grad_enabled),
    "dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "deterministic": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "mkldnn": (lambda: torch.backends.mkldnn.enabled, torch.backends.mkldnn.set_flags),
    "threads": (torch.get_num_threads, torch.set_num_threads),
    "autocast": (
        lambda: torch.is_autocast_enabled("cpu"),
        lambda on: torch.set_autocast_enabled("cpu", on),
    ),
    "anomaly": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "flash": (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    "math": (torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    "frugal": (
        torch.backends.cuda.mem_efficient_sdp_enabled,
        torch.backends.cuda.enable_mem_efficient_sdp,
    ),
    "cudnn": (lambda: torch.backends.cudnn.enabled, torch.backends.cudnn.set_flags),
    "benchmark": (
        lambda: torch.backends.cudnn.benchmark,
        lambda on: torch.backends.cudnn.set_flags(_benchmark=on),
    ),
    "tf32": (
        lambda: torch.backends.cuda.matmul.allow_tf32,
        lambda on: setattr(torch.backends.cuda.matmul, "allow_tf32", on),
    ),
    "filled": (
        lambda: torch.utils.deterministic.fill_uninitialized_memory,
        lambda on: setattr(torch.utils.deterministic, "fill_uninitialized_memory", on),
    ),
    "always": (torch.is_warn_always_enabled, torch.set_warn_always),
    "folder": (os.getcwd, os.chdir),
    "logging": (lambda: logging.root.manager.disable, logging.disable),
}


def modes() -> tuple[Any, ...]:
    """The flags and the environment."""
    flags = ((name, str(read())) for name, (read, _) in FLAGS.items())
    return *flags, *sorted(v for v in os.environ.items() if not v[0].startswith(OTHERS))


def dice() -> tuple[Any, ...]:
    """The state of the random generators."""
    state = np.random.get_state()
    return (
        hash(torch.get_rng_state().numpy().tobytes()),
        hash(random.getstate()),
        hash(state[1].tobytes()) + state[2],
    )


@contextlib.contextmanager
def put_back(seed: int = 7) -> Iterator[None]:
    """Seed all generators; put back flags, environment, modules and random state at the end."""
    flags = {name: read() for name, (read, _) in FLAGS.items()}
    environment, modules = dict(os.environ), set(sys.modules)
    random_states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # between calls
            yield
    finally:
        for name, (read, write) in FLAGS.items():
            if read() != flags[name]:
                write(flags[name])
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        for name in [n for n in sys.modules if n not in modules and n.startswith("hostile_")]:
            del sys.modules[name]
        torch.set_rng_state(random_states[0])
        random.setstate(random_states[1])
        np.random.set_state(random_states[2])


class Heard(logging.Handler):
    """What a call said: on stdout and stderr, in logs, as warnings."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.out, self.err = io.StringIO(), io.StringIO()
        self.logs: list[tuple[Any, ...]] = []
        self.warnings: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("anyshape", "torch")):
            self.logs.append((record.name, record.levelname, record.getMessage()))

    @contextlib.contextmanager
    def listen(self) -> Iterator[None]:
        logging.root.addHandler(self)
        try:
            with (
                contextlib.redirect_stdout(self.out),
                contextlib.redirect_stderr(self.err),
                warnings.catch_warnings(record=True) as found,
            ):
                warnings.simplefilter("always")
                yield
        finally:
            logging.root.removeHandler(self)
            self.warnings = found

    def said(self) -> tuple[Any, ...]:
        """All of it, without anyshape's own warnings."""
        own = [w for w in self.warnings if not issubclass(w.category, AnyshapeWarning)]
        told = tuple((w.category.__name__, str(w.message)) for w in own)
        return self.out.getvalue(), self.err.getvalue(), tuple(self.logs), told

    def warned(self) -> bool:
        """Whether anyshape said something."""
        return any(issubclass(w.category, AnyshapeWarning) for w in self.warnings)
