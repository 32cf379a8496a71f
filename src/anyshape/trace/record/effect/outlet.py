"""The output of a program, on every run: prints, warnings, log records."""

from __future__ import annotations

import functools
import logging
import os
import sys
import sysconfig
import time
import types
import warnings
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import is_own, user_site
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.effect.text import is_size
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyshape.trace.record.recorder import Recorder

_DISPATCH: Final = str(torch.overrides.__file__)
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


# what tells of the loggers of the process, and of one of them
_TELLING: Final = (
    logging.getLogger, logging.getLevelName, logging.getLoggerClass, logging.getLogRecordFactory,
)  # fmt: skip
_TELLING_METHODS: Final[Any] = (
    logging.Logger.isEnabledFor, logging.Logger.getEffectiveLevel, logging.Logger.hasHandlers,
    logging.Logger.getChild,
)  # fmt: skip
_disabled: Final[Any] = vars(logging.Manager)["disable"].fget
_INSTALLED: Final = tuple(
    {sysconfig.get_paths()[name] + os.sep for name in ("purelib", "platlib", "stdlib")}
)


def substitutes(recorder: Recorder) -> Iterator[tuple[Any, Any]]:
    """Pairs of a function and what to call in its place."""
    yield warnings.warn, functools.partial(_warned, recorder)
    yield time.sleep, functools.partial(_slept, recorder)
    for name, level in _LEVELS.items():
        method = getattr(logging.Logger, name)
        yield method, functools.partial(_logged, recorder, level)
        yield getattr(logging, name), functools.partial(_root_logged, recorder, level)
    yield logging.Logger.log, functools.partial(_logged_at, recorder)
    yield logging.log, functools.partial(_root_logged, recorder)
    for f in _TELLING:
        yield f, functools.partial(_asked, recorder, f)
    for f in _TELLING_METHODS:
        yield f, functools.partial(_asked_of, recorder, f)
    yield _disabled, functools.partial(_asked, recorder, _disabled)


def _need_unheard(recorder: Recorder, asked: Any, *args: Any) -> None:
    """Refuse what code of the user's would hear while the program runs: it may change what the rest
    of the program reads. Whether there is such code is a condition.
    """
    if not recorder.has_outlets:
        return
    heard = asked(*args)
    recorder.note(reads.CALL, asked, args, heard)
    if heard:
        raise recorder.refusal(f"{heard} hears what the program says")


def _stream_listener(name: str) -> str:
    """The class of a standard stream, if it is the user's."""
    return _first_listener((getattr(sys, name),))


def _warning_listener() -> str:
    """The function of the user's that warnings are shown by, if there is one."""
    return _first_listener((warnings.showwarning, warnings.formatwarning))


def _log_listener(logger: logging.Logger) -> str:
    """What the records of a logger go to that is the user's, if there is something."""
    heard: list[Any] = [logger, *logger.filters, logging.getLogRecordFactory()]
    at: logging.Logger | None = logger
    while at is not None:
        for handler in at.handlers:
            heard += [handler, *handler.filters, handler.formatter, *_streams(handler)]
        at = at.parent if at.propagate else None
    return _first_listener(heard)


def _streams(handler: logging.Handler) -> list[Any]:
    found = getattr(handler, "stream", None)
    return [] if found is None else [found]


def _first_listener(heard: Iterable[Any]) -> str:
    """The name of the first function, or class of an object, that is the user's own code.

    What is installed, such as the handlers of a library, shows what it hears and gives nothing
    back to the program.
    """
    for x in heard:
        f: Any = getattr(x, "__func__", x)
        if isinstance(f, types.FunctionType):
            codes = [f.__code__]
        else:
            kind = x if isinstance(x, type) else type(x)
            codes = [
                g.__code__
                for base in kind.__mro__
                for g in vars(base).values()
                if isinstance(g, types.FunctionType)
            ]
            own = getattr(x, "__dict__", {}).values()
            codes += [g.__code__ for g in own if isinstance(g, types.FunctionType)]
        if not all(_is_installed(code) for code in codes):
            return str(getattr(f, "__qualname__", type(x).__qualname__))
    return ""


def _is_installed(code: types.CodeType) -> bool:
    return code.co_filename.startswith((*_INSTALLED, "<frozen")) or is_own(code.co_filename)


def _slept(recorder: Recorder, seconds: Any) -> None:
    if recorder.replays:
        recorder.emit(effect.sleep, seconds)
    elif recorder.has_outlets:
        raise recorder.refusal("time.sleep() is called")
    else:
        time.sleep(seconds)


def _said(recorder: Recorder, x: Any) -> Any:
    """A word of a message, as an argument of a call of the graph."""
    kind = type(x)
    if kind is str:
        return recorder.texts.whole(x)
    if is_size(x):
        return recorder.operand(x)
    if kind in ATOMS or isinstance(x, torch.Tensor):
        return x
    if isinstance(x, type):
        return Held(x)
    if kind is tuple or kind is list or kind is dict:
        seen = recorder.content(x)
        if kind is dict:
            return {_key(recorder, k): _said(recorder, part) for k, part in seen.items()}
        return kind([_said(recorder, part) for part in seen])
    if recorder.is_outside(x):
        return recorder.operand(x)
    raise recorder.refusal(f"an object of class {kind.__name__} is shown")


