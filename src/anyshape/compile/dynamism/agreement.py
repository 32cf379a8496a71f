"""Agreement between processes: what turns out dynamic in one of them becomes dynamic in all.

Each process of a group writes to the group's store what the others must know of a function: the
sizes and numbers of its first call, and the places that changed later. A thread reads what the
others write. Nobody waits for anybody: a process that is slow, does other things or has died costs
the others nothing, and ranks may trace different shapes at different times.

The first call of a function is traced as if there were no others. From then on each message that
makes a place dynamic which was static here has the next call traced anew; messages are taken one at
a time and in the order of the store. So all processes compile equally many programs: one for the
first call, and one for each place that differs between them or changes in any of them.
"""

from __future__ import annotations

import atexit
import functools
import json
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from anyshape.config import config
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning
from anyshape.torch_compat.process_group import default_group, is_alive, membership

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.torch_compat.process_group import Membership

_COUNT: Final = "anyshape/messages"
_SOONEST: Final = 0.02  # seconds between two looks at the store
_LATEST: Final = 0.5
_GROWTH: Final = 1.5
_LOOKS: Final = 250  # for a message whose writer may have died
_PATIENCE: Final = 2.0  # seconds for a look at the store to end


class Message(NamedTuple):
    """What one process says of a function: `first`, texts of the values of its first call by
    source, kind and dimension; `dynamic`, sources and dimensions that changed.
    """

    rank: int
    function: str
    first: tuple[tuple[str, str, tuple[tuple[int | None, str], ...]], ...] = ()
    dynamic: tuple[tuple[str, int | None], ...] = ()


class Member(Protocol):
    """One function in the agreement of a group: the messages of the others that wait for it."""

    def receive(self, message: Message) -> None:
        """Keep a message of another process. Called by the thread that reads."""

    def remind(self) -> bool:
        """Have the next call of the function take a message, if one waits; whether one does."""


class Ranks:
    """The processes of one group, as one of them sees them, while `is_there` says that it is."""

    def __init__(self, here: Membership, is_there: Callable[[], bool]) -> None:
        self.rank = here.rank
        self.is_there = is_there
        self._store = here.store
        self._lock = threading.Lock()
        self._members: dict[str, weakref.ref[Member]] = {}
        self._early: dict[str, list[Message]] = {}  # for functions that this process has not called
        self._ordinals: dict[str, int] = {}
        self._seen = 0
        self._late = 0  # how often the next message was looked for in vain
        self._stopped = threading.Event()
        self._awake = threading.Event()
        self._reader = threading.Thread(
            target=_read, args=(weakref.ref(self), self._stopped, self._awake), daemon=True,
            name="anyshape-agreement",
        )  # fmt: skip
        self._reader.start()
        atexit.register(_stop, weakref.ref(self))

    def join(self, key: str, member: Member) -> str:
        """Let a function take part; the name by which the processes know it.

        Functions with one key are told apart by the order of their first calls.
        """
        with self._lock:
            self._ordinals[key] = self._ordinals.get(key, 0) + 1
            name = f"{key}#{self._ordinals[key]}"
            self._members[name] = weakref.ref(member)
            early = self._early.pop(name, [])
        for message in early:
            member.receive(message)
        return name

    def tell(self, message: Message) -> None:
        """Write a message for the others. What cannot be written is a warning."""
        try:
            number = self._store.add(_COUNT, 1)
            self._store.set(_key(number), json.dumps(message))
        except RuntimeError as e:  # the process that holds the store has ended
            self.stop()
            warn(
                AnyshapeWarning(
                    f"the other processes are not told what is dynamic: {str(e).splitlines()[0]}",
                    code="AS723",
                )
            )
        self._awake.set()

    def read(self) -> bool:
        """Hand out what was written since the last time; whether there was something, or a member
        has messages left.
        """
        count = self._store.add(_COUNT, 0)
        news = self._seen < count
        while self._seen < count:
            key = _key(self._seen + 1)
            if not self._store.check([key]):  # its writer is between the number and the text
                self._late += 1
                if self._late < _LOOKS:
                    break
            else:
                self._deliver(_decoded(self._store.get(key)))
            self._seen, self._late = self._seen + 1, 0
        with self._lock:
            members = [member for ref in self._members.values() if (member := ref()) is not None]
        waiting = [member.remind() for member in members]
        return news or any(waiting)

    def _deliver(self, message: Message) -> None:
        if message.rank == self.rank:
            return
        with self._lock:
            ref = self._members.get(message.function)
            if ref is None:
                self._early.setdefault(message.function, []).append(message)
        member = None if ref is None else ref()
        if member is not None:
            member.receive(message)

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        self._awake.set()

    def end(self) -> None:
        """Read no more, and wait for the thread. A thread that comes back from a call in C++ while
        the interpreter ends aborts the process; no look at the store waits for anybody.
        """
        self.stop()
        self._reader.join(timeout=_PATIENCE)


_groups: dict[Any, Ranks] = {}
_groups_lock: Final = threading.Lock()


def ranks() -> Ranks | None:
    """The processes that the settings tell to agree with; None without a group, or in a group of
    one.
    """
    chosen = config.agree
    group = default_group() if chosen == "group" else chosen
    if group is None or not is_alive(group):
        return None
    with _groups_lock:
        found = _groups.get(group)
        if found is None:
            for old in [g for g in _groups if not is_alive(g)]:
                _groups.pop(old).stop()
            here = membership(group)
            if here.size == 1:
                return None
            found = _groups[group] = Ranks(here, functools.partial(is_alive, group))
        return found


def _read(ref: weakref.ref[Ranks], stopped: threading.Event, awake: threading.Event) -> None:
    """The thread of a group: looks often after something has happened, and seldom otherwise."""
    pause = _SOONEST
    while not stopped.is_set():
        if awake.wait(pause):
            awake.clear()
            pause = _SOONEST
        here = ref()
        if here is None or stopped.is_set() or not here.is_there():
            return
        try:
            pause = _SOONEST if here.read() else min(pause * _GROWTH, _LATEST)
        except RuntimeError:  # the process that holds the store has ended
            return
        del here


def _stop(ref: weakref.ref[Ranks]) -> None:
    here = ref()
    if here is not None:
        here.end()


def _key(number: int) -> str:
    return f"anyshape/message/{number}"


def _decoded(data: bytes) -> Message:
    rank, function, first, dynamic = json.loads(data)
    return Message(
        rank,
        function,
        tuple((source, kind, tuple((d, v) for d, v in values)) for source, kind, values in first),
        tuple((source, dim) for source, dim in dynamic),
    )
