"""State of the process: the environment, the folder, flags and defaults of torch."""

import gc
import locale
import logging
import os
import sys
import time
import warnings

import torch

from tests.differential.hostile.program import Box, Case, item, matrix, program

KEY = "HOSTILE_KEY"


def without(key):
    return lambda: os.environ.pop(key, None)


def reading(name, use, key=KEY, values=("a", "b")):
    """A program that reads a variable of the environment."""

    def factory():
        def fn(x):
            return x * 2 if use() == "a" else x * 3

        os.environ[key] = values[0]
        return Case(fn, *item(os.environ, key, *reversed(values)), without(key))

    factory.__name__ = name
    program(factory)


reading("environ_get", lambda: os.environ.get(KEY))
reading("environ_get_with_a_default", lambda: os.environ.get(KEY, "a"))
reading("getenv", lambda: os.getenv(KEY))
reading("lower_case_name", lambda: os.environ.get("hostile_key"), "hostile_key")
reading("computed_name", lambda: os.environ.get("_".join(["HOSTILE", "KEY"])))
reading("dashed_name", lambda: os.environ.get("hostile-key"), "hostile-key")
reading("environ_in_a_dict", lambda: dict(os.environ).get(KEY))
reading("environ_iterated", lambda: next((v for k, v in os.environ.items() if k == KEY), None))
reading("expanded_variable", lambda: os.path.expandvars("$HOSTILE_KEY"))
reading("environ_bytes", lambda: os.environb.get(b"HOSTILE_KEY", b"").decode())


@program
def environ_item():
    os.environ[KEY] = "2"

    def fn(x):
        return x * float(os.environ[KEY])

    return Case(fn, *item(os.environ, KEY, "3", "2"))


@program
def environ_key_error():
    def fn(x):
        try:
            return x * float(os.environ[KEY])
        except KeyError:
            return x

    return Case(fn, *item(os.environ, KEY, "3"), without(KEY))


@program
def working_folder():
    home = os.getcwd()

    def fn(x):
        return x * len(os.getcwd())

    return Case(fn, lambda: os.chdir("/"), lambda: os.chdir(home))


@program
def a_file_that_exists():
    def fn(x):
        return x * 2 if os.path.exists("hostile_file") else x

    return Case(fn)


@program
def recursion_limit():
    before = sys.getrecursionlimit()

    def fn(x):
        return x * sys.getrecursionlimit()

    put = sys.setrecursionlimit
    return Case(fn, lambda: put(before + 5), lambda: put(before), cleanup=lambda: put(before))


@program
def system_path():
    def fn(x):
        return x * 2 if "hostile" in sys.path else x

    def back():
        sys.path[:] = [p for p in sys.path if p != "hostile"]

    return Case(fn, lambda: sys.path.append("hostile"), back, cleanup=back)


@program
def arguments_of_the_process():
    before = list(sys.argv)

    def fn(x):
        return x * len(sys.argv)

    def put(argv):
        sys.argv[:] = argv

    return Case(fn, lambda: put([*before, "a"]), lambda: put(before), cleanup=lambda: put(before))


@program
def logging_level():
    log = logging.getLogger("hostile.level")

    def fn(x):
        return x * 2 if log.isEnabledFor(logging.DEBUG) else x

    put = log.setLevel
    changes = lambda: put(logging.DEBUG), lambda: put(logging.ERROR)
    return Case(fn, *changes, cleanup=lambda: put(logging.NOTSET))


@program
def logging_level_of_a_parent():
    log, parent = logging.getLogger("hostile.parent.child"), logging.getLogger("hostile.parent")

    def fn(x):
        return x * log.getEffectiveLevel()

    put = parent.setLevel
    changes = lambda: put(logging.DEBUG), lambda: put(logging.ERROR)
    return Case(fn, *changes, cleanup=lambda: put(logging.NOTSET))


@program
def logging_disabled():
    log = logging.getLogger("hostile.level")

    def fn(x):
        return x * 2 if log.isEnabledFor(logging.ERROR) else x

    return Case(fn, lambda: logging.disable(logging.CRITICAL), lambda: logging.disable(0))


@program
def logging_disabled_by_its_manager():
    def fn(x):
        return x * (1 + logging.root.manager.disable)

    return Case(fn, lambda: logging.disable(logging.ERROR), lambda: logging.disable(0))


@program
def logger_that_is_disabled():
    log = logging.getLogger("hostile.disabled")

    def fn(x):
        return x * 2 if log.disabled or log.level else x

    def put(to):
        log.disabled = to

    return Case(fn, lambda: put(True), lambda: put(False), cleanup=lambda: put(False))


