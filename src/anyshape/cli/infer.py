"""`anyshape infer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import anyshape
from anyshape.cli.command import command
from anyshape.cli.target import read_target
from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from anyshape.cli.console import Output


@command("infer")
@click.argument("target")
def infer(output: Output, target: str) -> int:
    """Print the dynamic_shapes that several calls show.

    TARGET is pkg.module:factory; what differs between its example and its calls is dynamic.
    """
    made = read_target(target, output)
    if not made.calls:
        raise ArgumentError(
            f"{target} has an example and no calls to compare it with",
            fix="return a dict with fn, args and calls, a list of further arguments",
        )
    calls = [_call(made.fn, call) for call in (made.example, *made.calls)]
    spec = anyshape.infer_dynamic_shapes(made.fn, *calls)
    code = f"dynamic_shapes={_code(spec)}"
    output.text(code)
    output.result(dynamic_shapes=_plain(spec), code=code)
    return 0


def _call(fn: Any, call: Any) -> Any:
    """A call as `infer_dynamic_shapes` takes it."""
    if not call.kwargs:
        return call.args
    if not call.args:
        return call.kwargs
    import inspect

    target = fn.forward if hasattr(fn, "forward") else fn
    return dict(inspect.signature(target).bind(*call.args, **call.kwargs).arguments)


def _code(spec: Any) -> str:
    """A spec as Python; everything that is no container and not None is dynamic."""
    if spec is None:
        return "None"
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{k!r}: {_code(v)}" for k, v in spec.items()) + "}"
    if isinstance(spec, list | tuple):
        return "[" + ", ".join(map(_code, spec)) + "]"
    return "Dim.DYNAMIC"


def _plain(spec: Any) -> Any:
    if spec is None:
        return None
    if isinstance(spec, dict):
        return {str(k): _plain(v) for k, v in spec.items()}
    return [_plain(v) for v in spec] if isinstance(spec, list | tuple) else "DYNAMIC"
