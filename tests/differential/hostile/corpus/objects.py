"""Objects of the user's: descriptors, metaclasses, special methods, dataclasses, enums, copies."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import pickle
import weakref
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import torch

from tests.differential.hostile.program import Case, attribute, item, program

LOG: list[Any] = []


class Scaled:
    """A data descriptor with state of its own."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, o: Any, owner: Any = None) -> Any:
        return self if o is None else getattr(o, self.name, 1.0) * self.factor

    def __set__(self, o: Any, value: Any) -> None:
        setattr(o, self.name, value)

    def __delete__(self, o: Any) -> None:
        delattr(o, self.name)


class Holder:
    scale = Scaled(2.0)


@program
def descriptor_with_state() -> Case:
    o = Holder()
    o.scale = 3.0

    def fn(x: Any) -> Any:
        return x * o.scale

    return Case(
        fn, *attribute(vars(Holder)["scale"], "factor", 5.0, 2.0), *attribute(o, "scale", 7.0)
    )


@program
def descriptor_that_is_set_inside() -> Case:
    o = Holder()

    def fn(x: Any) -> Any:
        o.scale = x.shape[0]
        return x * o.scale

    return Case(fn, looks_at=o)


@program
def descriptor_that_is_deleted_inside() -> Case:
    o = Holder()

    def fn(x: Any) -> Any:
        o.scale = 4.0
        y = x * o.scale
        del o.scale
        return y, x * o.scale

    return Case(fn, looks_at=o)


@program
def non_data_descriptor_is_shadowed() -> Case:
    class Lazy:
        def __get__(self, o: Any, owner: Any = None) -> float:
            return 2.0

    class C:
        value = Lazy()

    o = C()
    return Case(lambda x: x * o.value, lambda: vars(o).update(value=9.0), lambda: vars(o).clear())


class Meta(type):
    factor = 2.0

    def __call__(cls, *args: Any) -> Any:
        LOG.append(cls.__name__)
        return super().__call__(*args)

    def __len__(cls) -> int:
        return 3

    def __contains__(cls, x: Any) -> bool:
        return x == cls.factor

    def __getitem__(cls, key: Any) -> Any:
        return key * cls.factor

    def __iter__(cls) -> Any:
        return iter((1.0, cls.factor))


class Made(metaclass=Meta):
    def __init__(self, v: Any) -> None:
        self.v = v


@program
def metaclass_call() -> Case:
    return Case(lambda x: Made(x * 2).v + 1, looks_at=LOG)


@program
def metaclass_protocols() -> Case:
    def fn(x: Any) -> Any:
        total = sum(Made)
        return x * len(Made) + Made[total] + (1.0 if 2.0 in Made else 5.0)

    return Case(fn, *attribute(Meta, "factor", 3.0, 2.0))


@program
def class_getitem() -> Case:
    class C:
        factor: ClassVar[float] = 2.0

        def __class_getitem__(cls, key: Any) -> Any:
            return key * cls.factor

    return Case(lambda x: C[x], *attribute(C, "factor", 4.0, 2.0))


@program
def init_subclass() -> Case:
    made: list[str] = []

    class Base:
        def __init_subclass__(cls, factor: float = 1.0) -> None:
            made.append(cls.__name__)
            cls.factor = factor  # type: ignore[attr-defined]

    def fn(x: Any) -> Any:
        class Child(Base, factor=3.0):
            pass

        return x * Child.factor  # type: ignore[attr-defined]

    return Case(fn, looks_at=made)


@program
def attribute_by_name() -> Case:
    class C:
        calls = 0

        def __getattr__(self, name: str) -> Any:
            type(self).calls += 1
            return len(name)

    o = C()
    return Case(lambda x: x * o.abc + o.de, lambda: setattr(o, "abc", 10.0), looks_at=C)


@program
def every_attribute() -> Case:
    class C:
        def __init__(self) -> None:
            self.seen: list[str] = []
            self.v = 2.0

        def __getattribute__(self, name: str) -> Any:
            if name == "v":
                self.seen.append(name)
            return super().__getattribute__(name)

    o = C()
    return Case(lambda x: x * o.v + o.v, *attribute(o, "v", 3.0), looks_at=o)


@program
def assignments_are_counted() -> Case:
    class C:
        count = 0

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__("count", self.count + 1)
            super().__setattr__(name, value)

    o = C()

    def fn(x: Any) -> Any:
        o.last = x.shape[0]
        return x * o.count

    return Case(fn, looks_at=o)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: float
    b: float = 2.0
    both: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.both = self.a + self.b


@program
def dataclass_with_slots() -> Case:
    return Case(lambda x: x * Slotted(3.0).both + Slotted(1.0, 5.0).b)


