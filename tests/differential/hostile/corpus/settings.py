"""Settings of the process that a program makes inside itself: kernels, determinism, anomalies."""

import contextlib
import functools

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.differential.hostile.program import Case, leaf, matrix, program
from tests.differential.hostile.spy import settings

mkldnn, cudnn, cuda = torch.backends.mkldnn, torch.backends.cudnn, torch.backends.cuda


class Refusal(Exception):
    pass


def inside(name, manager, *changes, also=None):
    """A program that enters a manager for a part of itself, between calls that look."""

    def factory():
        def fn(x):
            before = settings(x)
            with manager():
                during = settings(x * 2)
                y = x + during.sum()
            return before, during, settings(y), y

        return Case(fn, *changes)

    factory.__name__ = name
    program(factory)


def left(name, put, *changes):
    """A program that sets something and leaves it."""

    def factory():
        def fn(x):
            before = settings(x)
            put()
            return before, settings(x), x + 1

        return Case(fn, *changes)

    factory.__name__ = name
    program(factory)


def and_back(name, put, back, *changes):
    """A program that sets something and sets it back."""

    def factory():
        def fn(x):
            before = settings(x)
            put()
            try:
                during = settings(x)
            finally:
                back()
            return before, during, settings(x), x + 1

        return Case(fn, *changes)

    factory.__name__ = name
    program(factory)


def math_off():
    cuda.enable_math_sdp(False)


def math_on():
    cuda.enable_math_sdp(True)


def mkldnn_off():
    mkldnn.set_flags(False)


def mkldnn_on():
    mkldnn.set_flags(True)


def cudnn_off():
    cudnn.set_flags(False)


def cudnn_on():
    cudnn.set_flags(True)


inside("mkldnn_flags", lambda: mkldnn.flags(enabled=False), mkldnn_off, mkldnn_on)
inside(
    "mkldnn_flags_that_are_on_already", lambda: mkldnn.flags(enabled=True), mkldnn_off, mkldnn_on
)
inside("sdpa_kernel_math", lambda: sdpa_kernel(SDPBackend.MATH), math_off, math_on)
inside("sdpa_kernel_flash", lambda: sdpa_kernel([SDPBackend.FLASH_ATTENTION]), math_off, math_on)
inside(
    "sdpa_kernel_with_priority",
    lambda: sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True),
)
inside("cudnn_flags", lambda: cudnn.flags(enabled=False, benchmark=True))
inside("anomaly", lambda: torch.autograd.detect_anomaly(check_nan=False))
inside("anomaly_set", lambda: torch.autograd.set_detect_anomaly(True))
inside("null", contextlib.nullcontext, mkldnn_off, mkldnn_on)

left("deterministic_left", lambda: torch.use_deterministic_algorithms(True))
left("deterministic_warns_left", lambda: torch.use_deterministic_algorithms(True, warn_only=True))
left("debug_mode_left", lambda: torch.set_deterministic_debug_mode("warn"))
left("precision_left", lambda: torch.set_float32_matmul_precision("high"))
left("mkldnn_left", mkldnn_off, mkldnn_on, mkldnn_off)
left("math_left", math_off, math_on)
left("tf32_left", lambda: setattr(cuda.matmul, "allow_tf32", True))
left("cudnn_left", lambda: setattr(cudnn, "benchmark", True))
left("in_c_left", lambda: torch._C._set_sdp_use_flash(False))
left("anomaly_left", lambda: torch.autograd.set_detect_anomaly(True))
left("anomaly_in_c_left", lambda: torch.set_anomaly_enabled(True, False))
left("filled_left", lambda: setattr(torch.utils.deterministic, "fill_uninitialized_memory", False))
left("warns_always_left", lambda: torch.set_warn_always(True))
left("threads_left", lambda: torch.set_num_threads(2))

and_back(
    "deterministic",
    functools.partial(torch.use_deterministic_algorithms, True),
    functools.partial(torch.use_deterministic_algorithms, False),
    lambda: torch.use_deterministic_algorithms(True),
    lambda: torch.use_deterministic_algorithms(False),
)
and_back(
    "precision",
    lambda: torch.set_float32_matmul_precision("medium"),
    lambda: torch.set_float32_matmul_precision("highest"),
    lambda: torch.set_float32_matmul_precision("high"),
)
and_back("math", math_off, math_on, math_off, math_on)
and_back("mkldnn", mkldnn_off, mkldnn_on, mkldnn_off, mkldnn_on)
and_back(
    "tf32",
    lambda: setattr(cuda.matmul, "allow_tf32", True),
    lambda: setattr(cuda.matmul, "allow_tf32", False),
)


@program
def as_a_decorator():
    @mkldnn.flags(enabled=False)
    def part(x):
        return settings(x)

    def fn(x):
        return settings(x), part(x), settings(x * 2)

    return Case(fn, mkldnn_off, mkldnn_on)


@program
def sdpa_as_a_decorator():
    @sdpa_kernel(SDPBackend.MATH)
    def part(x):
        return settings(x)

    def fn(x):
        return settings(x), part(x), settings(x * 2)

    return Case(fn)


