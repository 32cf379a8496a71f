"""Attributes of objects, as a trace reads and assigns them."""

from __future__ import annotations

import decimal
import functools
import gc
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor.identity import type_of
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.module_attribute import REGISTRIES
from anyshape.trace.argument.observation import assigned_elsewhere
from anyshape.trace.record.attribute.module_attribute import lazy_attribute, own_name
from anyshape.trace.record.attribute.own_dict import DELETED, beyond_deleted, show_change
from anyshape.trace.record.attribute.registration import assign_to_module
from anyshape.trace.record.attribute.special_callable import called_by_class, special_callable
from anyshape.trace.record.attribute.super_attribute import in_super
from anyshape.trace.record.attribute.tensor_class import TensorClass
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.foreign.territory import is_library, is_twinned
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_Module: Final = torch.nn.Module
_LOOK: Final = _Module.__dict__["__getattr__"]
_METHODS: Final = (Function, classmethod, staticmethod)
# Parts of functions and objects that other parts are made from; they are not assigned in a trace.
_FIXED: Final = ("__class__", "__dict__", "__code__", "__defaults__", "__kwdefaults__")


class Attributes:
    """The hooks for attributes."""

    calls: Calls

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.known = recorder.known
        self._in_class = recorder.in_class
        self._described = recorder.described
        self._looking = recorder.own_getters
        self.in_tensors = TensorClass(recorder)

    # ------------------------------------------------------------------ reading

    def attribute(self, o: Any, name: str) -> Any:
        """`o.name`."""
        kind = type(o)
        if kind in ATOMS:
            if kind is SymTensor and name in self.in_tensors.names:
                return self._of_tensor(o, name)
            return getattr(o, name) if name != "__class__" else type_of(o)
        found = self.known.get((id(o), name), MISSING)
        if found is not MISSING:
            if kind not in self._looking.lacking and kind in self._looking:
                return self._of_object(o, name, kind)
            return beyond_deleted(self, o, name, falls_back=True) if found is DELETED else found
        place = (kind, name)
        raw = self._in_class.get(place, _UNKNOWN)
        if raw is not _UNKNOWN:
            self.recorder.kind(o)
            return self._beyond(o, name, raw, falls_back=True)
        if place in self._described and kind not in self._looking:
            self.recorder.kind(o)
            return self._of_descriptor(o, name, self._described[place])
        if kind in self._looking or type(kind.__getattribute__) is Function:
            return self._of_object(o, name, kind)  # nobody else may ask it, not even `isinstance`
        if isinstance(o, torch.Tensor):
            return self._of_tensor(o, name)
        if kind is types.ModuleType or isinstance(o, types.ModuleType):
            return self._of_module(o, name)
        if isinstance(o, type):
            return self._of_class(o, name)
        if kind is super:
            return self._of_super(o, name)
        return self._of_object(o, name, kind)

    def optional(self, o: Any, name: Any, *default: Any) -> Any:
        """`getattr`."""
        if type(name) is not str:
            return getattr(o, name, *default)
        name = self.calls.operators.plain(name)
        try:
            return self.attribute(o, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def has(self, o: Any, name: Any) -> bool:
        """`hasattr`."""
        return self.optional(o, name, MISSING) is not MISSING

    def _of_tensor(self, t: torch.Tensor, name: str) -> Any:
        if name in self.recorder.tracer.observations.assigned:
            raise assigned_elsewhere(name)
        if name in self.in_tensors.names:
            found = self.in_tensors.attribute(t, name, self.calls)
            if found is not MISSING:
                return found
        value = getattr(t, name, MISSING)
        if type(t) is not SymTensor and not self.recorder.is_born(t):
            self.recorder.outside(t)
            is_part = type(value) in ATOMS or isinstance(value, torch.Tensor)
            if value is MISSING or name in vars(t) or (is_part and not callable(value)):
                self.recorder.note(reads.ATTRIBUTE, t, name, value)
        return getattr(t, name) if value is MISSING else value

    def _of_module(self, m: Any, name: str) -> Any:
        value = own_name(self.recorder, m, name)
        if value is not MISSING:
            return value
        if name == "__dict__":
            return self.namespace(m)
        if not is_library(type(m)):
            return self._of_object(m, name, type(m))
        return lazy_attribute(self.recorder, self.calls, m, name)

    def _of_class(self, cls: type, name: str) -> Any:
        recorder = self.recorder
        meta = type(cls)
        if meta is not type:
            raw = recorder.lookup(meta, name)
            if type(raw) is property and raw.fget is not None:
                return self.calls.ready(raw.fget)(cls)
        found = recorder.lookup(cls, name)
        if recorder.changed and found is not MISSING and not hasattr(type(found), "__get__"):
            return found
        if found is MISSING and meta is not type:
            fallback = recorder.lookup(meta, "__getattr__")
            if type(fallback) is Function and recorder.lookup(meta, name) is MISSING:
                return self.calls.ready(fallback)(cls, name)
        return getattr(cls, name)

    def _of_super(self, o: Any, name: str) -> Any:
        found = self.in_super(o, name)
        if self.recorder.changed and found is not MISSING and not hasattr(type(found), "__get__"):
            return found
        return getattr(o, name)

    def in_super(self, o: Any, name: str) -> Any:
        """The attribute that the classes of a `super` object have under a name, or `MISSING`."""
        return in_super(self.recorder, o, name)

    def _of_object(self, o: Any, name: str, kind: type) -> Any:
        if kind in self._looking:
            look: Any = kind.__getattribute__
            self.recorder.lookup(kind, "__getattribute__")
            try:
                return self.calls.ready(look)(o, name)
            except AttributeError:
                fallback = self.recorder.lookup(kind, "__getattr__")
                if type(fallback) is not Function:
                    raise
                return self.calls.ready(fallback)(o, name)
        if kind is types.MethodType and not hasattr(kind, name):
            return self.attribute(o.__func__, name)
        value = self._found(o, name, falls_back=True)
        raw = self.recorder.lookup(kind, name)
        if raw is MISSING or not hasattr(type(raw), "__set__"):
            self._in_class[kind, name] = raw
        return value

    def plain(self, o: Any, name: str) -> Any:
        """`object.__getattribute__(o, name)`."""
        found = self.known.get((id(o), name), MISSING)
        if found is MISSING and issubclass(type(o), types.ModuleType):  # `isinstance` would ask it
            found = own_name(self.recorder, o, name)
        if found is DELETED:
            return beyond_deleted(self, o, name, falls_back=False)
        return self._found(o, name, falls_back=False) if found is MISSING else found

    def _found(self, o: Any, name: str, *, falls_back: bool) -> Any:
        recorder = self.recorder
        kind = recorder.kind(o)
        raw = self._described.get((kind, name), MISSING)
        if raw is MISSING:
            raw = recorder.lookup(kind, name)
            if raw is MISSING or not hasattr(type(raw), "__set__"):
                return self._beyond(o, name, raw, falls_back=falls_back)
            if not issubclass(kind, types.ModuleType):
                self._described[kind, name] = raw
        return self._of_descriptor(o, name, raw)

    def _beyond(self, o: Any, name: str, raw: Any, *, falls_back: bool) -> Any:
        """An attribute of which the classes of the object have no data descriptor, but `raw`."""
        recorder = self.recorder
        own: Any = self._own_dict(o) if type(o) in self._looking else getattr(o, "__dict__", None)
        if type(own) is dict:
            if name == "__dict__" and raw is MISSING:  # which C gives, without a descriptor
                return self.namespace(o)
            if name in own:
                return self._of_dict(o, own, name)
            if raw is MISSING and falls_back and isinstance(o, _Module):
                return self._registered(o, own, name)
            if id(o) not in recorder._born:
                recorder.note(reads.ABSENT, own, name, MISSING)
        if raw is not MISSING:
            if not hasattr(type(raw), "__get__"):
                if id(o) not in recorder._born:
                    self.known[id(o), name] = raw
                return raw
            return self._of_raw(o, name, raw)
        if not falls_back:
            return object.__getattribute__(o, name)  # raises
        fallback = recorder.lookup(type(o), "__getattr__")
        if fallback is not MISSING:
            look = special_callable(self.calls, o, "__getattr__", fallback)
            return self.calls.ready(fallback)(o, name) if look is None else look(name)
        return getattr(o, name)

    def _own_dict(self, o: Any) -> Any:
        """The dict of an object, without asking a `__getattribute__` of the user's for it."""
        if type(o) not in self._looking:
            return getattr(o, "__dict__", None)
        try:
            return object.__getattribute__(o, "__dict__")
        except AttributeError:
            return None

    def _of_dict(self, o: Any, own: dict[str, Any], name: str) -> Any:
        recorder = self.recorder
        if id(o) in recorder._born or (type(o) is Function and recorder.is_born(o)):
            value = own[name]
            if isinstance(value, CONTAINERS) and not recorder.is_outside(value):
                recorder.born(value)  # made with the object, by code that tells nothing
            return value
        value = self.known[id(o), name] = recorder.own_item(o, own, name)
        return value

    def _of_descriptor(self, o: Any, name: str, raw: Any) -> Any:
        """The value from a data descriptor: a property, a slot, or one of the user's."""
        recorder = self.recorder
        kind = type(raw)
        if kind is property:
            if raw.fget is None:
                return getattr(o, name)
            return self.calls.ready(raw.fget)(o)
        if name == "__dict__":
            return self.namespace(o)
        if kind is types.MemberDescriptorType:
            value = getattr(o, name, MISSING)
            if not recorder.is_born(o):
                value = recorder.note(reads.ATTRIBUTE, o, name, value)
                if value is not MISSING and raw.__objclass__.__flags__ & HEAP:
                    self.known[id(o), name] = value
            return getattr(o, name) if value is MISSING else value
        if type(o) is types.CellType and not recorder.is_born(o):
            return recorder.cell(o, name).cell_contents
        if name == "__kwdefaults__" and recorder.is_outside(o) and o.__kwdefaults__ is not None:
            raise recorder.refusal("the default values of a function are read")
        get = getattr(kind, "__get__", None)
        if type(get) is Function:
            return self.calls.ready(get)(raw, o, type(o))
        value = getattr(o, name)
        if isinstance(o, tuple):  # an item of a named tuple
            return recorder.outside(value) if recorder.is_outside(o) else value
        if not recorder.is_born(o) and (type(value) in ATOMS or type(o) is Function):
            value = recorder.note(reads.ATTRIBUTE, o, name, value)
        return value

    def _of_raw(self, o: Any, name: str, raw: Any) -> Any:
        """The value from a descriptor in the class of an object."""
        kind = type(raw)
        if kind in _METHODS:
            return getattr(o, name)
        if kind is functools.cached_property:
            value = self.calls.ready(raw.func)(o)
            self.set_attribute(o, str(raw.attrname), value)
            return value
        get = getattr(kind, "__get__", None)
        if type(get) is Function and is_twinned(get.__code__):
            return self.calls.ready(get)(raw, o, type(o))
        return getattr(o, name)

    def _registered(self, m: torch.nn.Module, own: dict[str, Any], name: str) -> Any:
        """A parameter, buffer or submodule, as `Module.__getattr__` finds it."""
        recorder = self.recorder
        look = recorder.lookup(type(m), "__getattr__")
        is_born = id(m) in recorder._born
        if look is not _LOOK:
            if not is_born:
                recorder.note(reads.ABSENT, own, name, MISSING)
            return self.calls.ready(look)(m, name)
        tables: list[Any] = []
        shadows = recorder.shadows
        for registry in REGISTRIES:
            table = own.get(registry)
            tables.append(table)
            if table is None:
                continue
            shadow = shadows.get(id(table), table) if shadows else table
            if name in shadow:
                if is_born:
                    return shadow[name]
                is_assigned = shadow is not table and shadow[name] is not table.get(name, MISSING)
                found = MISSING if is_assigned else table[name]
                recorder.registered(m, own, tables, name, found)
                if is_assigned:
                    return shadow[name]
                value = self.known[id(m), name] = recorder.input_at(table, name, found)
                return value
        if not is_born:
            recorder.registered(m, own, [*tables, None], name, MISSING)
        return getattr(m, name)  # raises

    def namespace(self, o: Any) -> Any:
        """`o.__dict__`, or `vars(o)`."""
        recorder = self.recorder
        own: Any = self._own_dict(o)
        if recorder.is_born(o):
            recorder.publish_part(own, o, effect.namespace_of)
            return recorder.born(own)
        recorder.own_dict(own, o)
        if id(o) in recorder.changed and not isinstance(o, torch.Tensor):
            for name in recorder.changed[id(o)][1]:
                show_change(recorder, own, name, self.known[id(o), name])
        return own

    def in_dict(self, o: Any, name: str) -> Any:
        """`o.__dict__[name]` of an object that was changed."""
        own = o.__dict__
        if name in self.recorder.changed[id(o)][1]:
            found = self.known[id(o), name]
        elif name in own:
            return self._of_dict(o, own, name)
        else:
            found = self.recorder.note(reads.ABSENT, own, name, MISSING)
        if found is DELETED or found is MISSING:
            raise KeyError(name)
        return found

    # ------------------------------------------------------------------ assigning

    def store_attribute(self, value: Any, o: Any, name: str) -> None:
        """`o.name = value`, with the value first."""
        self.set_attribute(o, name, value)

    def set_attribute(self, o: Any, name: str, value: Any) -> None:
        """`o.name = value`."""
        recorder = self.recorder
        kind = type(o)
        if isinstance(o, torch.Tensor):
            self._set_of_tensor(o, name, value)
            return
        if kind is decimal.Context:  # on which numbers in C depend
            raise recorder.refusal("a context of decimal numbers is changed")
        if called_by_class(self.calls, o, "__setattr__", name, value):
            return
        raw = recorder.lookup(kind, name) if not isinstance(o, type) else MISSING
        if type(raw) is property and raw.fset is not None:
            self.calls.ready(raw.fset)(o, value)
            return
        put = getattr(type(raw), "__set__", None)
        if type(put) is Function:
            if isinstance(o, types.ModuleType) and not is_twinned(put.__code__):
                raise recorder.refusal(f"{o.__name__}.{name} is set, which is the process's")
            self.calls.ready(put)(raw, o, value)
            return
        if recorder.may_write(o):
            self._set_of_born(o, name, value)
        elif isinstance(o, _Module):
            assign_to_module(self, o, name, value)
        else:
            self.assign(o, name, value)

    def assign(self, o: Any, name: str, value: Any) -> None:
        """`object.__setattr__(o, name, value)`."""
        recorder = self.recorder
        if recorder.may_write(o):
            self._set_of_born(o, name, value)
            return
        recorder.need_outside(o)
        if type(o) is types.CellType:
            shadow = recorder.cell(o, name)
            recorder.set_cell(o, value)
            shadow.cell_contents = value
            return
        if name in _FIXED:
            raise recorder.refusal(f"the {name} of a {type(o).__name__} is assigned")
        if isinstance(o, types.ModuleType):
            recorder.set_global(o.__dict__, name, value)
            return
        if isinstance(o, type):
            recorder.emit(effect.set_class_attribute, Held(o), name, recorder.operand(value))
        else:
            recorder.emit(effect.set_attribute, Held(o), name, recorder.operand(value))
        self._change(o, name, value)

    def _set_of_born(self, o: Any, name: str, value: Any) -> None:
        recorder = self.recorder
        self.known.pop((id(o), name), None)
        recorder.before_change(o)
        if isinstance(o, type | _Module | types.ModuleType):
            setattr(o, name, value)
            if isinstance(o, type):
                self.recorder.forget_classes()
            elif isinstance(o, types.ModuleType):
                recorder.space(o.__dict__)[name] = value
        else:
            object.__setattr__(o, name, value)
        if recorder.is_published(o):
            recorder.repeat(o, effect.set_attribute, name, recorder.operand(value))

    def _change(self, o: Any, name: str, value: Any) -> None:
        self.recorder.changed.setdefault(id(o), (o, set()))[1].add(name)
        self.known[id(o), name] = value
        own = getattr(o, "__dict__", None)
        if type(own) is dict and self.recorder.dict_owner(own) is not None:
            show_change(self.recorder, own, name, value)
        if isinstance(o, type):
            (own,) = (x for x in gc.get_referents(vars(o)) if type(x) is dict)
            show_change(self.recorder, self.recorder.outside(own), name, value)
            self.recorder.forget_classes()

    def _set_of_tensor(self, t: torch.Tensor, name: str, value: Any) -> None:
        recorder = self.recorder
        if type(t) is SymTensor and (hasattr(torch.Tensor, name) or recorder.may_write(t)):
            setattr(t, name, value)
            return
        tracer = recorder.tracer
        if type(t) is SymTensor:
            if t._value.node is None:
                recorder.tracer.observations.assigned.add(name)
            if not recorder.replays:
                raise recorder.refusal(f"the attribute {name} of a tensor is assigned")
            recorder.emit(effect.set_attribute, t, name, recorder.operand(value))
            setattr(t, name, value)
            self._change(t, name, value)
            return
        if name == "data":
            if type(value) is SymTensor and value._value.root is tracer.lift(t).root:
                meta = tracer.lift(t).meta
                if value._meta.dtype is meta.dtype and value._meta.shape == meta.shape:
                    return  # the memory that it has already, as after `t.data += 1`
            if recorder.replays:
                tracer.assign_data(t, value)
                return
        raise recorder.refusal(f"the attribute {name} of a tensor is assigned")

    def del_attribute(self, o: Any, name: str) -> None:
        """`del o.name`."""
        recorder = self.recorder
        remove: Any = type(o).__delattr__
        raw = recorder.lookup(type(o), name)
        deletes = getattr(type(raw), "__delete__", None)
        if type(raw) is property and raw.fdel is not None:
            self.calls.ready(raw.fdel)(o)
            return
        if self.calls.is_recorded(deletes) and remove is object.__delattr__:
            self.calls.ready(deletes)(raw, o)
            return
        if id(o) in recorder.changed and isinstance(o, SymTensor):
            raise recorder.refusal(f"the attribute {name} of a tensor is deleted")
        if recorder.may_write(o) or isinstance(o, SymTensor):
            recorder.before_change(o)
            self.known.pop((id(o), name), None)
            delattr(o, name)
            if isinstance(o, type):
                recorder.forget_classes()
            recorder.repeat(o, effect.delete_attribute, name)
            return
        if called_by_class(self.calls, o, "__delattr__", name):
            return
        if isinstance(o, torch.Tensor | type | types.ModuleType):
            raise recorder.refusal(f"the attribute {name} is deleted")
        self.attribute(o, name)  # raises if there is none
        if isinstance(o, _Module) and name not in o.__dict__:
            for registry in REGISTRIES:
                table = o.__dict__[registry]
                if name in recorder.shadows.get(id(table), table):
                    self.known.pop((id(o), name), None)
                    self.calls.containers.del_item(table, name)
                    return
        self.remove(o, name)

    def remove(self, o: Any, name: str) -> None:
        """`object.__delattr__(o, name)`."""
        recorder = self.recorder
        if recorder.may_write(o):
            recorder.before_change(o)
            object.__delattr__(o, name)
            recorder.repeat(o, effect.delete_attribute, name)
            return
        recorder.need_outside(o)
        recorder.emit(effect.delete_attribute, Held(o), name)
        self._change(o, name, DELETED)


_UNKNOWN: Final = object()
