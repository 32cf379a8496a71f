"""Identity and types: `is`, `type`, `isinstance`, `id`, lookups by type."""

import numbers

import torch

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program

Tensor = torch.Tensor


def asks(name, ask, args=None):
    """A program whose result is the answers to questions about its argument."""

    def factory():
        def fn(x):
            return x * 2, ask(x, x.shape[0])

        return Case(fn) if args is None else Case(fn, args=args)

    factory.__name__ = name
    program(factory)


asks("type_is_tensor", lambda x, n: type(x) is Tensor)
asks("type_equals_tensor", lambda x, n: type(x) == Tensor)
asks("type_in_a_tuple", lambda x, n: type(x) in (Tensor, int))
asks("type_in_a_set", lambda x, n: type(x) in {Tensor, int})
asks("type_as_a_key", lambda x, n: {Tensor: "t", int: "i"}[type(x)])
asks("type_as_a_key_with_a_default", lambda x, n: {Tensor: "t"}.get(type(x), "none"))
asks("type_returned", lambda x, n: type(x))
asks("class_attribute", lambda x, n: x.__class__ is Tensor)
asks("class_returned", lambda x, n: x.__class__)
asks("type_name", lambda x, n: (type(x).__name__, type(n).__name__))
asks("type_of_a_result", lambda x, n: type(x * 2) is Tensor)
asks("isinstance_tensor", lambda x, n: isinstance(x, Tensor))
asks("isinstance_parameter", lambda x, n: isinstance(x, torch.nn.Parameter))
asks("isinstance_tuple_of_types", lambda x, n: isinstance(x, (int, Tensor)))
asks("issubclass_of_its_type", lambda x, n: issubclass(type(x), Tensor))
asks("type_by_three_arguments", lambda x, n: type("K", (), {"k": 1})().k)
asks("size_is_a_size", lambda x, n: isinstance(x.shape, torch.Size))
asks("size_type", lambda x, n: type(x.shape) is torch.Size)
asks("size_call_type", lambda x, n: isinstance(x.size(), tuple))
asks("size_slice_type", lambda x, n: type(x.shape[:1]) is torch.Size)
asks("size_plus_type", lambda x, n: type(x.shape + (1,)).__name__)
asks("size_numel", lambda x, n: (x.shape.numel(), type(x.shape.numel()) is int))
asks("size_equals_tuple", lambda x, n: x.shape == (3,))
asks("size_as_a_key", lambda x, n: {(3,): "three"}.get(x.shape, "other"))
asks("size_hash", lambda x, n: hash(x.shape) == hash((n,)))
asks("number_type_is_int", lambda x, n: type(n) is int)
asks("number_type_equals_int", lambda x, n: type(n) == int)
asks("number_type_returned", lambda x, n: type(n))
asks("number_isinstance_int", lambda x, n: isinstance(n, int))
asks("number_isinstance_abstract", lambda x, n: isinstance(n, numbers.Integral))
asks("number_type_as_a_key", lambda x, n: {int: 1, float: 2}[type(n)])
asks("number_type_of_a_product", lambda x, n: type(n * 2 + 1) is int)
asks("number_type_of_a_quotient", lambda x, n: type(n / 2) is float)
asks("comparison_isinstance_bool", lambda x, n: isinstance(n > 2, bool))
asks("comparison_type_is_bool", lambda x, n: type(n > 2) is bool)
asks("comparison_is_true", lambda x, n: (n > 2) is True)
asks("comparison_is_not_false", lambda x, n: (n == 3) is not False)
asks("number_is_itself", lambda x, n: n is n)
asks("number_as_a_key", lambda x, n: {3: "three"}.get(n, "other"))
asks("number_in_a_set", lambda x, n: n in {2, 3})
asks("number_in_a_range", lambda x, n: n in range(1, 3))
asks("number_hash", lambda x, n: hash(n))
asks("number_repr", lambda x, n: (repr(n), str(n), f"{n:03d}", "%d" % n))
asks("number_bits", lambda x, n: n.bit_length())
asks("number_methods", lambda x, n: (n.real, n.numerator, n.conjugate()))
asks("number_as_index", lambda x, n: "abcdef"[n])
asks("number_match", lambda x, n: match(n))
asks("number_chr", lambda x, n: chr(97 + n))
asks("tensor_identity", lambda x, n: x is x)
asks("view_is_not_itself", lambda x, n: x.view(-1) is x)
asks("to_same_dtype_is_itself", lambda x, n: x.to(torch.float32) is x)
asks("to_other_dtype_is_another", lambda x, n: x.to(torch.float64) is x)
asks("to_device_is_itself", lambda x, n: x.to("cpu") is x)
asks("float_is_itself", lambda x, n: x.float() is x)
asks("double_is_another", lambda x, n: x.double() is x)
asks("type_as_is_itself", lambda x, n: x.type_as(x) is x)
asks("cpu_is_itself", lambda x, n: x.cpu() is x)
asks("contiguous_is_itself", lambda x, n: x.contiguous() is x)
asks("contiguous_of_a_view", lambda x, n: x.t().contiguous() is x, matrix)
asks("contiguous_returned", lambda x, n: x.contiguous())
asks("expand_as_itself", lambda x, n: x.expand_as(x) is x)
asks("requires_grad_is_itself", lambda x, n: x.requires_grad_(False) is x)
asks("id_of_a_tensor", lambda x, n: id(x) == id(x))
asks("id_as_a_key", lambda x, n: {id(x): 1}[id(x)])
asks("tensor_as_a_key", lambda x, n: {x: 1}[x])
asks("tensor_in_a_list_by_identity", lambda x, n: any(t is x for t in [x, x * 2]))
asks("tensor_is_none", lambda x, n: (x is None, x is not None))
asks("data_pointer_is_kept", lambda x, n: x.data_ptr() == x.view(-1).data_ptr())
asks(
    "storage_is_shared",
    lambda x, n: x.untyped_storage().data_ptr() == x[:1].untyped_storage().data_ptr(),
)
asks("callable_and_attributes", lambda x, n: (callable(x), hasattr(x, "foo"), hasattr(x, "shape")))
asks("length_type", lambda x, n: type(len(x)) is int)
asks("item_type", lambda x, n: type(x.sum().item()) is float)
asks("list_type", lambda x, n: [type(v).__name__ for v in x.tolist()])
asks("dim_type", lambda x, n: (type(x.dim()), type(x.numel()), type(x.stride())))
asks("dtype_identity", lambda x, n: x.dtype is torch.float32)
asks("grad_is_asked", lambda x, n: (x.requires_grad, x.is_leaf, x.grad_fn is None), leaf)


