"""What classes declare: descriptors, metaclasses, slots, enums, dispatch by type, caches."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from typing import Any, ClassVar

import torch

from tests.differential.hostile.program import Box, Case, attribute, body, program

STATE = Box(k=2.0, flag=False, count=0)


def set_k(value: Any) -> Any:
    return lambda: setattr(STATE, "k", value)


# ---------------------------------------------------------------------- descriptors


class Counted:
    """A descriptor that counts how often it is read."""

    reads = 0

    def __get__(self, o: Any, kind: Any = None) -> Any:
        if o is None:
            return self
        Counted.reads += 1
        return Counted.reads


class Plain:
    counted = Counted()


@program
def a_descriptor_that_counts_its_reads() -> Case:
    Counted.reads = 0
    o = Plain()
    return Case(lambda x: x * o.counted + o.counted, looks_at=Counted)


class Named:
    """A descriptor that keeps its value under its own name."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, o: Any, kind: Any = None) -> Any:
        return self if o is None else getattr(o, self.name, 1.0) * STATE.k

    def __set__(self, o: Any, value: Any) -> None:
        setattr(o, self.name, value)

    def __delete__(self, o: Any) -> None:
        delattr(o, self.name)


class Owner:
    rate = Named()
    other = Named()


@program
def a_descriptor_that_sets_another_name() -> Case:
    o = Owner()

    def fn(x: Any) -> Any:
        o.rate = o.rate + 1
        if o.rate > 20:
            del o.rate
        return x * o.rate + o.other

    return Case(fn, set_k(3.0), set_k(0.5), looks_at=o)


@program
def a_descriptor_on_the_class_is_replaced() -> Case:
    class Other:
        value = property(lambda self: 2.0)

    o = Other()
    changes = [
        lambda: setattr(Other, "value", property(lambda self: 3.0)),
        lambda: setattr(Other, "value", 5.0),
        lambda: setattr(Other, "value", Named()),
    ]
    Other.value.__class__  # noqa: B018
    return Case(lambda x: x * getattr(o, "value", 7.0), *changes[:2], exported=False)


class Lazy:
    """A non-data descriptor that hides itself behind an attribute."""

    def __get__(self, o: Any, kind: Any = None) -> Any:
        o.__dict__["lazy"] = STATE.k * 10
        STATE.count += 1
        return STATE.k


class WithLazy:
    lazy = Lazy()


@program
def a_descriptor_that_hides_itself() -> Case:
    o = WithLazy()
    return Case(
        lambda x: x * o.lazy + o.lazy,
        set_k(3.0),
        lambda: o.__dict__.clear(),
        set_k(4.0),
        looks_at=(o, STATE),
    )


@program
def a_cached_property_is_filled_and_dropped() -> Case:
    class Model:
        @functools.cached_property
        def scale(self) -> float:
            STATE.count += 1
            return STATE.k * 2

    o = Model()
    return Case(
        lambda x: x * o.scale,
        set_k(9.0),
        lambda: vars(o).pop("scale", None),
        set_k(1.5),
        looks_at=(o, STATE),
    )


@program
def a_property_of_a_metaclass() -> Case:
    class Meta(type):
        level = 2.0

        @property
        def scale(cls) -> float:
            return cls.level * STATE.k

        def __getattr__(cls, name: str) -> Any:
            return len(name) * STATE.k

        def __contains__(cls, item: Any) -> bool:
            return bool(item > STATE.k)

        def __len__(cls) -> int:
            return int(STATE.k)

    class Model(metaclass=Meta):
        pass

    def fn(x: Any) -> Any:
        y = x * Model.scale + Model.absent
        return y + len(Model) if 2.5 in Model else y

    return Case(fn, set_k(3.0), lambda: setattr(Meta, "level", 5.0), set_k(1.0))


@program
def a_metaclass_call_that_keeps_one_object() -> Case:
    class One(type):
        kept: ClassVar[dict[Any, Any]] = {}

        def __call__(cls, *args: Any) -> Any:
            if cls not in One.kept:
                One.kept[cls] = super().__call__(*args)
            return One.kept[cls]

    class Config(metaclass=One):
        def __init__(self, k: float) -> None:
            self.k = k

    return Case(
        lambda x: x * Config(STATE.k).k,
        set_k(5.0),
        One.kept.clear,
        set_k(0.5),
        looks_at=One.kept,
        exported=False,
    )


@program
def instancecheck_of_a_metaclass() -> Case:
    class Meta(type):
        def __instancecheck__(cls, o: Any) -> bool:
            return STATE.flag

        def __subclasscheck__(cls, kind: Any) -> bool:
            return not STATE.flag

    class Kind(metaclass=Meta):
        pass

    def fn(x: Any) -> Any:
        y = x * 2 if isinstance(STATE, Kind) else x * 3
        return y + 1 if issubclass(Box, Kind) else y

    return Case(fn, *attribute(STATE, "flag", True, False))


