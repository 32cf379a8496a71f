"""Tensors that are made inside are new on every call; special tensors keep their own paths."""

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program


def accumulates(name, make):
    """A program that makes a tensor and adds to it in place."""

    def factory():
        def fn(x):
            b = make()
            b += x.sum()
            return b * 1, b

        return Case(fn)

    factory.__name__ = name
    program(factory)


SOURCE = [0.0]
accumulates("tensor_class", lambda: torch.Tensor([0.0]))
accumulates("float_tensor", lambda: torch.FloatTensor([0.0]))
accumulates("double_tensor", lambda: torch.DoubleTensor([0.0]))
accumulates("tensor_function", lambda: torch.tensor([0.0]))
accumulates("as_tensor_of_a_list", lambda: torch.as_tensor([0.0]))
accumulates("from_numpy", lambda: torch.from_numpy(np.zeros(1, dtype=np.float32)))
accumulates("as_tensor_of_an_array", lambda: torch.as_tensor(np.zeros(1, dtype=np.float32)))
accumulates("asarray", lambda: torch.asarray([0.0]))
accumulates("frombuffer", lambda: torch.frombuffer(bytearray(4), dtype=torch.float32))
accumulates("from_dlpack", lambda: torch.from_dlpack(torch.zeros(1)))
accumulates("dlpack_of_an_array", lambda: torch.from_dlpack(np.zeros(1, dtype=np.float32)))
accumulates("empty_filled", lambda: torch.empty(1).fill_(0.0))
accumulates("zeros", lambda: torch.zeros(1))
accumulates("scalar_tensor", lambda: torch.scalar_tensor(0.0))
accumulates("tensor_of_a_global_list", lambda: torch.tensor(SOURCE))
accumulates("arange", lambda: torch.arange(1.0))
accumulates("clone_of_a_constant", lambda: CONSTANT.clone())
accumulates("detach_of_a_clone", lambda: CONSTANT.clone().detach())
accumulates("new_tensor", lambda: CONSTANT.new_tensor([0.0]))
accumulates("tensor_of_a_numpy_scalar", lambda: torch.tensor([np.float32(0.0)]))
accumulates("complex_made", lambda: torch.complex(torch.zeros(1), torch.zeros(1)))
accumulates(
    "storage_made", lambda: torch.tensor(torch.zeros(1).untyped_storage().tolist()[:1]).float()
)
accumulates("deep_copy", lambda: __import__("copy").deepcopy(CONSTANT))
accumulates("load_and_save", lambda: saved(torch.zeros(1)))

CONSTANT = torch.zeros(1)


def saved(t):
    import io

    buffer = io.BytesIO()
    torch.save(t, buffer)
    buffer.seek(0)
    return torch.load(buffer)


@program
def constant_changed_in_place():
    CONSTANT.zero_()

    def fn(x):
        CONSTANT.add_(1)
        return x * CONSTANT

    return Case(fn)


@program
def tensor_of_the_outside_list():
    rows = [1.0, 2.0]

    def fn(x):
        return x.sum() * torch.tensor(rows)

    return Case(fn, lambda: rows.append(3.0), rows.pop)


@program
def tensor_of_an_attribute():
    o = Box(k=2.0)

    def fn(x):
        return x * torch.tensor(o.k)

    return Case(fn, *attribute(o, "k", 3.0, 2, True))


@program
def tensor_of_sizes():
    def fn(x):
        return torch.tensor([x.shape[0], 1]), torch.tensor(x.shape[0] * 2.0), torch.tensor(x.shape)

    return Case(fn)


@program
def parameter_made_inside():
    def fn(x):
        p = torch.nn.Parameter(torch.ones(2))
        return p, x.sum() * p

    return Case(fn)


@program
def parameter_of_a_result():
    def fn(x):
        return torch.nn.Parameter(x * 2)

    return Case(fn)


@program
def buffer_made_inside():
    def fn(x):
        return torch.nn.Buffer(x * 2)

    return Case(fn)


@program
def buffer_that_is_not_kept():
    def fn(x):
        b = torch.nn.Buffer(x * 2, persistent=False)
        return b, isinstance(b, torch.nn.Buffer), b.persistent

    return Case(fn)


@program
def tensor_with_attributes():
    def fn(x):
        y = x * 2
        y.tag, y.kin = x.shape[0], x + 1
        return y, y.kin * y.tag

    return Case(fn)


@program
def tensor_with_a_list():
    def fn(x):
        y = x * 2
        y.tags = [x.shape[0]]
        y.tags.append(2)
        return y, len(y.tags)

    return Case(fn)


@program
def tensor_whose_attribute_goes():
    def fn(x):
        y = x * 2
        y.tag = 3
        del y.tag
        return y, hasattr(y, "tag")

    return Case(fn)


@program
def attributes_in_a_branch_on_data():
    def fn(x):
        y = x * 2
        y.tag = 1
        if x.sum() > 7:
            y.tag = 2
            y = y + y.tag
        return y, getattr(y, "tag", 0)

    return Case(fn)


