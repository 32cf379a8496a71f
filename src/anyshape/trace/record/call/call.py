"""Calls: what a trace calls in place of what the program calls.

`ready(f)` gives the function to call, and does not call it: no frame is added to the program's.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import reprlib
import types
import weakref
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.aten_op import is_op
from anyshape.torch_compat.dynamo import is_allowed_in_graph, is_disabled
from anyshape.torch_compat.module_attribute import (
    CALL,
    CALL_IMPL,
    called_after_errors,
    is_uninitialized,
    may_initialize,
    own_call,
)
from anyshape.torch_compat.tensor_subclass import is_wrapper
from anyshape.torch_compat.torch_script import ScriptFunction, script_source
from anyshape.trace.argument.wrapper import call_with_wrapper
from anyshape.trace.graph.module_call import call_module
from anyshape.trace.higher_order.substitute import transformed
from anyshape.trace.opaque_call import call_opaque
from anyshape.trace.record.attribute.special_callable import special_callable
from anyshape.trace.record.builtin.builtin import Builtins
from anyshape.trace.record.builtin.setting import is_setting
from anyshape.trace.record.call.cached_call import CachedCalls
from anyshape.trace.record.call.call_hooks import has_hooks
from anyshape.trace.record.call.disabled import need_enabled
from anyshape.trace.record.call.sharded import need_whole
from anyshape.trace.record.container.kept_item import changed_below
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, LRU, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.attribute.attribute import Attributes
    from anyshape.trace.record.container.container import Containers
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.record.syntax.class_statement import ClassStatements
    from anyshape.trace.record.syntax.operation import Operations

_Method: Final = types.MethodType
_Module: Final = torch.nn.Module
_DIRECT: Final = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_GUARDED: Final = (dataclasses.__file__, reprlib.__file__)  # wrappers that stop endless texts
_GETTERS: Final = (operator.attrgetter, operator.itemgetter, operator.methodcaller)


class Calls:
    """The hooks for calls."""

    def __init__(
        self,
        recorder: Recorder,
        attributes: Attributes,
        containers: Containers,
        operators: Operations,
        classes: ClassStatements,
    ) -> None:
        self._recorder = recorder
        self._twins = recorder._twins
        self._known = recorder.known
        self._in_class = recorder.in_class
        self.attributes = attributes
        self.containers = containers
        self.operators = operators
        self.classes = classes
        attributes.calls = containers.calls = operators.calls = classes.calls = self
        self._in_tensors = attributes.in_tensors
        self._untouched: set[Any] = set()  # functions that are called as they are
        self._cached = CachedCalls(self, recorder)
        self._builtins = Builtins(self, recorder)
        self._substitutes = self._builtins.table
        self.asserted = self._builtins.meanings.asserted
        self.draws = self._builtins.draws

    def is_recorded(self, f: Any) -> bool:
        """Whether a function runs as a twin."""
        return type(f) is Function and (is_twin(f.__code__) or is_twinned(f.__code__))

    def method(self, o: Any, name: str) -> Any:
        """The callable for `o.name(...)`."""
        kind = type(o)
        if kind is SymTensor:
            if name == "as_subclass":  # which no mode sees
                return functools.partial(self._as_subclass, o)
            if name in self._in_tensors.names:
                return self.ready(self.attributes.attribute(o, name))
            f = getattr(o, name)
            return f if not self._recorder.shadows else functools.partial(self._shadowed, f)
        if kind in ATOMS:
            f = getattr(o, name)
            return functools.partial(self._builtins.method, f) if kind is str else f
        if kind is super:
            return self._of_super(o, name)
        if (kind, name) in self._in_class or issubclass(kind, _Module):
            return self._of_class(o, kind, name)
        if kind is types.ModuleType:
            return self.ready(self.attributes.attribute(o, name))
        if kind is dict:
            return self.containers.method(o, name)
        if isinstance(o, CONTAINERS):
            own = getattr(o, "__dict__", None)
            if not own or name not in own:
                return self.containers.method(o, name)
        return self.ready(self.attributes.attribute(o, name))

    def _of_class(self, o: Any, kind: type, name: str) -> Any:
        """The callable for a method of an object, if it is found in its class and nowhere else."""
        raw = self._in_class.get((kind, name))
        if type(raw) is Function and (id(o), name) not in self._known:
            twin = self._twins.get(raw)
            is_own = is_twinned(raw.__code__) and id(raw) not in self._substitutes
            if twin is None and is_own and not (is_allowed_in_graph(raw) or is_disabled(raw)):
                twin = self._recorder.twin(raw)
            own = getattr(o, "__dict__", None)
            if type(twin) is Function and type(own) is dict and name not in own:
                recorder = self._recorder
                if not recorder.is_born(o):
                    recorder.kind(recorder.outside(o))
                    recorder.note(reads.ABSENT, own, name, reads.MISSING)
                return _Method(twin, o)
        return self.ready(self.attributes.attribute(o, name))

    def _of_super(self, o: Any, name: str) -> Any:
        """The callable for `super().name(...)`."""
        raw, owner = self.attributes.in_super(o, name), o.__self__
        if not issubclass(type(owner), type):  # `isinstance` would ask its `__getattribute__`
            if raw is object.__getattribute__:
                return functools.partial(self.attributes.plain, owner)
            twin = self._twins.get(raw) if type(raw) is Function else None
            if type(twin) is Function:
                return _Method(twin, self._recorder.outside(owner))
        return self.ready(getattr(o, name))

    def ready(self, f: Any) -> Any:  # noqa: C901, PLR0911, PLR0912  one case per kind of callable
        """The callable for `f(...)`."""
        kind = type(f)
        if kind is Function:
            found = self._twins.get(f)
            return self._function(f) if found is None else found
        if kind is _Method:
            return self._bound(f)
        substitute = self._substitutes.get(id(f))
        if substitute is not None:
            return substitute
        if isinstance(f, _Module):
            return self._module(f)
        if isinstance(f, types.BuiltinFunctionType | types.MethodWrapperType):
            if id(f) in _direct and not self._recorder.shadows:
                return f
            return self._builtin(f)
        if isinstance(f, type):
            return self._class(f)
        if kind is functools.partial:
            return self._partial(f)
        if kind is LRU:
            return functools.partial(self._cached.call, f)
        if kind in _GETTERS:
            make, args = f.__reduce__()[:2]
            return self.ready(make)(*args)
        if kind in _DIRECT or is_op(f):
            return self._builtins.descriptor(f)
        if in_package(kind.__module__, "anyshape"):
            if hasattr(f, "__wrapped__"):
                return self.ready(f.__wrapped__)
            if hasattr(f, "__func__"):
                self._recorder.of_object(f.__self__)
                return self._bound(f)
        if kind is ScriptFunction:
            return self._scripted(f)
        if _is_random(f):
            return self._builtins.draws.of_numpy(f)
        call = getattr(kind, "__call__", None)  # noqa: B004  its class says what to call
        if kind.__flags__ & HEAP and (type(call) is not Function or is_twinned(call.__code__)):
            ready = special_callable(self, f, "__call__")
            if ready is not None:
                self._recorder.kind(f)
                return ready
        if in_package(kind.__module__, "torch") or isinstance(f, torch.Tensor):
            return f if not self._recorder.shadows else functools.partial(self._shadowed, f)
        if isinstance(f, weakref.ref):
            return functools.partial(self.followed, f)
        return functools.partial(self._builtins.foreign, f)

    def _builtin(self, f: Any) -> Any:
        found = self._builtins.ready(f)
        if found is f and type(f.__self__) is types.ModuleType:
            _direct[id(f)] = f
        return found

    def _as_subclass(self, t: Any, cls: Any) -> Any:
        if cls is not torch.Tensor:
            raise self._recorder.refusal(f"a tensor becomes a {cls.__name__}")
        return t.as_subclass(cls)

    def followed(self, ref: Any) -> Any:
        """What a weak reference gives; every run first checks that it is alive."""
        found = ref()
        alive = functools.partial(_is_alive, ref)
        self._recorder.note(reads.CALL, alive, (), found is not None)
        return self._recorder.outside(found)

    def _function(self, f: Any) -> Any:
        if f in self._untouched and not self._recorder.shadows:
            return f
        substitute = self._substitutes.get(id(f))
        if substitute is not None:
            return substitute
        if is_disabled(f):
            need_enabled(self._recorder, f)
        if is_allowed_in_graph(f):
            opaque = functools.partial(call_opaque, self._recorder, f)
            shadows = self._recorder.shadows
            return functools.partial(self._shadowed, opaque) if shadows else opaque
        if f.__name__ == "__repr__" and f.__code__.co_filename in _GUARDED:
            return self.ready(self._recorder.outside(f.__wrapped__))
        if is_twinned(f.__code__) or is_twin(f.__code__):
            return self._recorder.twin(f)
        found = transformed(self._recorder, f)
        if found is not None:
            return found
        if _AUTOCAST in f.__code__.co_freevars:
            return functools.partial(self._in_autocast, f)
        found = self._builtins.python(f)
        if found is f:
            self._untouched.add(f)
        return found

    def _in_autocast(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function that is decorated with `torch.autocast(...)`."""
        block = f.__closure__[f.__code__.co_freevars.index(_AUTOCAST)].cell_contents
        with self._recorder.tracer.block(block):
            return self.ready(f.__wrapped__)(*args, **named)

    def _bound(self, m: Any) -> Any:
        f, owner = m.__func__, self._recorder.outside(m.__self__)
        substitute = self._substitutes.get(id(f))
        if substitute is not None:
            return functools.partial(substitute, m)
        if type(f) is not Function:
            return functools.partial(self.ready(f), owner)
        if f is CALL and issubclass(type(owner), _Module):
            return self._called(owner, self._recorder.kind(owner))
        ready = self.ready(f)
        return ready.__get__(owner) if type(ready) is Function else functools.partial(ready, owner)

    def _partial(self, f: Any) -> Any:
        recorder = self._recorder
        if not recorder.is_born(f):
            for part in ("func", "args", "keywords"):  # `__setstate__` replaces them
                recorder.note(reads.ATTRIBUTE, f, part, getattr(f, part))
            recorder.content(f.args)
            for x in f.args:
                recorder.outside(x)
        keywords = recorder.content(f.keywords)
        return functools.partial(self.ready(f.func), *f.args, **keywords)

    def _scripted(self, f: Any) -> Any:
        """The source of a function that TorchScript compiled, which goes around the tracer."""
        source = script_source(f)
        if source is None:
            raise self._recorder.unsupported(
                f"{f.qualified_name} is compiled by TorchScript",
                why="it computes below Python, and a traced tensor has no data to compute with",
                fix="call the Python function that it was made from",
            )
        return functools.partial(self._scripting, self.ready(self._recorder.outside(source)))

    def _scripting(self, source: Any, /, *args: Any, **named: Any) -> Any:
        """Call the source of a function that TorchScript compiled."""
        recorder = self._recorder
        before, recorder.is_scripting = recorder.is_scripting, True
        try:
            return source(*args, **named)
        finally:
            recorder.is_scripting = before

    # ------------------------------------------------------------------ modules and classes

    def _module(self, m: Any) -> Any:
        """The callable behind a call of a module: its forward, if it has no hooks."""
        recorder = self._recorder
        kind = recorder.kind(m)
        if kind not in recorder.forwards:
            call = own_call(kind, recorder.lookup(kind, "__call__"))
            if call is not CALL:
                ready = functools.partial(self.ready(call), m)
                return functools.partial(call_module, recorder.tracer, m, ready)
        return self._called(m, kind)

    def _called(self, m: Any, kind: type) -> Any:
        """The callable that `Module.__call__` calls."""
        recorder, own = self._recorder, m.__dict__
        twin = recorder.forwards.get(kind)
        if (
            twin is not None
            and own.get(_COMPILED) is None
            and not has_hooks(recorder, m, own)
            and "forward" not in own
            and (id(m), "forward") not in self._known
        ):
            if id(m) not in recorder._born:
                recorder._outside[id(m)] = m
                recorder.note(reads.ABSENT, own, "forward", reads.MISSING)
            return functools.partial(call_module, recorder.tracer, m, _Method(twin, m))
        need_whole(recorder, m)
        ready = self._implementation(m, kind)
        return functools.partial(call_module, recorder.tracer, m, ready)

    def _implementation(self, m: Any, kind: type) -> Any:
        recorder = self._recorder
        if is_uninitialized(m) and recorder.replays and not recorder.is_born(m):
            raise recorder.first_call(m)
        inner = recorder.lookup(kind, "_call_impl")
        own = m.__dict__
        if inner is not CALL_IMPL or own.get(_COMPILED) is not None:
            return functools.partial(self.ready(inner), m)
        if has_hooks(recorder, m, own):
            after = [getattr(f, "__module__", None) for f in called_after_errors(m)]
            if not all(in_package(str(home), "torch") for home in after):
                raise recorder.refusal(f"a hook of {kind.__name__} is called after errors, too")
            return functools.partial(self.ready(CALL_IMPL), m)
        ready = self._of_class(m, kind, "forward")
        twin = self._twins.get(self._in_class.get((kind, "forward")))
        if type(ready) is _Method and ready.__func__ is twin and not may_initialize(kind):
            recorder.forwards[kind] = twin
        return ready

    def _class(self, cls: type) -> Any:
        if cls.__module__ == "builtins" or issubclass(cls, torch.Tensor):
            if is_wrapper(cls):
                return functools.partial(self._wrapper, cls)
            return functools.partial(self._builtins.make, cls)
        call = type(cls).__call__
        if type(call) is Function and is_twinned(call.__code__):
            return functools.partial(self.ready(call), cls)
        return functools.partial(self.make, cls)

    def make(self, cls: Any, /, *args: Any, **named: Any) -> Any:
        """A new object of a class, made by twins of its methods."""
        recorder = self._recorder
        is_setting(cls)
        new: Any = cls.__new__
        init: Any = cls.__init__
        recorder.lookup(cls, "__new__")
        recorder.lookup(cls, "__init__")
        if type(getattr(cls, "__del__", None)) is Function:
            raise recorder.lifetime("has a finalizer")
        if not self.is_recorded(new) and not self.is_recorded(init):
            return self._builtins.make(cls, *args, **named)
        if self.is_recorded(new):
            o = self.ready(new)(cls, *args, **named)
        else:
            plain = new is object.__new__
            o = recorder.born(new(cls) if plain else new(cls, *args, **named))
        if cls in type(o).__mro__:  # no `__instancecheck__` is asked
            if self.is_recorded(init):
                self.ready(init)(o, *args, **named)
            elif type(init) is Function or init is not object.__init__:
                init(o, *args, **named)
        return o

    def _wrapper(self, cls: Any, /, *args: Any, **named: Any) -> Any:
        """A new tensor of a class that wraps others."""
        self._recorder.lookup(cls, "__new__")
        self._recorder.lookup(cls, "__init__")
        return call_with_wrapper(self._recorder.tracer, cls, args, named)

    # ------------------------------------------------------------------ others

    def _shadowed(self, f: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        """Call a function that is not recorded; it sees containers as the trace does."""
        recorder, seen = self._recorder, self._builtins.seen
        given = [changed_below(recorder, seen(a)) for a in args]
        return f(*given, **{k: changed_below(recorder, seen(a)) for k, a in named.items()})


def _is_alive(ref: Any) -> bool:
    return ref() is not None


def _is_random(f: Any) -> bool:
    """Whether a callable of NumPy draws random numbers."""
    home = getattr(f, "__module__", None) or type(getattr(f, "__self__", None)).__module__
    return in_package(str(home), "numpy.random")


_direct: dict[int, Any] = {}  # functions of modules that every trace calls as they are, by id
_AUTOCAST: Final = "autocast_instance"  # in the closure of a function that torch has decorated
_COMPILED: Final = "_compiled_call_impl"  # what `Module.compile` has put before the forward pass
