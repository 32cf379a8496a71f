"""The lowering of a program in regions, where that is possible and worth it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config
from anyshape.interop.assert_failure import AssertFailures
from anyshape.interop.regions.layout import Layouts
from anyshape.interop.regions.part import NoRegionsError
from anyshape.interop.regions.partition import choose_parts
from anyshape.interop.regions.region_program import RegionProgram, compile_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from anyshape.interop.backend import Backend
    from anyshape.interop.fakes import Fakes
    from anyshape.interop.runtime_wrapper import RuntimeWrapper
    from anyshape.interop.size_guards import GuardSorter
    from anyshape.trace.capture import Captured

_BACKENDS: Final = ("inductor", "aot_eager", "aot_eager_decomp_partition")
_GRAPHS: Final = "triton.cudagraphs"


def lower_regions(
    captured: Captured,
    wrapper: RuntimeWrapper,
    backend: Backend,
    fakes: Fakes,
    hints: dict[str, Any],
    flat: list[Any],
    sorter: GuardSorter,
    compile_one: Callable[..., Any],
) -> RegionProgram | str:
    """The program in regions; else why not, which is empty where none are wanted."""
    if config.regions == "off" or backend.name not in _BACKENDS:
        return ""
    try:
        _need_simple(captured, wrapper, backend)
        layouts = Layouts(captured, flat)
        chosen = choose_parts(captured, wrapper.outputs, layouts)
        with _overlapped(captured, backend):
            return compile_parts(
                captured,
                chosen,
                wrapper.outputs,
                fakes,
                hints,
                layouts,
                sorter,
                lambda module, given: compile_one(module, given, AssertFailures({}, [])),
            )
    except NoRegionsError as e:
        return f"none: {e}"


def _overlapped(captured: Captured, backend: Backend) -> AbstractContextManager[None]:
    """A block in which the C++ kernels of all parts are compiled side by side.

    Triton's are waited for, as they go into the cache of their graph.
    """
    graph = captured.graph
    devices = {v.meta.device for v in (*graph.inputs, *[v for v, _ in graph.constants])}
    if backend.compiler is not None or any(d is None or d.type != "cpu" for d in devices):
        return nullcontext()
    # Not at the top: it imports Inductor.
    from anyshape.torch_compat.inductor_compiler import kernels_side_by_side  # noqa: PLC0415

    return kernels_side_by_side()


def _need_simple(captured: Captured, wrapper: RuntimeWrapper, backend: Backend) -> None:
    """Raise for programs whose checks, or whose compiled code, are of the whole program."""
    if wrapper.inner or wrapper.late:
        raise NoRegionsError("the program checks numbers that only the run knows")
    if backend.settings.get(_GRAPHS):
        raise NoRegionsError("CUDA graphs are recorded of the whole program")
    if wrapper.storage.whole:
        raise NoRegionsError("as_strided reaches into the storage of an input")