@program
def attributes_in_a_loop():
    def fn(x):
        y = x * 1
        y.tag = 0
        while y.abs().sum() > 1:
            tag = y.tag + 1
            y = y * 0.5
            y.tag = tag
        return y, y.tag

    return Case(fn)


@program
def module_made_and_returned():
    def fn(x):
        layer = torch.nn.Linear(4, 2)
        return layer(x), layer

    return Case(fn, args=matrix)


@program
def leaf_made_inside():
    def fn(x):
        w = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((w * x.sum()).sum(), w)
        return w, g

    return Case(fn)


@program
def set_and_bytearray_returned():
    def fn(x):
        return {x.shape[0]}, bytearray(b"ab"), frozenset({1}), [x + 1]

    return Case(fn)


@program
def function_returned():
    def fn(x):
        n = x.shape[0]

        def inner(y):
            return y * n

        return inner

    def drive(call, x):
        return call(x)(x)

    return Case(fn, drive=drive)


@program
def function_that_is_returned_reads_later():
    o = Box(k=2.0)

    def fn(x):
        y = x * o.k
        return y, lambda: o.k

    def drive(call, x):
        y, later = call(x)
        return y, later()

    return Case(fn, *attribute(o, "k", 3.0, 2.0), drive=drive)


@program
def generator_returned():
    def fn(x):
        return (x * i for i in range(3))

    return Case(fn, drive=lambda call, x: list(call(x)))


@program
def custom_op_whose_fake_returns_its_input():
    name = "twice"
    lib = torch.library.Library("hostile", "FRAGMENT")
    if not hasattr(torch.ops.hostile, name):
        lib.define(f"{name}(Tensor x) -> Tensor")
        lib.impl(name, lambda x: x * 2, "CPU")
        torch.library.register_fake(f"hostile::{name}", lambda x: x, lib=lib)
    KEPT.append(lib)

    def fn(a):
        return torch.ops.hostile.twice(a) + 1

    return Case(fn)


KEPT = []


# ---------------------------------------------------------------------- special tensors


def special(name, make, use):
    """A program that is called with a dense tensor and with a special one."""

    def factory():
        def fn(x):
            return use(x)

        calls = [
            lambda n=n, k=k: (make(n) if k else matrix(n)[0],) for n in (3, 2) for k in (0, 1, 0, 1)
        ]
        return Case(fn, calls=calls)

    factory.__name__ = name
    program(factory)


def quantized(n):
    return torch.quantize_per_tensor(matrix(n)[0], 0.5, 0, torch.qint8)


special("sparse", lambda n: matrix(n)[0].to_sparse(), lambda x: x * 2)
special(
    "sparse_is_asked", lambda n: matrix(n)[0].to_sparse(), lambda x: (x.is_sparse, x.layout, x + x)
)
special("sparse_csr", lambda n: matrix(n)[0].to_sparse_csr(), lambda x: (x.layout, x * 2))
special("mkldnn", lambda n: matrix(n)[0].to_mkldnn(), lambda x: (x.is_mkldnn, x + x))
special(
    "quantized",
    quantized,
    lambda x: (x.is_quantized, x.dtype, x.dequantize() if x.is_quantized else x),
)
special(
    "negative_view",
    lambda n: torch.complex(matrix(n)[0], matrix(n)[0]).conj().imag,
    lambda x: (x.is_neg(), x * 2),
)
special(
    "conjugate_view",
    lambda n: torch.complex(matrix(n)[0], matrix(n)[0]).conj(),
    lambda x: (x.is_conj(), x * 2),
)
special("meta", lambda n: torch.empty(n, 4, device="meta"), lambda x: (x.is_meta, x * 2))
special("inference", lambda n: infer(n), lambda x: (x.is_inference(), x * 2))
special(
    "parameter",
    lambda n: torch.nn.Parameter(matrix(n)[0]),
    lambda x: x * (3 if isinstance(x, torch.nn.Parameter) else 2),
)
special(
    "transposed",
    lambda n: torch.arange(4.0 * n).reshape(4, n).t(),
    lambda x: (x.is_contiguous(), x.stride(), x * 2),
)
special("expanded", lambda n: torch.ones(1, 4).expand(n, 4), lambda x: (x.stride(), x + 1))
special(
    "view_of_another",
    lambda n: torch.ones(n + 1, 4)[1:],
    lambda x: (x._base is None, x.storage_offset(), x * 2),
)
special("double", lambda n: matrix(n)[0].double(), lambda x: x * 2)
special("integers", lambda n: matrix(n)[0].long(), lambda x: x / 2)
special("one_dimension_less", lambda n: torch.arange(n) + 1.0, lambda x: x.sum(-1))


def infer(n):
    with torch.inference_mode():
        return matrix(n)[0] * 1


@program
def detached_result():
    def fn(x):
        return x.detach(), x.data, x.clone()

    return Case(fn, args=leaf)


@program
def list_of_tensors_made():
    def fn(x):
        parts = [torch.tensor([float(i)]) for i in range(2)]
        for p in parts:
            p += x.sum()
        return parts

    return Case(fn)