@program
def logger_by_name():
    name = "hostile.named"

    def fn(x):
        return x * 2 if logging.getLogger(name).isEnabledFor(logging.ERROR) else x

    put = logging.getLogger(name).setLevel
    changes = lambda: put(logging.CRITICAL), lambda: put(logging.DEBUG)
    return Case(fn, *changes, cleanup=lambda: put(logging.NOTSET))


@program
def logger_with_handlers():
    log = logging.getLogger("hostile.handlers")
    log.handlers.clear()
    log.propagate = False
    handler = logging.NullHandler()

    def fn(x):
        return x * (2 if log.hasHandlers() else 1) + len(log.handlers)

    put = log.addHandler, log.removeHandler
    return Case(fn, lambda: put[0](handler), lambda: put[1](handler), cleanup=log.handlers.clear)


@program
def logging_level_set_inside():
    log = logging.getLogger("hostile.set")

    def fn(x):
        log.setLevel(logging.DEBUG if x.shape[0] > 2 else logging.ERROR)
        return x * 2 if log.isEnabledFor(logging.DEBUG) else x

    return Case(fn, cleanup=lambda: log.setLevel(logging.NOTSET))


@program
def garbage_collector():
    def fn(x):
        return x * 2 if gc.isenabled() else x

    return Case(fn, gc.disable, gc.enable, cleanup=gc.enable)


@program
def trace_function():
    def fn(x):
        return x * 2 if sys.getprofile() is None else x

    return Case(fn)


# ---------------------------------------------------------------------- torch


def flag(name, read, write, *values):
    """A program that reads a flag of torch."""

    def factory():
        before = read()

        def fn(x):
            return x * (2 if read() == before else 3)

        changes = [lambda v=v: write(v) for v in (*values, before)]
        return Case(fn, *changes, cleanup=changes[-1])

    factory.__name__ = name
    program(factory)


