"""The one stream of events: what was traced, asked, guarded, specialized, lowered, recompiled.

Code emits an event with

    if Guard in listeners:
        emit(Guard(...))

so that an event without listeners costs one lookup and is never built. A listener that is given to
`subscribe` gets the events of the kinds that it names, in the current context (the scope of
`config.patch`), or everywhere.

A listener runs inside what it observes, often in the middle of a trace. It must not call torch or
branch on symbolic numbers; it should collect events, to be read afterwards. Events that a listener
causes are dropped. A listener that raises is closed, and its error is logged by the logger
`anyshape.events`; the observed program continues.

Events are records. `env`, `tracer` and conditions are the live objects: an event costs no text
until `str` or `text` is asked for. `site` is the user's line, `start` and `nanoseconds` are read
from `time.perf_counter_ns`. A timed event is emitted when it ends, so it follows what it contains.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from anyshape.errors import AnyshapeError, ArgumentError, counted, shortened, text_of
from anyshape.refusal import forgive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Listener: TypeAlias = Callable[[Any], object]


_WITHOUT_ANSWER: Final = ("assume", "learn")  # verbs

Site: TypeAlias = Any  # of `anyshape.env.site`, which is above this module: file, line, text

# ---------------------------------------------------------------------- the engine


class SymbolCreation(NamedTuple):
    """A symbol was created: a size, an integer or a float that is not a constant."""

    env: Any
    name: str
    kind: str
    source: str
    hint: float | None
    site: Site | None

    def __str__(self) -> str:
        label = f" = {self.source}" if self.source else ""
        return f"{self.kind} symbol {self.name}{label}{_at(self.site)}"


class Answer(NamedTuple):
    """The engine answered a question. `value` is None if it is unknown or the verb has none.

    Questions asked to answer it, and those that bounds decide immediately, are not events.
    """

    env: Any
    verb: str
    condition: Any
    value: bool | None
    site: Site | None
    start: int
    nanoseconds: int

    def __str__(self) -> str:
        end = f" is {self.value}"
        if self.value is None:
            end = "" if self.verb in _WITHOUT_ANSWER else " is unknown"
        return f"{self.verb}({self.env.text(self.condition)}){end}{_at(self.site)}"


class Guard(NamedTuple):
    """A guard was recorded: the program is valid only for inputs that satisfy the condition."""

    env: Any
    condition: Any
    origin: str
    site: Site | None

    @property
    def text(self) -> str:
        """The condition over the user's names."""
        return str(self.env.text(self.condition))

    def __str__(self) -> str:
        return f"guard {self.text} ({self.origin}){_at(self.site)}"


class Assert(NamedTuple):
    """A runtime assert was recorded: the program checks the condition when it runs."""

    env: Any
    condition: Any
    origin: str
    site: Site | None

    @property
    def text(self) -> str:
        """The condition over the user's names."""
        return str(self.env.text(self.condition))

    def __str__(self) -> str:
        return f"assert {self.text} ({self.origin}){_at(self.site)}"


class Replacement(NamedTuple):
    """A symbol was found to equal an expression of older ones."""

    env: Any
    name: str
    by: Any
    site: Site | None

    def __str__(self) -> str:
        return f"{self.name} is {self.env.text(self.by)}{_at(self.site)}"


class Specialization(NamedTuple):
    """A symbol was specialized: it has a single possible value."""

    env: Any
    name: str
    value: int
    site: Site | None

    def __str__(self) -> str:
        return f"{self.name} is always {self.value}{_at(self.site)}"


# ---------------------------------------------------------------------- tracing


class TraceStart(NamedTuple):
    """A trace of a function begins."""

    function: str
    tracer: Any

    def __str__(self) -> str:
        return f"trace of {self.function}"


class TraceEnd(NamedTuple):
    """A trace ended, with an error or with a graph in `tracer.graph`."""

    function: str
    tracer: Any
    error: BaseException | None
    start: int
    nanoseconds: int

    def __str__(self) -> str:
        end = counted(len(self.tracer.graph.nodes), "call", "calls")
        if self.error is not None:
            end = f"failed: {type(self.error).__name__}"
        if isinstance(self.error, AnyshapeError) and self.error.ends_path:
            end = self.error.what
        return f"trace of {self.function}: {end}, {_ms(self.nanoseconds)}"


class OpCall(NamedTuple):
    """A torch function was traced. `handler` is the function that handled the call.

    The calls inside the Python body of a function are emitted before its own.
    """

    tracer: Any
    op: Any
    handler: Any
    site: Site | None
    start: int
    nanoseconds: int

    def __str__(self) -> str:
        return f"{getattr(self.op, '__name__', self.op)}{_at(self.site)}"


class Deviation(NamedTuple):
    """An op may differ from eager execution: it does where `condition` holds at run time."""

    env: Any
    op: str
    condition: Any
    about: str
    site: Site | None

    def __str__(self) -> str:
        return f"{self.op} where {self.env.text(self.condition)}: {self.about}{_at(self.site)}"


class Phase(NamedTuple):
    """A step of an export ended, other than a trace."""

    name: str
    start: int
    nanoseconds: int

    def __str__(self) -> str:
        return f"{self.name}, {_ms(self.nanoseconds)}"


# ---------------------------------------------------------------------- compiling


