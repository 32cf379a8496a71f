"""Code that is replaced between calls: methods, classes, code objects, forwards, hooks."""

import functools
import types

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, leaf, matrix, program


class Scaler:
    k = 2.0

    def scale(self, x):
        return x * self.k

    @staticmethod
    def fixed(x):
        return x * 2

    @classmethod
    def of_class(cls, x):
        return x * cls.k

    @property
    def factor(self):
        return 2.0


def tripled(x):
    return x * 3


def doubled(x):
    return x * 2


def helper(x):
    return x * 2


@program
def global_function():
    def fn(x):
        return helper(x)

    def change():
        global helper
        helper = tripled if helper is not tripled else doubled

    return Case(fn, change)


@program
def function_in_a_cell():
    inner = doubled

    def fn(x):
        return inner(x)

    def change():
        nonlocal inner
        inner = tripled if inner is doubled else doubled

    return Case(fn, change)


@program
def function_in_a_dict():
    table = {"act": doubled}

    def fn(x):
        return table["act"](x)

    return Case(fn, *item(table, "act", tripled, doubled))


@program
def code_of_a_helper():
    def inner(x):
        return x * 2

    def other(x):
        return x * 3

    def fn(x):
        return inner(x)

    return Case(fn, *attribute(inner, "__code__", other.__code__, doubled.__code__))


@program
def code_of_the_function():
    def fn(x):
        return x * 2

    return Case(fn, *attribute(fn, "__code__", tripled.__code__, doubled.__code__))


@program
def method_of_a_class():
    o = Scaler()

    def fn(x):
        return o.scale(x)

    return Case(fn, *attribute(Scaler, "scale", lambda self, x: x * 3, lambda self, x: x * 4))


@program
def method_of_an_instance():
    o = Scaler()

    def fn(x):
        return o.scale(x)

    return Case(fn, *attribute(o, "scale", tripled), lambda: vars(o).clear())


@program
def static_method():
    def fn(x):
        return Scaler.fixed(x)

    return Case(fn, *attribute(Scaler, "fixed", staticmethod(tripled), staticmethod(doubled)))


@program
def class_method():
    o = Scaler()

    def fn(x):
        return o.of_class(x)

    new = classmethod(lambda cls, x: x * 3)
    return Case(fn, *attribute(Scaler, "of_class", new, classmethod(lambda cls, x: x * 4)))


@program
def property_of_a_class():
    o = Scaler()

    def fn(x):
        return x * o.factor

    return Case(fn, *attribute(Scaler, "factor", property(lambda self: 3.0), 4.0))


@program
def property_added_over_an_attribute():
    class Kind:
        pass

    o = Kind()
    o.k = 2.0

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(Kind, "k", property(lambda self: 3.0)), lambda: delattr(Kind, "k"))


@program
def class_of_an_object():
    class Other(Scaler):
        def scale(self, x):
            return x * 3

    o = Scaler()

    def fn(x):
        return o.scale(x)

    return Case(fn, *attribute(o, "__class__", Other, Scaler))


@program
def bases_of_a_class():
    class A:
        k = 2.0

    class B:
        k = 3.0

    class Kind(A):
        pass

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(Kind, "__bases__", (B,), (A,)))


@program
def operator_of_a_class():
    class Kind:
        def __add__(self, x):
            return x + 2

    o = Kind()

    def fn(x):
        return o + x

    return Case(fn, *attribute(Kind, "__add__", lambda s, x: x + 3, lambda s, x: x + 2))


@program
def truth_of_a_class():
    class Kind:
        pass

    o = Kind()

    def fn(x):
        return x * 2 if o else x

    back = lambda: delattr(Kind, "__bool__")
    return Case(fn, *attribute(Kind, "__bool__", lambda s: False), back)


@program
def call_of_a_class():
    class Kind:
        def __call__(self, x):
            return x * 2

    o = Kind()

    def fn(x):
        return o(x)

    return Case(fn, *attribute(Kind, "__call__", lambda s, x: x * 3, lambda s, x: x * 2))


@program
def init_of_a_class_made_inside():
    class Kind:
        def __init__(self, k):
            self.k = k

    def fn(x):
        return x * Kind(2.0).k

    def init(self, k):
        self.k = k + 1

    return Case(fn, *attribute(Kind, "__init__", init))


@program
def getattr_added_to_a_class():
    class Kind:
        pass

    o = Kind()

    def fn(x):
        return x * getattr(o, "k", 2.0)

    back = lambda: delattr(Kind, "__getattr__")
    return Case(fn, *attribute(Kind, "__getattr__", lambda s, name: 3.0), back)


@program
def function_of_a_partial():
    table = {"f": doubled}

    def choose(name, x):
        return table[name](x)

    p = functools.partial(choose, "f")

    def fn(x):
        return p(x)

    return Case(fn, *item(table, "f", tripled, doubled))


@program
def function_of_a_module():
    module = types.SimpleNamespace(scale=doubled)

    def fn(x):
        return module.scale(x)

    return Case(fn, *attribute(module, "scale", tripled, doubled))


