"""Memory that tensors, arrays and buffers share, and tensors as objects: attributes, keys, sizes."""

import array
import copy
import pickle

import numpy as np
import torch

from tests.differential.hostile.program import Call, body, leaf, matrix

STATE = {"n": 2}
TWO, THREE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))


def overlapping(n):
    x = torch.arange(n + 1) + 1.0
    return x[:-1], x[1:]


def whole_and_part(n):
    x = torch.arange(n + 1) + 1.0
    return x, x[1:], x.view(-1)


def expanded(n):
    return (torch.ones(1, 4).expand(n, 4),)


def strided(n):
    return (torch.arange(2.0 * n)[::2], torch.arange(4.0 * n).reshape(n, 4).t())


@body(TWO, args=overlapping)
def in_place_on_arguments_that_overlap(a, b):
    a.add_(STATE["n"])
    b.mul_(2)
    return a + b, a.storage_offset(), b.storage_offset()


@body(TWO, args=whole_and_part)
def part_of_an_argument_is_written(x, part, flat):
    part.zero_()
    flat[0] = STATE["n"]
    return x.clone(), x is flat, part._base is None


@body(TWO, args=expanded)
def expanded_argument_is_written(x):
    try:
        x.add_(1)
    except RuntimeError as e:
        return x * STATE["n"], "single memory location" in str(e)
    return x, x.stride()


@body(TWO, args=strided)
def layouts_of_results(a, b):
    return a * 1, b * STATE["n"], b.contiguous(), (b + a.sum()).t()


@body(TWO)
def view_of_a_result_is_kept_and_written(x):
    y = x * STATE["n"]
    v = y[1:]
    w = y.view(-1, 1)
    v.add_(10)
    w.mul_(2)
    return y, v, w


@body(TWO, args=matrix)
def chain_of_views(x):
    y = x.clone()
    y.t().select(0, 0).fill_(STATE["n"])
    y.diagonal().add_(1)
    y[:, 1:3].copy_(y[:, 0:1].expand(-1, 2))
    return (
        y,
        y.unfold(1, 2, 1).sum(),
        torch.as_strided(y, (1, 2), (4, 1)) if y.numel() > 3 else None,
    )


@body(TWO)
def memory_of_another_dtype(x):
    y = x.clone()
    bits = y.view(torch.int32)
    bits.bitwise_and_(-2)
    return y, bits.dtype, y.view(torch.uint8).shape, torch.view_as_complex(y.repeat(2).view(-1, 2))


@body(TWO)
def storage_is_asked(x):
    y = x.clone()
    return (
        y.untyped_storage().nbytes(),
        y.data_ptr() == y.view(-1).data_ptr(),
        y.data_ptr() == x.data_ptr(),
        x.element_size(),
        x.nbytes,
        y.is_set_to(y),
    )


@body(TWO)
def memory_is_replaced(x):
    y = x.clone()
    y.set_(x * STATE["n"])
    z = torch.empty(0)
    z.resize_(3).fill_(STATE["n"])
    return y, z, z.shape


ARRAY = np.arange(3.0, dtype=np.float32)


@body(lambda: ARRAY.fill(7), TWO, looks_at=ARRAY)
def array_shares_memory_with_a_tensor(x):
    t = torch.from_numpy(ARRAY)
    y = x.sum() + t
    t.add_(1)
    return y, ARRAY.tolist(), t.numpy() is ARRAY


@body(TWO)
def array_of_a_tensor_is_written(x):
    y = x.clone()
    a = y.numpy()
    a += STATE["n"]
    return y, float(a.sum()), np.shares_memory(a, y.numpy())


BYTES = bytearray(b"\x00\x00\x80\x3f" * 3)


@body(lambda: BYTES.__setitem__(3, 0x40), looks_at=BYTES)
def bytes_share_memory_with_a_tensor(x):
    t = torch.frombuffer(BYTES, dtype=torch.float32)
    return x.sum() + t, len(BYTES)


NUMBERS = array.array("d", [1.0, 2.0])


@body(lambda: NUMBERS.append(3.0), lambda: NUMBERS.__setitem__(0, 9.0), looks_at=NUMBERS)
def array_of_python(x):
    NUMBERS[1] = NUMBERS[1] + 1
    return x * NUMBERS[0] + len(NUMBERS), NUMBERS.typecode, list(NUMBERS), NUMBERS.tobytes()[:2]


VIEW = memoryview(bytearray(range(6)))