@program
def dataclass_with_slots_outside() -> Case:
    o = Slotted(1.0)
    return Case(lambda x: x * o.both, *attribute(o, "both", 7.0, 3.0))


@program
def dataclass_with_slots_is_changed() -> Case:
    o = Slotted(1.0)

    def fn(x: Any) -> Any:
        o.a += 1.0
        return x * o.a

    return Case(fn, looks_at=o)


@program
def dataclass_that_is_returned() -> Case:
    @dataclasses.dataclass(frozen=True, order=True)
    class Pair:
        n: int
        t: Any = dataclasses.field(compare=False)

    def fn(x: Any) -> Any:
        p = Pair(x.shape[0], x + 1)
        return p, p < Pair(4, x), dataclasses.replace(p, n=9).n

    return Case(fn, exported=False)


@program
def dataclass_as_a_dict() -> Case:
    @dataclasses.dataclass
    class P:
        a: float
        b: list[float]

    o = P(2.0, [1.0, 2.0])

    def fn(x: Any) -> Any:
        d = dataclasses.asdict(o)
        d["b"].append(9.0)
        return x * d["a"] + sum(d["b"])

    return Case(fn, lambda: o.b.append(3.0), looks_at=o)


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    C = A | B


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Named(str, enum.Enum):
    ADD = "add"
    MUL = "mul"


@program
def flags() -> Case:
    state = {"f": Flags.A}

    def fn(x: Any) -> Any:
        f = state["f"]
        if Flags.B in f:
            x = x + 1
        return x * len(list(Flags)) * (f | Flags.B).value, f & Flags.A, ~f

    return Case(fn, *item(state, "f", Flags.C, Flags.B), exported=False)


@program
def int_enum_arithmetic() -> Case:
    state = {"l": Level.LOW}
    return Case(
        lambda x: x * state["l"] + Level(3) + Level["LOW"], *item(state, "l", Level.HIGH, Level.LOW)
    )


@program
def enum_of_strings() -> Case:
    state = {"op": Named.ADD}

    def fn(x: Any) -> Any:
        return x + 1 if state["op"] == "add" else x * 2

    return Case(fn, *item(state, "op", Named.MUL, "add"))


@program
def fractions_and_decimals() -> Case:
    state = {"f": Fraction(1, 3), "d": Decimal("0.5")}

    def fn(x: Any) -> Any:
        return x * float(state["f"] + 1) + float(state["d"] * 2), state["f"].limit_denominator(2)

    return Case(
        fn, *item(state, "f", Fraction(2, 3)), *item(state, "d", Decimal("0.25")), exported=False
    )


@program
def fraction_of_a_size() -> Case:
    return Case(
        lambda x: (x * float(Fraction(x.shape[0], 4)), Fraction(x.shape[0], 6)), exported=False
    )