@program
def nested():
    def fn(x):
        with mkldnn.flags(enabled=False):
            a = settings(x)
            with mkldnn.flags(enabled=True), sdpa_kernel(SDPBackend.MATH):
                b = settings(x)
            c = settings(x)
        return a, b, c, settings(x)

    return Case(fn, mkldnn_off, mkldnn_on)


@program
def in_an_exit_stack():
    def fn(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(mkldnn.flags(enabled=False))
            stack.callback(math_on)
            math_off()
            a = settings(x)
        return a, settings(x)

    return Case(fn, math_off, math_on)


@program
def manager_of_the_users():
    class Quiet:
        def __enter__(self):
            self.before = cuda.math_sdp_enabled()
            math_off()

        def __exit__(self, *_):
            cuda.enable_math_sdp(self.before)

    def fn(x):
        with Quiet():
            a = settings(x)
        return a, settings(x)

    return Case(fn, math_off, math_on)


@program
def generator_of_the_users():
    @contextlib.contextmanager
    def precise(word):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(word)
        try:
            yield before
        finally:
            torch.set_float32_matmul_precision(before)

    def fn(x):
        with precise("medium") as was:
            a = settings(x)
        return a, was, settings(x), torch.get_float32_matmul_precision()

    return Case(fn, lambda: torch.set_float32_matmul_precision("high"))


@program
def error_inside():
    def fn(x):
        try:
            with mkldnn.flags(enabled=False):
                a = settings(x)
                if x.shape[0] == 3:
                    raise Refusal
        except Refusal:
            a = settings(x * 3)
        return a, settings(x)

    return Case(fn)


@program
def error_that_leaves():
    def fn(x):
        with mkldnn.flags(enabled=False):
            math_off()
            return settings(x), x[2]

    return Case(fn, math_on)


@program
def error_of_an_op_that_leaves():
    def fn(x, y):
        mkldnn_off()
        with sdpa_kernel(SDPBackend.MATH):
            return settings(x), torch.ops.aten.index.Tensor(x, [y])

    three = torch.arange(3.0)
    calls = [
        lambda: (three, torch.tensor([1])),
        lambda: (mkldnn_on(), (three, torch.tensor([2])))[1],
        lambda: (mkldnn_on(), (three, torch.tensor([7])))[1],
        lambda: (mkldnn_on(), (three, torch.tensor([0])))[1],
    ]
    return Case(fn, calls=calls)


@program
def error_of_an_op_that_is_caught():
    def fn(x, y):
        try:
            with cudnn.flags(enabled=False):
                return settings(x), x[y] * 2
        except IndexError:
            return settings(x), x

    three = torch.arange(3.0)
    calls = [lambda i=i: (three, torch.tensor([i])) for i in (1, 2, 7, 0, 9)]
    return Case(fn, calls=calls)


@program
def branch_on_data_inside():
    def fn(x):
        with cudnn.flags(enabled=False):
            if x.sum() > 7:
                a = settings(x)
            else:
                math_off()
                a = settings(x * 2)
        if x.sum() > 3:
            return a, settings(x)
        math_on()
        return a, settings(x) + 1

    return Case(fn, math_on, cudnn_on)


@program
def left_behind_a_branch_on_data():
    def fn(x):
        if x.sum() > 7:
            math_off()
        a = settings(x)
        if x.sum() > 3:
            return a, settings(x)
        math_on()
        return a

    return Case(fn, math_on, math_off)


@program
def in_a_loop_over_data():
    def fn(x):
        n, seen = x, []
        while n.sum() > 2:
            with cudnn.flags(enabled=False):
                seen.append(settings(n))
            n = n / 2
        return [*seen[:1], settings(n), n]

    return Case(fn, cudnn_off, cudnn_on)


@program
def read_inside():
    def fn(x):
        with mkldnn.flags(enabled=False):
            y = x * 2 if mkldnn.is_available() and torch._C._get_mkldnn_enabled() else x * 3
        return y + 1 if torch._C._get_mkldnn_enabled() else y - 1

    return Case(fn, mkldnn_off, mkldnn_on)


@program
def read_as_an_attribute_inside():
    def fn(x):
        with cudnn.flags(enabled=False):
            y = x * 2 if cudnn.enabled else x * 3
        return y + 1 if cudnn.enabled else y - 1

    return Case(fn, lambda: cudnn.set_flags(False), lambda: cudnn.set_flags(True))


@program
def another_one_read_inside():
    def fn(x):
        with mkldnn.flags(enabled=False):
            return x * 2 if cuda.math_sdp_enabled() else x * 3

    return Case(fn, math_off, math_on)


@program
def two_of_them_read_inside():
    def both():
        return cuda.math_sdp_enabled() and cuda.flash_sdp_enabled()

    def fn(x):
        cuda.enable_flash_sdp(True)
        y = x * 2 if both() else x * 3
        cuda.enable_flash_sdp(False)
        return y + 1 if both() else y

    return Case(fn, math_off, math_on)


@program
def set_to_what_it_was():
    def fn(x):
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True)
        a = settings(x)
        torch.use_deterministic_algorithms(before)
        return a, settings(x)

    return Case(
        fn,
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    )