@program
def subclasses_register_themselves() -> Case:
    class Base:
        known: ClassVar[list[Any]] = []
        rate = 1.0

        def __init_subclass__(cls, rate: float = 2.0, **more: Any) -> None:
            super().__init_subclass__(**more)
            cls.rate = rate
            Base.known.append(cls)

    class A(Base):
        pass

    def add() -> None:
        class B(Base, rate=7.0):
            pass

    return Case(
        lambda x: x * sum(k.rate for k in Base.known) + len(Base.__subclasses__()), add, add
    )


@program
def a_class_made_inside_registers_itself() -> Case:
    known: list[str] = []

    class Base:
        def __init_subclass__(cls) -> None:
            known.append(cls.__name__)

    def fn(x: Any) -> Any:
        class Inner(Base):
            rate = 3.0

        return x * Inner.rate + len(known)

    return Case(fn)


@program
def class_getitem_with_state() -> Case:
    class Table:
        rows: ClassVar[dict[str, float]] = {"a": 2.0}

        def __class_getitem__(cls, key: Any) -> Any:
            STATE.count += 1
            return cls.rows[key] * STATE.k

    def put() -> None:
        Table.rows["a"] = 7.0

    return Case(lambda x: x * Table["a"], set_k(3.0), put, looks_at=STATE)


@program
def slots_with_a_default_on_the_class() -> Case:
    class Base:
        __slots__ = ("k",)

    class Model(Base):
        __slots__ = ("extra",)
        shared = 2.0

    o = Model()

    def fn(x: Any) -> Any:
        try:
            k = o.k
        except AttributeError:
            k = 1.0
        o.extra = k + 1
        return x * k * Model.shared

    def drop() -> None:
        if hasattr(o, "k"):
            del o.k

    return Case(
        fn,
        lambda: setattr(o, "k", 5.0),
        lambda: setattr(Model, "shared", 3.0),
        drop,
        looks_at=[o],
    )


@dataclasses.dataclass(slots=True)
class Row:
    a: float = 1.0
    b: list[float] = dataclasses.field(default_factory=lambda: [STATE.k])


@body(set_k(3.0), set_k(0.25))
def a_dataclass_with_slots_made_inside(x: Any) -> Any:
    row = Row(a=float(x.shape[0]))
    row.b.append(row.a)
    other = dataclasses.replace(row, a=9.0)
    return x * row.a + sum(other.b), dataclasses.astuple(other), row == other


@dataclasses.dataclass(frozen=True, order=True)
class Key:
    n: int
    tag: str = dataclasses.field(default="t", compare=False)


@program
def frozen_dataclasses_as_keys() -> Case:
    table = {Key(3): 2.0, Key(5, "u"): 3.0}

    def fn(x: Any) -> Any:
        key = Key(x.shape[0], "other")
        table[key] = table.get(key, 10.0) + 1
        return x * table[key], max(table).n

    return Case(fn, lambda: table.clear())


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2

    @property
    def rate(self) -> float:
        return self.value * STATE.k

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        STATE.count += 1
        return cls.SLOW


class Bits(enum.Flag):
    A = 1
    B = 2
    C = 4


@body(set_k(3.0), looks_at=STATE)
def an_enum_by_value_and_by_a_missing_one(x: Any) -> Any:
    mode = Mode(min(x.shape[0], 2))
    other = Mode(99)
    return x * mode.rate + other.rate, mode is Mode.FAST, Mode["FAST"].name


@program
def flags_of_an_enum() -> Case:
    box = Box(bits=Bits.A)

    def fn(x: Any) -> Any:
        box.bits ^= Bits.B
        if Bits.B in box.bits:
            return x * 2, box.bits
        return x * 3, ~box.bits

    return Case(fn, *attribute(box, "bits", Bits.A | Bits.C, Bits.B), looks_at=box)


class Order(enum.IntEnum):
    LOW = 1
    HIGH = 3


@body()
def an_int_enum_against_a_size(x: Any) -> Any:
    n = x.shape[0]
    if n == Order.HIGH:
        return x * Order.HIGH, Order(n)
    return x + (n > Order.LOW), None


# ---------------------------------------------------------------------- dispatch by type


@functools.singledispatch
def scaled(a: Any, x: Any) -> Any:
    return x * 2


@scaled.register
def _(a: int, x: Any) -> Any:
    return x * 3