@body(lambda: VIEW.__setitem__(0, 7), looks_at=VIEW.obj)
def memory_view_is_written(x):
    VIEW[1] = VIEW[0] + 1
    return x + VIEW[1], VIEW[2:4].tobytes(), VIEW.nbytes, VIEW.tolist()


WEIGHT = torch.ones(3)
WEIGHT.note = {"k": 2}


@body(lambda: WEIGHT.note.update(k=4), lambda: setattr(WEIGHT, "note", {"k": 5}), looks_at=WEIGHT)
def attribute_of_a_tensor_from_outside(x):
    WEIGHT.count = getattr(WEIGHT, "count", 0) + 1
    return x * WEIGHT.note["k"] + WEIGHT.count, hasattr(WEIGHT, "other"), sorted(vars(WEIGHT))


@body(TWO)
def attributes_of_tensors_made(x):
    y = x * 2
    y.tag = ["a", STATE["n"]]
    z = y.view(-1)
    w = copy.copy(y)
    return y, hasattr(z, "tag"), getattr(w, "tag", None), vars(y)


@body(TWO)
def copies_of_a_tensor(x):
    y = copy.deepcopy(x)
    z = pickle.loads(pickle.dumps(x.detach()))
    y.add_(STATE["n"])
    return x, y, z, y is x, z.equal(x)


@body(TWO, args=lambda n: (torch.ones(n), torch.ones(n) * 2))
def tensors_as_keys_and_items(x, y):
    table = {x: "x", y: "y"}
    seen = {x, y, x}
    return x + len(seen), table[x], y in table, (x * 1) in table, [id(k) == id(x) for k in table]


@body(TWO, args=lambda n: (torch.ones(n), torch.ones(n) * 2))
def tensors_found_in_lists(x, y):
    held = [y, x]
    try:
        place = held.index(x)
    except (ValueError, RuntimeError) as e:
        place = type(e).__name__
    try:
        there = x in held
    except RuntimeError as e:
        there = "ambiguous" in str(e)
    return x, place, there, any(t is x for t in held)


@body(TWO, args=matrix)
def arithmetic_of_sizes(x):
    s = x.shape
    return (
        s + (1,),
        s[:-1] + s[1:] * 2,
        (2,) + tuple(s),
        s.numel(),
        s == x.size(),
        s == list(s),
        s.count(4),
        4 in s,
        len(s * STATE["n"]),
        [*s],
        max(s),
        s[::-1],
        type(s[:1]).__name__,
        type(s + (1,)).__name__,
        {s: 1}[x.shape],
        s > (0, 0),
        torch.Size([STATE["n"], 1]).numel(),
    )


@body(TWO, args=leaf, backward=True)
def gradient_of_a_result(x):
    y = (x * x * STATE["n"]).sum()
    (g,) = torch.autograd.grad(y, x, retain_graph=True)
    return y * 1, g, x.grad is None


@body(TWO)
def tensor_to_python_and_back(x):
    values = x.tolist()
    values.append(STATE["n"])
    return (
        torch.tensor(values),
        len(x),
        [float(v) for v in x][:1],
        bool((x > 0).all()) if len(x) else 0,
    )


@body(TWO, args=lambda n: (torch.arange(n) + 1.0, torch.empty(0)))
def result_into_an_argument_that_grows(x, out):
    torch.add(x, STATE["n"], out=out)
    return out.shape, out is out, x


@body(TWO, args=lambda n: (torch.arange(n) + 1.0,))
def argument_comes_back_in_parts(x):
    return x, x[:], x.view_as(x), x.detach(), x.t(), [x, {"x": x}], x.expand_as(x) is x


@body(TWO, args=lambda n: ([torch.ones(n), torch.ones(n)], {"a": torch.ones(n)}), exported=False)
def containers_of_arguments_are_changed(items, table):
    items.append(items[0] + STATE["n"])
    items[0] = table.pop("a")
    table["b"] = items
    items[1].mul_(3)
    return items, table


@body(TWO, args=lambda n: (torch.ones(n).as_subclass(torch.nn.Parameter), torch.ones(n)))
def classes_of_arguments(p, x):
    return (
        p * STATE["n"],
        isinstance(p, torch.nn.Parameter),
        type(p + x).__name__,
        type(p.data).__name__,
    )


@body(TWO, args=lambda n: (torch.ones(n, dtype=torch.int8), torch.ones(n, dtype=torch.bool)))
def small_dtypes(a, b):
    return a + b, a / 2, a // 2, a + STATE["n"], a * 1.5, b + b, ~b, a**2, a.sum(), b.sum(), -a