@program
def set_by_an_argument():
    def fn(x, on):
        with mkldnn.flags(enabled=on):
            return settings(x)

    calls = [lambda on=on: (torch.ones(3), on) for on in (True, False, True, False)]
    return Case(fn, calls=calls)


@program
def set_by_a_size():
    def fn(x):
        with mkldnn.flags(enabled=x.shape[0] > 3):
            return settings(x)

    return Case(fn)


@program
def set_by_data():
    def fn(x):
        cuda.enable_math_sdp(bool(x.sum() > 7))
        a = settings(x)
        math_on()
        return a

    return Case(fn)


@program
def set_in_a_module():
    class Part(torch.nn.Module):
        def forward(self, x):
            with sdpa_kernel(SDPBackend.MATH):
                return settings(x)

    net = torch.nn.Sequential(Part())
    return Case(net, math_off, math_on)


@program
def set_in_a_hook():
    net = torch.nn.Linear(4, 4)
    torch.nn.init.ones_(net.weight)
    torch.nn.init.ones_(net.bias)
    net.register_forward_pre_hook(lambda m, a: mkldnn_off())
    net.register_forward_hook(lambda m, a, out: mkldnn_on())

    def fn(x):
        return net(x), settings(x)

    return Case(fn, mkldnn_off, mkldnn_on, args=matrix)


@program
def set_in_an_autograd_function():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with cudnn.flags(enabled=False):
                return x * 2 + settings(x).sum()

        @staticmethod
        def backward(ctx, g):
            with cudnn.flags(enabled=False):
                return g * 2 + settings(g).sum()

    def fn(x):
        return Twice.apply(x), settings(x)

    return Case(fn, cudnn_off, cudnn_on, args=leaf)


@program
def set_in_a_cached_function():
    @functools.lru_cache
    def once(on):
        cuda.enable_math_sdp(on)
        return 2

    def fn(x):
        return settings(x), x * once(False), settings(x)

    return Case(fn, math_on, once.cache_clear)


@program
def set_without_source():
    space = {"cuda": cuda}
    exec("def put(on):\n    cuda.enable_math_sdp(on)", space)
    put = space["put"]

    def fn(x):
        a = settings(x)
        put(False)
        b = settings(x)
        put(True)
        return a, b, settings(x)

    return Case(fn, math_off, math_on)


@program
def set_in_a_generator():
    def parts(x):
        with mkldnn.flags(enabled=False):
            yield settings(x)
            yield settings(x * 2)
        yield settings(x * 3)

    def fn(x):
        return [*parts(x), settings(x)]

    return Case(fn, mkldnn_off, mkldnn_on)


@program
def set_by_map():
    def fn(x):
        list(map(cuda.enable_math_sdp, [True, False]))
        a = settings(x)
        list(map(cuda.enable_math_sdp, [True]))
        return a, settings(x)

    return Case(fn, math_off, math_on)


@program
def set_by_a_partial():
    off = functools.partial(cuda.enable_math_sdp, False)

    def fn(x):
        off()
        a = settings(x)
        math_on()
        return a, settings(x)

    return Case(fn, math_off, math_on)


@program
def set_in_a_dict_of_functions():
    table = {"on": math_on, "off": math_off}

    def fn(x, word):
        table[word]()
        return settings(x)

    calls = [lambda w=w: (torch.ones(3), w) for w in ("on", "off", "on", "on", "off")]
    return Case(fn, calls=calls)


@program
def attention_with_a_kernel():
    def fn(x):
        q = x[None, None]
        with sdpa_kernel(SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(q, q, q), settings(x)

    return Case(fn, math_off, math_on, args=matrix, sizes=(1,))


@program
def einsum_paths():
    def fn(x):
        with torch.backends.opt_einsum.flags(enabled=False):
            y = torch.einsum("ij,ij->i", x, x)
            inner = torch.backends.opt_einsum.enabled
        return y, inner, torch.backends.opt_einsum.enabled

    return Case(fn, args=matrix)


@program
def sparse_invariants():
    def fn(x):
        with torch.sparse.check_sparse_tensor_invariants():
            on = torch.sparse.check_sparse_tensor_invariants.is_enabled()
        return x * 2, on, torch.sparse.check_sparse_tensor_invariants.is_enabled()

    check = torch.sparse.check_sparse_tensor_invariants
    return Case(fn, check.enable, check.disable, cleanup=check.disable)


@program
def multithreading():
    def fn(x):
        with torch.autograd.set_multithreading_enabled(False):
            y = x * x
        return y, torch._C._is_multithreading_enabled()

    return Case(fn, args=leaf)


@program
def printing():
    def fn(x):
        torch.set_printoptions(precision=2)
        return str(x)

    return Case(fn, cleanup=lambda: torch.set_printoptions(profile="default"))


@program
def flush_denormal():
    def fn(x):
        torch.set_flush_denormal(True)
        y = x * 1e-39
        torch.set_flush_denormal(False)
        return y

    return Case(fn, cleanup=lambda: torch.set_flush_denormal(False))