@program
def function_of_torch():
    def fn(x):
        return torch.nn.functional.relu(x - 2)

    def change():
        torch.nn.functional.relu = tripled

    def back():
        torch.nn.functional.relu = RELU

    return Case(fn, change, back, cleanup=back)


RELU = torch.nn.functional.relu


# ---------------------------------------------------------------------- modules


def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())


@program
def forward_of_a_layer():
    m = net()

    def fn(x):
        return m(x)

    back = lambda: vars(m[0]).pop("forward")
    return Case(fn, *attribute(m[0], "forward", tripled), back, args=matrix)


@program
def forward_of_a_layer_of_a_compiled_module():
    m = net()
    back = lambda: vars(m[0]).pop("forward")
    return Case(m, *attribute(m[0], "forward", tripled), back, args=matrix)


@program
def forward_of_a_module_class():
    class Act(torch.nn.Module):
        def forward(self, x):
            return x * 2

    m = torch.nn.Sequential(Act())
    new = [lambda self, x: x * 3, lambda self, x: x * 4]
    return Case(m, *attribute(Act, "forward", *new))


@program
def layer_replaced():
    m = net()
    return Case(m, *item(m, 1, torch.nn.Tanh(), torch.nn.ReLU()), args=matrix)


@program
def layer_appended():
    m = net()
    return Case(m, lambda: m.append(torch.nn.Tanh()), lambda: m.__delitem__(-1), args=matrix)


@program
def activation_attribute():
    class Net(torch.nn.Module):
        act = staticmethod(torch.relu)

        def forward(self, x):
            return self.act(x - 2)

    m = Net()
    return Case(m, *attribute(m, "act", torch.tanh, torch.relu))


@program
def training_flag():
    class Net(torch.nn.Module):
        def forward(self, x):
            return x * 2 if self.training else x * 3

    m = Net()
    return Case(m, m.eval, m.train)


@program
def training_flag_of_a_layer():
    m = torch.nn.Sequential(torch.nn.Dropout(1.0), torch.nn.ReLU())
    return Case(m, m[0].eval, m[0].train)


@program
def hook_added():
    m = net()
    handles = []
    add = lambda: handles.append(m[0].register_forward_hook(lambda m, i, o: o * 2))
    return Case(m, add, lambda: handles.pop().remove(), args=matrix)


@program
def hook_swapped():
    m = net()
    handles = [m[0].register_forward_hook(lambda m, i, o: o * 2)]

    def change(k):
        handles.pop().remove()
        handles.append(m[0].register_forward_hook(lambda m, i, o: o * k))

    return Case(m, lambda: change(3), lambda: change(2), args=matrix)


@program
def pre_hook_swapped():
    m = net()
    handles = [m[0].register_forward_pre_hook(lambda m, i: (i[0] * 2,))]

    def change(k):
        handles.pop().remove()
        handles.append(m[0].register_forward_pre_hook(lambda m, i: (i[0] * k,)))

    return Case(m, lambda: change(3), lambda: change(2), args=matrix)


@program
def hook_on_the_compiled_module():
    m = net()
    handles = []
    add = lambda: handles.append(m.register_forward_hook(lambda m, i, o: o * 2))
    return Case(m, add, lambda: handles.pop().remove(), args=matrix)


@program
def global_module_hook():
    m = net()
    handles = []
    register = torch.nn.modules.module.register_module_forward_hook

    def add():
        handles.append(register(lambda mod, i, o: o * 2 if mod is m[0] else None))

    def drop():
        while handles:
            handles.pop().remove()

    def at(change, n):
        def make():
            if change is not None:
                change()
            return matrix(n)

        return make

    plan = [(None, 3), (None, 3), (add, 3), (None, 2), (drop, 3), (None, 1), (add, 3), (drop, 2)]
    return Case(m, calls=[at(*step) for step in plan], cleanup=drop)


@program
def backward_hook():
    m = net()
    handles = []

    def add():
        handles.append(m[0].register_full_backward_hook(lambda m, gi, go: tuple(g * 2 for g in gi)))

    def args(n):
        return (matrix(n)[0].requires_grad_(),)

    return Case(m, add, lambda: handles.pop().remove(), args=args)


@program
def tensor_hook_inside():
    o = Box(k=2.0)

    def fn(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: g * o.k)
        return y + 1

    return Case(fn, *attribute(o, "k", 3.0, 2.0), args=leaf)


@program
def parameter_replaced():
    m = torch.nn.Linear(4, 2)
    new = torch.nn.Parameter(torch.ones(2, 4))
    return Case(m, *attribute(m, "weight", new, m.weight), args=matrix)


@program
def parameter_changed_in_place():
    m = torch.nn.Linear(4, 2)

    def scale(k):
        with torch.no_grad():
            m.weight.mul_(k)

    return Case(m, lambda: scale(2.0), lambda: scale(0.5), args=matrix)


@program
def bias_set_to_none():
    m = torch.nn.Linear(4, 2)
    return Case(m, *attribute(m, "bias", None, m.bias), args=matrix)


@program
def buffer_replaced():
    m = torch.nn.Module()
    m.register_buffer("k", torch.tensor(2.0))

    def fn(x):
        return x * m.k

    return Case(fn, *attribute(m, "k", torch.tensor(3.0), torch.tensor([4.0])))