@program
def a_single_dispatch_gets_a_case() -> Case:
    @functools.singledispatch
    def by_type(a: Any) -> float:
        return 2.0

    class A:
        pass

    o = A()
    return Case(
        lambda x: x * by_type(o) + by_type(1) + by_type("s"),
        lambda: by_type.register(A, lambda a: 5.0),
        lambda: by_type.register(int, lambda a: 7.0),
        lambda: by_type.register(str, lambda a: STATE.k),
        set_k(3.0),
        exported=False,
    )


@body()
def a_single_dispatch_over_sizes_and_tensors(x: Any) -> Any:
    return scaled(x.shape[0], x), scaled(x, x), scaled(None, x)


@program
def a_dispatched_method() -> Case:
    class Model:
        k = 2.0

        @functools.singledispatchmethod
        def apply(self, a: Any, x: Any) -> Any:
            return x * self.k

        @apply.register
        def _(self, a: list, x: Any) -> Any:  # type: ignore[type-arg]
            return x * len(a)

    o = Model()
    return Case(lambda x: o.apply([1, 2], x) + o.apply(None, x), lambda: setattr(o, "k", 3.0))


@program
def an_abstract_class_gets_a_virtual_subclass() -> Case:
    import abc

    class Shape(abc.ABC):  # noqa: B024
        pass

    class Own:
        pass

    o = Own()
    return Case(
        lambda x: x * 2 if isinstance(o, Shape) else x * 3,
        lambda: Shape.register(Own),
        exported=False,
    )


@typing.runtime_checkable
class HasScale(typing.Protocol):
    scale: float


@program
def a_protocol_is_checked_at_run_time() -> Case:
    o = Box()
    return Case(
        lambda x: x * o.scale if isinstance(o, HasScale) else x,
        lambda: setattr(o, "scale", 4.0),
        lambda: delattr(o, "scale"),
        lambda: setattr(o, "scale", 5.0),
        exported=False,
    )


# ---------------------------------------------------------------------- caches of classes


class Cached:
    cache: ClassVar[dict[Any, Any]] = {}
    hits = 0

    @classmethod
    def positions(cls, n: int) -> Any:
        if n in cls.cache:
            cls.hits += 1
        else:
            cls.cache[n] = torch.arange(n) * STATE.k
        return cls.cache[n]


@body(set_k(3.0), lambda: Cached.cache.clear(), looks_at=(Cached, Cached.cache))
def a_cache_on_a_class(x: Any) -> Any:
    return x + Cached.positions(x.shape[0])


class Child(Cached):
    pass


@body(lambda: setattr(Child, "cache", {}), looks_at=(Child, Cached.cache))
def a_cache_that_a_subclass_inherits(x: Any) -> Any:
    return x + Child.positions(x.shape[0]), Child.hits, Cached.hits


@program
def an_attribute_of_a_method_function() -> Case:
    class Model:
        def step(self, x: Any) -> Any:
            Model.step.calls = getattr(Model.step, "calls", 0) + 1
            return x * Model.step.calls

    o = Model()
    return Case(lambda x: o.step(x) + o.step.calls, lambda: setattr(Model.step, "calls", 10))


@program
def a_default_argument_that_grows() -> Case:
    def step(x: Any, seen: list[int] = []) -> Any:  # noqa: B006
        seen.append(x.shape[0])
        return x * len(seen)

    return Case(lambda x: step(x) + step(x, [1]), looks_at=step, exported=False)


@program
def getattribute_of_the_user_counts() -> Case:
    class Model:
        def __init__(self) -> None:
            self.k = 2.0
            self.asked: list[str] = []

        def __getattribute__(self, name: str) -> Any:
            if name != "asked":
                object.__getattribute__(self, "asked").append(name)
            return object.__getattribute__(self, name)

    o = Model()
    return Case(lambda x: x * o.k + len(o.asked), lambda: o.asked.clear(), looks_at=o)


@program
def setattr_of_the_user_clamps() -> Case:
    class Model:
        k = 1.0

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, min(value, STATE.k))

        def __delattr__(self, name: str) -> None:
            super().__setattr__(name, -1.0)

    o = Model()

    def fn(x: Any) -> Any:
        o.k = o.k + 1.5
        y = x * o.k
        if o.k >= 4:
            del o.k
        return y

    return Case(fn, set_k(6.0), set_k(2.5), looks_at=o)


@program
def super_through_a_changed_base() -> Case:
    class A:
        def k(self) -> float:
            return 2.0

    class B:
        def k(self) -> float:
            return 3.0

    class C(A):
        def k(self) -> float:
            return super().k() * 10

    o = C()
    return Case(lambda x: x * o.k(), lambda: setattr(C, "__bases__", (B,)), exported=False)