class Number:
    """A number with methods of its own."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __index__(self) -> int:
        LOG.append("index")
        return self.n

    def __bool__(self) -> bool:
        LOG.append("bool")
        return self.n > 1

    def __len__(self) -> int:
        return self.n

    def __float__(self) -> float:
        return self.n + 0.5

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.n == self.n

    def __hash__(self) -> int:
        return hash(self.n)

    def __lt__(self, other: Any) -> bool:
        LOG.append(("lt", self.n, other.n))
        return self.n < other.n


@program
def index_of_the_user() -> Case:
    o = Number(2)
    return Case(
        lambda x: (x[: o.__index__()], [1, 2, 3, 4][o], torch.zeros(o.n)),
        *attribute(o, "n", 1),
        looks_at=LOG,
    )


@program
def truth_and_length_of_the_user() -> Case:
    o = Number(2)
    return Case(
        lambda x: (x if o else -x) * len(o) + float(o) + (o and 1 or 0) if o else x - len(o),
        *attribute(o, "n", 1, 3),
        looks_at=LOG,
        exported=False,
    )


@program
def sorted_by_the_user() -> Case:
    things = [Number(3), Number(1), Number(2)]

    def fn(x: Any) -> Any:
        return x * sorted(things)[0].n + max(things).n - min(things, key=lambda o: -o.n).n

    return Case(fn, lambda: things.append(Number(0)), looks_at=LOG)


@program
def sorted_in_place() -> Case:
    things = [3, 1, 2]

    def fn(x: Any) -> Any:
        things.sort(key=lambda n: -n)
        things.reverse()
        return x * things[0]

    return Case(fn, lambda: things.append(0), looks_at=things)


@program
def equality_that_gives_tensors() -> Case:
    class E:
        def __init__(self, t: Any) -> None:
            self.t = t

        def __eq__(self, other: Any) -> Any:
            return self.t == other

        __hash__ = None  # type: ignore[assignment]

    def fn(x: Any) -> Any:
        return (E(x) == 2.0).float() + x

    return Case(fn)


@program
def hash_of_the_user_as_a_key() -> Case:
    table = {Number(1): 2.0, Number(2): 3.0}
    key = Number(1)
    return Case(lambda x: x * table[key] + table.get(Number(5), 1.0), *attribute(key, "n", 2, 1))


@program
def tensors_as_keys() -> Case:
    t = torch.ones(2)
    table = {t: 2.0}

    def fn(x: Any) -> Any:
        found = {x: 1.0}
        return x * table[t] + found[x] + (1.0 if x in table else 4.0)

    return Case(fn, lambda: table.update({t: 5.0}))


@program
def weak_dictionary() -> Case:
    class O:
        pass

    alive = [O(), O()]
    table = weakref.WeakKeyDictionary({o: i + 1.0 for i, o in enumerate(alive)})

    def fn(x: Any) -> Any:
        return x * len(table) + sum(table.values())

    return Case(fn, lambda: alive.pop())


@program
def weak_values() -> Case:
    class O:
        def __init__(self, v: float) -> None:
            self.v = v

    alive = {"a": O(2.0)}
    table: Any = weakref.WeakValueDictionary(alive)

    def fn(x: Any) -> Any:
        o = table.get("a")
        return x if o is None else x * o.v

    return Case(fn, *attribute(alive["a"], "v", 3.0), lambda: alive.clear())


@program
def weak_reference_that_dies() -> Case:
    class O:
        v = 2.0

    alive = [O()]
    r = weakref.ref(alive[0])

    def fn(x: Any) -> Any:
        o = r()
        return x + 1 if o is None else x * o.v

    return Case(fn, lambda: alive.clear())


@program
def finalizer_of_what_is_replaced() -> Case:
    class O:
        def __init__(self, n: int) -> None:
            self.n = n

        def __del__(self) -> None:
            LOG.append(("del", self.n))

    state = {"o": O(0)}

    def fn(x: Any) -> Any:
        state["o"] = O(state["o"].n + 1)
        return x * state["o"].n

    return Case(fn, looks_at=LOG)


@program
def copies() -> Case:
    class O:
        def __init__(self) -> None:
            self.items = [1.0, 2.0]

        def __copy__(self) -> Any:
            LOG.append("copy")
            made = O()
            made.items = self.items
            return made

    o = O()

    def fn(x: Any) -> Any:
        a, b = copy.copy(o), copy.deepcopy(o)
        a.items.append(3.0)
        b.items.append(4.0)
        return x * sum(a.items) + sum(b.items)

    return Case(fn, looks_at=(o, LOG))


@program
def copies_of_tensors() -> Case:
    w = torch.ones(2)
    w.tag = "mine"  # type: ignore[attr-defined]

    def fn(x: Any) -> Any:
        a, b, c = copy.copy(x), copy.deepcopy(w), copy.copy(w)
        a.add_(1)
        b.add_(1)
        return a, b, c, x, c is w, hasattr(c, "tag")

    return Case(fn, looks_at=w, exported=False)


@program
def pickled_inside() -> Case:
    state = {"a": [1.0, 2.0], "n": 3}

    def fn(x: Any) -> Any:
        made = pickle.loads(pickle.dumps(state))
        made["a"].append(1.0)
        return x * sum(made["a"]) + made["n"]

    return Case(fn, *item(state, "n", 4), looks_at=state)


@program
def single_dispatch() -> Case:
    @functools.singledispatch
    def size(o: Any) -> float:
        return 1.0

    @size.register
    def _(o: int) -> float:
        return 2.0

    @size.register(list)
    def _(o: list[Any]) -> float:
        return 3.0 + len(o)

    state: dict[str, Any] = {"o": 1}
    return Case(
        lambda x: x * size(state["o"]),
        *item(state, "o", [1], "a"),
        lambda: size.register(str, lambda o: 9.0),
    )


@program
def single_dispatch_method() -> Case:
    class C:
        @functools.singledispatchmethod
        def f(self, o: Any) -> float:
            return 1.0

        @f.register
        def _(self, o: int) -> float:
            return 2.0

    o = C()
    state: dict[str, Any] = {"v": 1}
    return Case(lambda x: x * o.f(state["v"]) + o.f(x.shape[0]), *item(state, "v", "a", 2))


@program
def total_ordering() -> Case:
    @functools.total_ordering
    class T:
        def __init__(self, v: float) -> None:
            self.v = v

        def __eq__(self, other: object) -> bool:
            return isinstance(other, T) and self.v == other.v

        def __lt__(self, other: Any) -> bool:
            return bool(self.v < other.v)

        __hash__ = None  # type: ignore[assignment]

    a, b = T(1.0), T(2.0)
    return Case(lambda x: x + 1 if a >= b else x * 2 if a <= b else x, *attribute(a, "v", 2.0, 3.0))


@program
def cached_property_of_an_object() -> Case:
    class C:
        base = 2.0

        @functools.cached_property
        def value(self) -> float:
            LOG.append("computed")
            return self.base * 2

    o = C()
    return Case(
        lambda x: x * o.value,
        *attribute(o, "base", 5.0),
        lambda: vars(o).pop("value", None),
        looks_at=(o, LOG),
    )


@program
def operators_of_the_user() -> Case:
    class V:
        def __init__(self, v: Any) -> None:
            self.v = v

        def __add__(self, other: Any) -> Any:
            return NotImplemented if isinstance(other, V) else V(self.v + other)

        def __radd__(self, other: Any) -> Any:
            return V(other + self.v * 10)

        def __iadd__(self, other: Any) -> Any:
            LOG.append("iadd")
            self.v = self.v + other
            return self

        def __matmul__(self, other: Any) -> Any:
            return self.v * 3

        def __neg__(self) -> Any:
            return V(-self.v)

    def fn(x: Any) -> Any:
        v = V(x) + 1
        v += 2
        try:
            v + V(x)
            caught = False
        except TypeError:
            caught = True
        return (-(1 + v)).v, v @ 2, caught

    return Case(fn, looks_at=LOG)


@program
def operator_of_the_user_with_a_tensor_on_the_left() -> Case:
    class V:
        v = 3.0

        def __radd__(self, other: Any) -> Any:
            return other * self.v

        def __rmul__(self, other: Any) -> Any:
            return other - self.v

    o = V()
    return Case(lambda x: (_tried(lambda: x + o), _tried(lambda: x * o)), *attribute(V, "v", 4.0))


def _tried(call: Any) -> Any:
    try:
        return call()
    except TypeError as e:
        return type(e).__name__


@program
def iteration_of_the_user() -> Case:
    class Down:
        def __init__(self, n: int) -> None:
            self.n = n

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    shared = Down(20)

    def fn(x: Any) -> Any:
        own = list(Down(3))
        return x * next(shared) + sum(own)

    return Case(fn, looks_at=shared)


@program
def class_changed_inside() -> Case:
    class A:
        def f(self, x: Any) -> Any:
            return x + 1

    class B:
        def f(self, x: Any) -> Any:
            return x * 2

    o: Any = A()

    def fn(x: Any) -> Any:
        y = o.f(x)
        o.__class__ = B
        return y + o.f(x)

    return Case(fn, lambda: setattr(o, "__class__", A), looks_at=o)


@program
def bound_method_kept() -> Case:
    class A:
        k = 2.0

        def f(self, x: Any) -> Any:
            return x * self.k

    o = A()
    kept = o.f

    def patch() -> None:
        A.f = lambda self, x: x - 1  # type: ignore[method-assign, assignment]

    return Case(lambda x: kept(x) + o.f(x), *attribute(o, "k", 5.0), patch)


@program
def name_mangling() -> Case:
    class A:
        __secret = 2.0

        def get(self, x: Any) -> Any:
            self.__count = getattr(self, "_A__count", 0) + 1
            return x * self.__secret + self.__count

    o = A()
    return Case(lambda x: o.get(x), *attribute(A, "_A__secret", 4.0), looks_at=o)


@program
def multiple_inheritance() -> Case:
    class Base:
        def f(self, x: Any) -> Any:
            LOG.append("base")
            return x

    class Left(Base):
        def f(self, x: Any) -> Any:
            return super().f(x) + 1

    class Right(Base):
        def f(self, x: Any) -> Any:
            return super().f(x) * 3

    class Both(Left, Right):
        pass

    o = Both()
    return Case(lambda x: o.f(x), lambda: setattr(Both, "__bases__", (Right, Left)), looks_at=LOG)


@program
def abstract_and_registered() -> Case:
    import abc

    class Shape(abc.ABC):  # noqa: B024  nothing to override
        pass

    class Square:
        pass

    o = Square()
    return Case(lambda x: x + 1 if isinstance(o, Shape) else x * 2, lambda: Shape.register(Square))


@program
def instance_check_of_the_user() -> Case:
    class M(type):
        answer = True

        def __instancecheck__(cls, o: Any) -> bool:
            LOG.append("asked")
            return cls.answer

    class C(metaclass=M):
        pass

    return Case(
        lambda x: x + 1 if isinstance(x, C) else x * 2,
        *attribute(M, "answer", False, True),
        looks_at=LOG,
    )


@program
def callable_with_a_kind_of_call_in_c() -> Case:
    """The class is in a module whose name begins like that of torch."""
    state = {"k": 2.0}

    class Scale:
        __module__ = "torch_extras"
        __call__ = functools.partial(lambda x: x * state["k"])

    o = Scale()
    return Case(lambda x: o(x), *item(state, "k", 3.0, 5.0))
