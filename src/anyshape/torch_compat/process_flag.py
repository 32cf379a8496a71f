"""Settings of the process that torch's kernels and autograd read: which there are, to get and set.

torch keeps them behind functions of its C module: `_set_x(value)` with `_get_x()` or
`_is_x_enabled()`. They are found by these names, so that those of another release are found too.
Most public ways to them are Python, as `torch.backends` and `use_deterministic_algorithms`.
What has a setter and no getter is in `BLIND_SETTERS`: nobody can tell whether it was set.

Without them, a program that chooses kernels for a part of itself could not be repeated.
"""

from __future__ import annotations

import functools
import re
import types
from typing import Any, Final, NamedTuple

import torch

# of modes that a trace records by itself, of dispatch and transforms, of one tensor, and of threads
_APART: Final = re.compile(
    "_?set_(grad_enabled|fwd_grad_enabled|default_dtype|default_tensor_type|autocast_.*"
    "|torch_function_state|tracing_state|dispatch_mode|skip_next_torch_function|graph_exec_group"
    "|meta_in_tls_dispatch_include|only_lift_cpu_tensors|generator_metaclass"
    "|conj|neg|tensor_metadata|value_trace|thread_name|num_threads|num_interop_threads)"
)
_COUPLED: Final = re.compile(
    "cu(blas|dnn)_allow_tf32|fp32_precision|float32"
)  # to set one of these may change the others
_PRECISION: Final = "_set_fp32_precision_setter"
_GET_PRECISION: Final = "_get_fp32_precision_getter"
_PRECISE: Final = (
    ("generic", "all"),
    *[(device, op) for device in ("cuda", "mkldnn") for op in ("all", "matmul", "conv", "rnn")],
)
_SEVERAL: Final = {
    "set_anomaly_enabled": ("is_anomaly_enabled", "is_anomaly_check_nan_enabled"),
    "_set_deterministic_algorithms": (
        "_get_deterministic_algorithms",
        "_get_deterministic_algorithms_warn_only",
    ),
}
_COMPOSED: Final = {  # in Python: they set something of torch's compilers, too
    "use_deterministic_algorithms": "_set_deterministic_algorithms",
}
_SECOND: Final = {"set_anomaly_enabled": True, "_set_deterministic_algorithms": False}  # left out

_ALL: Final = {
    name: f for name, f in vars(torch._C).items() if isinstance(f, types.BuiltinFunctionType)
}
_SETTERS: Final = [
    name for name in _ALL if re.match("_?(jit_)?set_", name) and not _APART.fullmatch(name)
]


class Place(NamedTuple):
    """One setting: a getter and its arguments."""

    getter: str
    args: tuple[Any, ...] = ()

    def get(self) -> Any:
        """What it is. Some cannot be read after others were set: they give None."""
        try:
            return _ALL[self.getter](*self.args)
        except (RuntimeError, TypeError):
            return None

    def __str__(self) -> str:
        return f"{self.getter}({', '.join(map(repr, self.args))})"

    @property
    def is_coupled(self) -> bool:
        """Whether it may change where another setting is set."""
        return _COUPLED.search(self.getter) is not None


def _getters(setter: str) -> tuple[str, ...]:
    """The functions without arguments that give what a setter sets, if there are any."""
    if setter in _SEVERAL:
        return _SEVERAL[setter]
    about = re.sub("^_?set_", "", setter)
    names = [f"{start}_{about}" for start in ("_get", "get", "_is", "is")]
    names += [f"_is_{about}_enabled", f"_get_{about.removeprefix('sdp_use_')}_sdp_enabled"]
    for name in names:
        if name in _ALL:
            try:
                _ALL[name]()
            except (TypeError, RuntimeError):  # it wants arguments, or a device
                continue
            return (name,)
    return ()


_PAIRS: Final = {setter: found for setter in _SETTERS if (found := _getters(setter))}

FLAG_SETTERS: Final[dict[str, Any]] = {
    **{name: _ALL[name] for name in (*_PAIRS, _PRECISION) if name in _ALL},
    **{name: getattr(torch, name) for name in _COMPOSED},
}
"""Functions that set what others give, by name: in C, and those that set more than these."""

FLAG_GETTERS: Final = {
    name: _ALL[name]
    for name in (*[g for found in _PAIRS.values() for g in found], _GET_PRECISION)
    if name in _ALL
}
"""The functions in C that give it."""

BLIND_SETTERS: Final = {name: _ALL[name] for name in _SETTERS if name not in FLAG_SETTERS}
"""Functions in C that set something for which there is no getter."""


AUTOCAST_SETTERS: Final = [f for name, f in _ALL.items() if name.startswith("set_autocast_")]
"""Functions in C that set a part of autocast; some of them are for one device."""


def places_set(setter: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Place, Any]:
    """What the getters give after this call of a setter, as far as that is known; the others of
    `Place.is_coupled` may have changed, if one of these is.
    """
    setter = _COMPOSED.get(setter, setter)
    if setter == _PRECISION:
        return {Place(_GET_PRECISION, args[:-1]): args[-1]}
    getters = _PAIRS[setter]
    if setter in _SEVERAL:
        first, second, *_ = (*args, *kwargs.values(), _SECOND[setter])
        return dict(zip(map(Place, getters), (first, second), strict=True))
    now = Place(getters[0]).get()
    value = tuple(args) if type(now) is tuple else args[0]
    if now is None:  # a setting that this build does not have
        value = None
    return {Place(getters[0]): tuple(value) if type(value) is list else value}


MODE_GETTERS: Final = {
    name: _ALL[name]
    for name in (
        *("is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype"),
        *("is_autocast_enabled", "get_autocast_dtype", "is_autocast_cache_enabled"),
    )
}
"""The functions in C that give modes, which a trace records by itself."""

GETTERS: Final = {**FLAG_GETTERS, **MODE_GETTERS}
"""Both."""


PLACES: Final = (
    *[Place(name) for name in FLAG_GETTERS if name != _GET_PRECISION],
    *[Place(_GET_PRECISION, p) for p in _PRECISE if _GET_PRECISION in _ALL],
)
"""All settings."""

_READS: Final = [functools.partial(_ALL[p.getter], *p.args) for p in PLACES]


def read_flags() -> list[Any]:
    """What all settings are. Some cannot be read after others were set: they give None."""
    try:
        return [read() for read in _READS]
    except RuntimeError:
        return [place.get() for place in PLACES]


def set_flags(values: list[Any]) -> None:
    """Make the settings what `read_flags` gave. One may change others, so this takes turns."""
    wanted = dict(zip(PLACES, values, strict=True))
    for _ in range(3):
        found = read_flags()
        if found == values:
            return
        now = dict(zip(PLACES, found, strict=True))
        for setter, getters in _PAIRS.items():
            were = [wanted[Place(getter)] for getter in getters]
            if None not in were and [now[Place(getter)] for getter in getters] != were:
                _restore(setter, were)
        for place in [p for p in PLACES if p.args and wanted[p] != now[p]]:
            _ALL[_PRECISION](*place.args, wanted[place])


def _restore(setter: str, values: list[Any]) -> None:
    if setter == "_set_deterministic_algorithms":
        _ALL[setter](values[0], warn_only=values[1])
    elif type(values[0]) is tuple:
        _ALL[setter](*values[0])
    else:
        _ALL[setter](*values)