def _key(recorder: Recorder, key: Any) -> Any:
    """A key of a dict that is shown."""
    if type(key) is str:
        return recorder.texts.settled(key)
    if type(key) in ATOMS:
        return key
    raise recorder.refusal(f"a dict with a key of class {type(key).__name__} is shown")


def wrote(recorder: Recorder, stream: Any, text: str) -> Any:
    """`sys.stdout.write` or `sys.stderr.write`."""
    said, name = _said(recorder, text), "stdout" if stream is sys.stdout else "stderr"
    _need_unheard(recorder, _stream_listener, name)
    recorder.emit(effect.write_out, name, said)
    return len(text) if type(said) is str else _Count(recorder)


class _Count:
    """The number of characters of a text that the run computes; it is not 0."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def _refuse(self, *_: Any) -> Any:
        raise self._recorder.unsupported("the length of a text that the run computes is used")

    __eq__ = __hash__ = __index__ = __int__ = __float__ = _refuse


def printed(recorder: Recorder, *words: Any, **named: Any) -> None:
    """`print`."""
    if not recorder.has_outlets:
        print(*words, **named)  # noqa: T201  the user's
        return
    file = named.pop("file", None)
    if file is not None:
        if file is not sys.stdout and file is not sys.stderr:
            raise recorder.refusal("something is printed into a file")
        named["file"] = "stdout" if file is sys.stdout else "stderr"
    _need_unheard(recorder, _stream_listener, named.get("file", "stdout"))
    texts = tuple([_said(recorder, w) for w in words])
    recorder.emit(effect.print_out, texts, {k: _said(recorder, v) for k, v in named.items()})


def _warned(
    recorder: Recorder, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None
) -> None:
    if not recorder.has_outlets:
        warnings.warn(message, category, stacklevel=stacklevel + 2)
        return
    frame = _user_frame()
    for _ in range(stacklevel - 1):
        frame = frame.f_back if frame is not None and frame.f_back is not None else frame
    _warn_at(recorder, frame, message, category)


def warned_by_torch(recorder: Recorder, message: Any, category: Any, stacklevel: int) -> None:
    """A function of torch warns; frames of the tracer's are none of the program's."""
    frame: Any = sys._getframe(1)
    place, last = None, None
    while frame is not None and stacklevel > 0:
        code = frame.f_code
        if not is_own(code.co_filename) and code.co_filename != _DISPATCH and code is not last:
            place, last = frame, code
            stacklevel -= 1
        frame = frame.f_back
    if recorder.has_outlets:
        _warn_at(recorder, place, message, category)
    else:
        effect.warn(message, _kind(message, category), *_place(place))


def _kind(message: Any, category: Any) -> Any:
    return type(message) if isinstance(message, Warning) else category or UserWarning


def _place(frame: Any) -> tuple[str, int, str, Held]:
    """The file, line, module and registry of a warning."""
    space = frame.f_globals
    real = getattr(space, "real", space)
    registry = real.setdefault("__warningregistry__", {})
    name = str(real.get("__name__", "<string>"))
    return frame.f_code.co_filename, frame.f_lineno, name, Held(registry)


def _warn_at(recorder: Recorder, frame: Any, message: Any, category: Any) -> None:
    _need_unheard(recorder, _warning_listener)
    kind = _kind(message, category)
    message = Held(message) if isinstance(message, Warning) else _said(recorder, message)
    recorder.emit(effect.warn, message, Held(kind), *_place(frame))


def _user_frame() -> Any:
    site = user_site(1)
    frame: Any = sys._getframe(1)
    while frame is not None and (site is None or frame.f_code is not site.code):
        frame = frame.f_back
    return frame


def _logged(recorder: Recorder, level: int, logger: Any, *args: Any, **named: Any) -> None:
    """A method of a logger: a record of one level, if the logger is enabled for it then."""
    if not isinstance(logger, logging.Logger):
        logger = logger.__self__
    message, *rest = args
    extra = named.pop("extra", None)
    if named:
        raise recorder.refusal("a log record with exc_info, stack_info or stacklevel is made")
    if not recorder.has_outlets:
        return
    _need_unheard(recorder, _log_listener, logger)
    frame = _user_frame()
    place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    said = [_said(recorder, x) for x in (message, tuple(rest), extra)]
    recorder.emit(effect.log, Held(logger), level, place, *said)


def _logged_at(recorder: Recorder, logger: Any, level: Any, *args: Any, **named: Any) -> None:
    if not args:
        getattr(logger, "__self__", logger).log(level, **named)  # raises: there is no message
    if type(level) is not int:
        raise recorder.refusal("a log record of a symbolic level is made")
    _logged(recorder, level, logger, *args, **named)


def _root_logged(recorder: Recorder, level: int, *args: Any, **named: Any) -> None:
    _logged_at(recorder, logging.getLogger(), level, *args, **named)


def _asked(recorder: Recorder, f: Any, *args: Any) -> Any:
    """A function of the state of logging: it is asked again before every run."""
    return recorder.note(reads.CALL, f, args, f(*args))


def _asked_of(recorder: Recorder, f: Any, method: Any, *args: Any) -> Any:
    """The same of one logger, which comes as a method or as the object."""
    logger = method if isinstance(method, logging.Logger) else method.__self__
    return _asked(recorder, f, logger, *args)