class GraphBreak(NamedTuple):
    """A trace ended a segment: the run must answer `question` before Python can continue. `written`
    is the condition as the source has it. Without a tracer: a function was cut where it cannot be
    traced, for the reason `question`.
    """

    tracer: Any
    question: str
    site: Site | None
    written: str = ""  # if it is known

    @property
    def asked(self) -> str:
        """What the program stops for: the user's words for it, if they are known."""
        return (self.written or self.question) + ("" if self.tracer is None else "?")

    def __str__(self) -> str:
        return f"graph break: {self.asked}{_at(self.site)}"


class Lowering(NamedTuple):
    """A backend compiled a graph, or failed to."""

    backend: str
    graph: Any
    error: BaseException | None
    start: int
    nanoseconds: int

    def __str__(self) -> str:
        end = "" if self.error is None else f" failed: {text_of(self.error)}"
        calls = counted(len(self.graph.nodes), "call", "calls")
        return f"{self.backend}: {calls}{end}, {_ms(self.nanoseconds)}"


class Recompilation(NamedTuple):
    """A function is recompiled: `reasons` has one for each entry that rejected the call."""

    function: str
    reasons: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.function} is recompiled: {self.reasons[0]}"


class Fallback(NamedTuple):
    """A compiled function runs eagerly from this call on."""

    function: str
    why: str

    def __str__(self) -> str:
        return f"{self.function} runs eagerly from now on: {self.why}"


def _at(site: Site | None) -> str:
    return "" if site is None else f" at {site}"


def words(event: Any) -> str:
    """The text of an event without the place at its end."""
    return str(event).removesuffix(_at(getattr(event, "site", None)))


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.2f} ms"


KINDS: Final[tuple[type, ...]] = (
    SymbolCreation,
    Answer,
    Guard,
    Assert,
    Replacement,
    Specialization,
    TraceStart,
    TraceEnd,
    OpCall,
    Deviation,
    Phase,
    GraphBreak,
    Lowering,
    Recompilation,
    Fallback,
)


def _represent(event: Any) -> str:
    return shortened(f"<{type(event).__name__}: {event}>")


for _kind in KINDS:  # not that of a tuple: the fields are live objects, and large
    _kind.__repr__ = _represent  # type: ignore[assignment]  # a function is a method here

# ---------------------------------------------------------------------- who listens


class Subscription:
    """A listener and the kinds of its events, until `close` or the end of a `with` block."""

    __slots__ = ("_kinds", "everywhere", "listener")

    def __init__(
        self, listener: Listener, kinds: tuple[type, ...], *, everywhere: bool = False
    ) -> None:
        self.listener = listener
        self._kinds = kinds
        self.everywhere = everywhere
        if not everywhere:
            _here.set(_here.get() | {self})
        with _writing:
            for kind in kinds:
                listeners[kind] = (*listeners.get(kind, ()), self)

    def close(self) -> None:
        """Stop listening. Closing twice is allowed."""
        with _writing:
            for kind in self._kinds:
                left = tuple(s for s in listeners.get(kind, ()) if s is not self)
                if left:
                    listeners[kind] = left
                else:
                    listeners.pop(kind, None)
        _here.set(_here.get() - {self})

    def fail(self, event: Any, e: Exception) -> None:
        """Close a listener that raised."""
        from logging import getLogger  # noqa: PLC0415  the engine alone does not need it

        self.close()
        if isinstance(e, AnyshapeError):
            forgive(e)  # it is not the program's
        kind = type(event).__name__
        getLogger("anyshape.events").error(
            "a listener failed on %s and is closed", kind, exc_info=e
        )

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Delivery(threading.local):
    """Whether this thread is inside a listener."""

    running = False


listeners: Final[dict[type, tuple[Subscription, ...]]] = {}  # by kind; without empty tuples
_here: Final[ContextVar[frozenset[Subscription]]] = ContextVar(
    "anyshape.events", default=frozenset()
)
_writing: Final = threading.Lock()
_delivery: Final = _Delivery()


def subscribe(listener: Listener, *kinds: type, everywhere: bool = False) -> Subscription:
    """Call `listener(event)` for each event of these kinds; of all kinds if none is named.

    The listener gets the events of the current thread and context and of tasks that are started
    inside, or with `everywhere` those of the whole process.

    >>> from anyshape import events
    >>> from anyshape.env import Env
    >>> found = []
    >>> with events.subscribe(found.append, events.SymbolCreation):
    ...     n = Env().unbacked(source="mask.sum()", size=True)
    >>> found[0].name, found[0].source
    ('u0', 'mask.sum()')
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ArgumentError(
            f"{unknown[0]!r} is not a kind of event", fix="use the classes in anyshape.events.KINDS"
        )
    return Subscription(listener, kinds or KINDS, everywhere=everywhere)


def emit(event: Any) -> None:
    """Call the listeners of this kind of event, in its context or everywhere."""
    delivery = _delivery
    if delivery.running:
        return
    delivery.running = True
    here = _here.get()
    try:
        for subscription in listeners.get(type(event), ()):
            if subscription.everywhere or subscription in here:
                try:
                    subscription.listener(event)
                except Exception as e:
                    subscription.fail(event, e)
    finally:
        delivery.running = False


@contextmanager
def phase(name: str) -> Iterator[None]:
    """The body of a `with` block as a `Phase`."""
    start = perf_counter_ns()
    try:
        yield
    finally:
        if Phase in listeners:
            emit(Phase(name, start, perf_counter_ns() - start))