def match(n):
    match n:
        case 0:
            return "none"
        case 3:
            return "three"
        case int():
            return "int"
        case _:
            return "other"


@program
def argument_is_a_parameter():
    lin = torch.nn.Linear(4, 4)

    def fn(x):
        return x * 3 if x is lin.weight else x * 2

    calls = [
        lambda k=k: (lin.weight if k else matrix(4)[0].requires_grad_(),) for k in (0, 1, 0, 1)
    ]
    return Case(fn, calls=calls)


@program
def argument_is_a_global():
    def fn(x):
        return x * 3 if x is SHARED else x * 2

    calls = [lambda k=k: (SHARED if k else torch.ones(3),) for k in (0, 1, 0, 1)]
    return Case(fn, calls=calls)


SHARED = torch.ones(3)


@program
def two_arguments_that_may_be_one():
    def fn(x, y):
        return x * 3 if x is y else x + y

    def same(n):
        x = torch.arange(n) + 1.0
        return x, x

    calls = [
        lambda: same(3),
        lambda: (torch.ones(3), torch.ones(3)),
        lambda: same(3),
        lambda: same(2),
    ]
    return Case(fn, calls=calls)


@program
def two_arguments_that_share_memory():
    def fn(x, y):
        x.add_(1)
        return y * 2

    def same(n):
        x = torch.arange(n) + 1.0
        return x, x.view(-1)

    calls = [
        lambda: (torch.ones(3), torch.ones(3)),
        lambda: same(3),
        lambda: (torch.ones(3), torch.ones(3)),
        lambda: same(2),
    ]
    return Case(fn, calls=calls)


@program
def list_argument_is_the_result():
    def fn(x, rows):
        return rows

    rows = [1.0]
    return Case(fn, args=lambda n: (torch.ones(n), rows), drive=lambda call, x, r: call(x, r) is r)


@program
def objects_by_identity():
    a, b = Box(), Box()
    o = Box(which=a)

    def fn(x):
        return x * 2 if o.which is a else x * 3

    return Case(fn, *attribute(o, "which", b, a))


@program
def sentinel_default():
    MISSING = object()
    o = Box()

    def fn(x):
        return x * 2 if getattr(o, "k", MISSING) is MISSING else x * 3

    return Case(fn, *attribute(o, "k", None), lambda: delattr(o, "k"))


@program
def result_is_an_argument():
    def fn(x, y):
        return (x, y) if x.shape[0] > 2 else (y, x)

    return Case(fn, args=lambda n: (torch.ones(n), torch.zeros(n)))


@program
def results_that_are_one():
    def fn(x):
        y = x * 2
        return y, y, [y], {"y": y}

    return Case(fn)


@program
def result_is_a_parameter():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        return m.weight, m(x), list(m.parameters())

    return Case(fn, args=matrix)


@program
def result_is_an_outside_object():
    o = Box(rows=[1])

    def fn(x):
        return x * 2, o, o.rows

    return Case(fn)


@program
def weak_key_of_an_argument():
    import weakref

    seen = weakref.WeakKeyDictionary()

    def fn(x, o):
        seen[o] = seen.get(o, 0) + 1
        return x * seen[o]

    kept = Box()
    return Case(fn, args=lambda n: (torch.ones(n), kept))