flag("grad_mode", torch.is_grad_enabled, torch.set_grad_enabled, False)
flag("default_dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float64)
flag(
    "deterministic_algorithms",
    torch.are_deterministic_algorithms_enabled,
    torch.use_deterministic_algorithms,
    True,
)
flag(
    "matmul_precision",
    torch.get_float32_matmul_precision,
    torch.set_float32_matmul_precision,
    "high",
)
flag("number_of_threads", torch.get_num_threads, torch.set_num_threads, 2)
flag("initial_seed", torch.initial_seed, torch.manual_seed, 11)
flag("anomaly_mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, True)
flag(
    "mkldnn_enabled",
    lambda: torch.backends.mkldnn.enabled,
    lambda v: torch.backends.mkldnn.set_flags(v),
    False,
)
flag(
    "mkldnn_deterministic",
    lambda: torch.backends.mkldnn.deterministic,
    lambda v: torch.backends.mkldnn.set_flags(_deterministic=v),
    True,
)
flag(
    "autocast_mode",
    lambda: torch.is_autocast_enabled("cpu"),
    lambda v: torch.set_autocast_enabled("cpu", v),
    True,
)
flag(
    "autocast_dtype",
    lambda: torch.get_autocast_dtype("cpu"),
    lambda v: torch.set_autocast_dtype("cpu", v),
    torch.float16,
)
flag(
    "cudnn_benchmark",
    lambda: torch.backends.cudnn.benchmark,
    lambda v: setattr(torch.backends.cudnn, "benchmark", v),
    True,
)
flag(
    "sdp_flash",
    torch.backends.cuda.flash_sdp_enabled,
    torch.backends.cuda.enable_flash_sdp,
    False,
)
flag("default_device", torch.get_default_device, torch.set_default_device, "meta")


@program
def rng_state():
    def fn(x):
        return x * (torch.get_rng_state().sum() % 7)

    return Case(fn, lambda: torch.manual_seed(3), lambda: torch.manual_seed(4))


@program
def default_dtype_of_a_factory():
    def fn(x):
        return torch.ones(2) + 1, torch.arange(2.0), torch.tensor(1.5)

    put = torch.set_default_dtype
    return Case(fn, lambda: put(torch.float64), lambda: put(torch.float32))


@program
def default_dtype_set_inside():
    def fn(x):
        torch.set_default_dtype(torch.float64)
        return x, torch.ones(2)

    return Case(fn)


@program
def default_dtype_set_inside_and_back():
    def fn(x):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2)
        torch.set_default_dtype(before)
        return x, y

    return Case(fn)


@program
def grad_mode_set_inside():
    def fn(x):
        torch.set_grad_enabled(False)
        return x * 2

    return Case(fn, args=lambda n: (torch.arange(n).float().requires_grad_(),))


@program
def default_device_context():
    def fn(x):
        return x * 2, torch.ones(2).device.type

    def drive(call, x):
        with torch.device("meta" if x.shape[0] == 2 else "cpu"):
            return call(x)

    return Case(fn, drive=drive)


@program
def default_device_context_that_ends():
    def fn(x):
        return x * 2, torch.zeros(x.shape[0]).device.type

    def drive(call, x):
        with torch.device("meta" if x.shape[0] == 3 else "cpu"):
            made = call(x)
        return made, call(x)

    return Case(fn, drive=drive)


@program
def default_device_contexts_in_each_other():
    def fn(x):
        return x * 2, torch.empty(3).device.type

    def drive(call, x):
        with torch.device("meta"), torch.device("cpu" if x.shape[0] == 2 else "meta"):
            return call(x)

    return Case(fn, drive=drive)


@program
def default_device_inside():
    def fn(x):
        with torch.device("meta"):
            y = torch.ones(x.shape[0])
        return x * 2, y.device.type, torch.ones(2).device.type, torch.get_default_device()

    return Case(fn)


@program
def default_device_set_around():
    def fn(x):
        return x * 2, torch.ones(2).device.type, torch.get_default_device().type

    put = torch.set_default_device
    return Case(fn, lambda: put("meta"), lambda: put("cpu"), cleanup=lambda: put(None))


@program
def default_device_set_inside():
    def fn(x):
        torch.set_default_device("meta" if x.shape[0] == 2 else "cpu")
        return x * 2, torch.ones(2).device.type

    return Case(fn, cleanup=lambda: torch.set_default_device(None))


def setting(name, put, read, *values):
    """A program that sets a flag of the process, and leaves it set."""

    def factory():
        def fn(x):
            put(values[x.shape[0] % 2])
            return x * 2, str(read())

        def drive(call, x):
            try:
                return call(x), str(read())
            finally:
                put(before)

        before = read()
        return Case(fn, drive=drive)

    factory.__name__ = name
    program(factory)


def put_cudnn(to):
    torch.backends.cudnn.deterministic = to


setting("threads_set_inside", torch.set_num_threads, torch.get_num_threads, 1, 2)
setting(
    "determinism_set_inside",
    torch.use_deterministic_algorithms,
    torch.are_deterministic_algorithms_enabled,
    True,
    False,
)
setting(
    "precision_set_inside",
    torch.set_float32_matmul_precision,
    torch.get_float32_matmul_precision,
    "high",
    "highest",
)
setting("backend_set_inside", put_cudnn, lambda: torch.backends.cudnn.deterministic, True, False)
setting("warn_always_set_inside", torch.set_warn_always, torch.is_warn_always_enabled, True, False)
setting(
    "anomaly_set_inside", torch.autograd.set_detect_anomaly, torch.is_anomaly_enabled, True, False
)


@program
def print_options_set_inside():
    def fn(x):
        torch.set_printoptions(precision=x.shape[0] + 1)
        return x * 2

    def drive(call, x):
        return call(x), str(torch.tensor(1 / 3))

    return Case(fn, drive=drive, cleanup=lambda: torch.set_printoptions(profile="default"))


@program
def autocast_around():
    m = torch.nn.Linear(4, 2)

    def drive(call, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=x.shape[0] != 3):
            return call(x)

    return Case(m, drive=drive, args=matrix)


@program
def no_grad_around():
    m = torch.nn.Linear(4, 2)

    def drive(call, x):
        with torch.set_grad_enabled(x.shape[0] == 3):
            return call(x)

    return Case(m, drive=drive, args=matrix)


@program
def inference_mode_around():
    def fn(x):
        return x * 2 if torch.is_inference_mode_enabled() else x * 3

    def drive(call, x):
        with torch.inference_mode(x.shape[0] != 3):
            return call(x)

    return Case(fn, drive=drive)


@program
def deterministic_scatter():
    def fn(x):
        out = torch.zeros(2)
        out.index_add_(0, torch.zeros(x.shape[0], dtype=torch.long), x)
        return out, torch.empty(3) if torch.are_deterministic_algorithms_enabled() else None

    put = torch.use_deterministic_algorithms
    return Case(fn, lambda: put(True), lambda: put(False))


@program
def warning_filters():
    def fn(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warnings.warn("inside", stacklevel=1)
        return x * len(found)

    return Case(fn)


@program
def is_compiling_is_false():
    def fn(x):
        return x * 2 if torch.compiler.is_compiling() else x * 2 + 0

    return Case(fn)


@program
def clock_that_is_read():
    o = Box(start=0.0)

    def fn(x):
        took = time.perf_counter() - o.start
        return x if took >= 0 else -x

    return Case(fn)


@program
def clock_that_decides():
    seen = []

    def fn(x):
        now = time.monotonic_ns()
        later = bool(seen) and now <= seen[-1]
        seen.append(0)
        return x * 2 if later else x

    return Case(fn)


@program
def locale_of_numbers():
    def fn(x):
        return x * 2 if locale.localeconv()["decimal_point"] == "." else x

    return Case(fn)
