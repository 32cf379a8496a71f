"""What each size and number among the inputs of a call is: static, backed or unbacked.

For a dimension the first of these decides: an unbacked mark, a dynamic mark, a static mark, the
source lists (unbacked, dynamic, static), `dynamic`. Attributes of modules are static unless a mark
or a list says otherwise. Truth values are static always, and so are floats that are not finite and
integers beyond 64 bits. An integer is not a size: it may be negative, and 0 and 1 are nothing
special.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.dynamism import sources
from anyshape.compile.dynamism.history import History
from anyshape.compile.dynamism.specialized_mark import need_free
from anyshape.domain import INF
from anyshape.env.ladder.reason import interval_text
from anyshape.errors import ArgumentError, RuntimeAssertError, nearest
from anyshape.expr import eq0
from anyshape.symbolic.numpy_scalar import scalar_name
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.argument.marks import marks_of
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED, Known

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from anyshape.env import Env
    from anyshape.expr import Expr
    from anyshape.trace.argument.attribute import Attribute
    from anyshape.trace.argument.marks import Mark
    from anyshape.trace.argument.size_chooser import Chosen, Spot
    from anyshape.trace.capture import Captured

    Key = tuple[int, int | None]  # a leaf and a dimension of it; None for a number

_INT64: Final = 2**63


class Policy:
    """The policy of one compiled function.

    `dynamic` is None: static at first, then what has changed is backed; True: all backed; False:
    all static; "unbacked": sizes and integers unbacked; floats, which programs test for their
    range, and scalars of NumPy, which have one, backed.
    """

    def __init__(self, dynamic: bool | str | None = None, history: History | None = None) -> None:
        if not (dynamic is None or type(dynamic) is bool or dynamic == UNBACKED):
            raise ArgumentError(
                f"dynamic cannot be {dynamic!r}",
                fix=nearest(dynamic, [UNBACKED])
                + 'None: what changes; True: everything; False: nothing; "unbacked": everything'
                " without looking at it",
            )
        self.dynamic = dynamic
        self.history = History() if history is None else history
        self._warned: set[str] = set()

    def choice(
        self,
        names: Sequence[str],
        flat: Sequence[Any],
        attributes: Sequence[Attribute] = (),
        constants: Container[int] = (),
    ) -> Choice:
        """What to trace a call with: its leaves with their names, the attributes last.

        Numbers at the places `constants` are static until they change, whatever `dynamic` is.

        Records the call in the history. Warns once about each entry of the source lists that
        matches nothing. Raises if the call violates its own marks.
        """
        count = len(flat) - len(attributes)
        varies = [True] * count + [a.varies for a in attributes]
        noted = [i for i, varying in enumerate(varies) if varying]
        self.history.note([names[i] for i in noted], [flat[i] for i in noted])
        lists = sources.current()
        unmatched = [e for e in lists.unmatched(names, flat) if e not in self._warned]
        if unmatched:
            self._warned.update(unmatched)
            sources.warn_unmatched(unmatched, names)
        kinds: dict[Key, str] = {}
        marks: dict[Key, Mark] = {}
        for leaf, (name, x) in enumerate(zip(names, flat, strict=True)):
            default = self._default if varies[leaf] else _static
            if not isinstance(x, torch.Tensor):
                if leaf in constants and not self.history.is_dynamic(name, None, x):
                    default = _static
                named = lists.kind(name) if _may_vary(x) else STATIC
                kinds[leaf, None] = named or default(name, None, x)
                continue
            marks.update({(leaf, d): mark for d, mark in marks_of(x).items()})
            for d in range(x.dim()):
                kinds[leaf, d] = lists.kind(name, d, x.dim()) or default(name, d, x)
        _need_true(marks, names, flat)
        return Choice(kinds, marks)

    def _default(self, source: str, dim: int | None, x: Any) -> str:
        """What a size or number of the leaf `x` is where nothing else is said of it."""
        if self.dynamic is None:
            return BACKED if self.history.is_dynamic(source, dim, x) else STATIC
        if self.dynamic is False:
            return STATIC
        is_backed = self.dynamic is True or type(x) is float or scalar_name(x)
        return BACKED if is_backed else UNBACKED


def _static(source: str, dim: int | None, x: Any) -> str:
    return STATIC


class Choice:
    """The `SizeChooser` of one call.

    Its choices stay what they are, whatever is seen or set later: another branch of the same
    program may be traced then. It keeps no input alive.
    """

    separate = False

    def __init__(self, kinds: Mapping[Key, str], marks: Mapping[Key, Mark]) -> None:
        self._kinds = kinds
        self._marks = marks
        self._env: Env | None = None
        self._by_id: dict[str, tuple[str, Expr]] = {}

    def prepare(self, env: Env, sizes: Mapping[Key, Any]) -> None:
        """Begin a trace in `env`."""
        self._env = env
        self._by_id = {}

    def __call__(self, spot: Spot) -> Chosen:
        """What the size or number is."""
        place = spot.leaf, spot.dim
        mark = self._marks.get(place)
        if mark is not None:
            return self._marked(spot, mark)
        kind = self._kinds[place]
        if kind == UNBACKED and type(spot.value) is int:
            return UNBACKED, {"hint": spot.value}
        return kind

    def check(self, captured: Captured) -> None:
        """Raise if the program needs less than what a mark said would vary."""
        need_free(captured, {p: mark for p, mark in self._marks.items() if mark.strict})

    def _marked(self, spot: Spot, mark: Mark) -> Chosen:
        if mark.kind == STATIC:
            return STATIC
        if mark.kind == UNBACKED and mark.shape_id is not None:
            return self._equal(spot, mark, mark.shape_id)
        known = {"min": mark.min, "max": mark.max}
        if mark.kind == UNBACKED:
            known["hint"] = mark.hint
        return mark.kind, {k: v for k, v in known.items() if v is not None}

    def _equal(self, spot: Spot, mark: Mark, shape_id: str) -> Known:
        """An unbacked size that the program asserts to be equal to the others with its id."""
        env = self._env
        assert env is not None
        hint = spot.value if mark.hint is None else mark.hint
        e = env.unbacked(source=spot.source, size=True, min=mark.min, max=mark.max, hint=hint)
        source, first = self._by_id.setdefault(shape_id, (spot.source, e))
        if first is not e:
            env.assume(eq0(e - first), _differ(source, spot.source, shape_id))
        return Known(SymInt(e, env), binds=True)


def _may_vary(x: Any) -> bool:
    """Whether a number may be a symbol."""
    x = x.item() if scalar_name(x) else x
    if type(x) is float:
        return math.isfinite(x)
    return type(x) is int and -_INT64 <= x < _INT64


def _need_true(marks: Mapping[Key, Mark], names: Sequence[str], flat: Sequence[Any]) -> None:
    """Raise if a size of this call is outside the range of its mark, or differs from its like."""
    by_id: dict[str, tuple[str, int]] = {}
    for (leaf, d), mark in marks.items():
        n, source = flat[leaf].size(d), f"{names[leaf]}.size({d})"
        if (mark.min is not None and n < mark.min) or (mark.max is not None and n > mark.max):
            low, high = 0 if mark.min is None else mark.min, INF if mark.max is None else mark.max
            raise RuntimeAssertError(
                f"{source} is {n} and marked to be in {interval_text(low, high)}",
                fix="mark the tensor again, with bounds that hold",
                code="AS317",
            )
        if mark.shape_id is not None:
            first, size = by_id.setdefault(mark.shape_id, (source, n))
            if size != n:
                raise RuntimeAssertError(
                    _differ(first, source, mark.shape_id),
                    why=f"they are {size} and {n}",
                    code="AS317",
                )


def _differ(source: str, other: str, shape_id: str) -> str:
    return f"{source} and {other} are marked to be equal, by shape_id {shape_id!r}, and differ"
