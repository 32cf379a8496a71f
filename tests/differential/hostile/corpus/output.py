"""What a program says: print, logging, warnings, stdout; on every call, with the values of the call."""

import logging
import pprint
import sys
import warnings

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from tests.differential.hostile.program import Box, Case, attribute, leaf, program

LOGGER = logging.getLogger("hostile.output")


def says(name, act):
    def factory():
        def fn(x):
            act(x)
            return x * 2

        return Case(fn)

    factory.__name__ = name
    program(factory)


says("print_text", lambda x: print("hello"))
says("print_size", lambda x: print("size", x.shape[0]))
says("print_shape", lambda x: print(x.shape, tuple(x.shape), x.dim()))
says("print_formatted_size", lambda x: print(f"{x.shape[0]:>4}|{x.shape[0] * 2}"))
says("print_tensor", lambda x: print(x))
says("print_formatted_tensor", lambda x: print(f"{x.sum()}"))
says("print_item", lambda x: print(x.sum().item()))
says("print_dtype", lambda x: print(x.dtype, x.device, x.requires_grad))
says("print_to_stderr", lambda x: print("hello", file=sys.stderr))
says("print_options", lambda x: print("a", x.shape[0], sep="-", end="!\n", flush=True))
says("print_twice", lambda x: (print("a"), print("b")))
says("print_type", lambda x: print(type(x), type(x.shape[0])))
says("print_repr", lambda x: print(repr(x.shape), str(x.shape[0])))
says("print_percent", lambda x: print("%d|%5.1f|%s" % (x.shape[0], x.shape[0] / 2, x.shape)))
says("print_by_format", lambda x: print("{} {:03d} {k!r}".format(*[x.shape[0]] * 2, k=x.shape)))
says("print_joined_sizes", lambda x: print("x".join(str(n) for n in (*x.shape, 4))))
says("print_dict_of_sizes", lambda x: print({"n": x.shape[0], "s": (x.shape, [x.shape[0]])}))
says("print_separated_by_a_size", lambda x: print("a", "b", sep=f"<{x.shape[0]}>"))
says("print_float_of_a_size", lambda x: print(x.shape[0] / 4, f"{x.shape[0] * 0.5:.3f}"))
says("print_truth_of_a_size", lambda x: print(f"{x.shape[0] > 2}", x.shape[0] == 3))
says("stdout_write_size", lambda x: sys.stdout.write("n=" + str(x.shape[0]) + "\n"))
says("stdout_write", lambda x: sys.stdout.write(f"{x.shape[0]}\n"))
says("stderr_write", lambda x: sys.stderr.write("hello\n"))
says("pprint", lambda x: pprint.pprint({"n": x.shape[0]}))
says("log_text", lambda x: LOGGER.warning("hello"))
says("log_size", lambda x: LOGGER.warning("size %d", x.shape[0]))
says("log_formatted_size", lambda x: LOGGER.error(f"size {x.shape[0]}"))
says("log_below_its_level", lambda x: LOGGER.debug("hidden"))
says("log_by_the_root", lambda x: logging.warning("hello %s", x.shape[0]))
says("log_extra", lambda x: LOGGER.log(logging.CRITICAL, "n=%(n)s", {"n": x.shape[0]}))
says("log_at_a_level", lambda x: LOGGER.log(35, "n=%s of %s", x.shape[0], x.dtype))
says("log_at_a_level_by_the_root", lambda x: logging.log(logging.ERROR, "n=%s", x.shape[0]))
says("log_list", lambda x: LOGGER.error("sizes %s", [x.shape[0], (x.shape[0] + 1, "a")]))
says("log_dict_and_extra", lambda x: LOGGER.error("%(n)s", {"n": x.shape[0]}, extra={"e": 1}))
says("log_tensor", lambda x: LOGGER.error("sum %s of %s", x.sum(), x))
says("log_class", lambda x: LOGGER.error("kinds %s", [type(x), torch.float32]))
says("log_with_a_stack_level", lambda x: LOGGER.error("n=%s", x.shape[0], stacklevel=2))
says("print_list_of_sizes", lambda x: print([x.shape[0], {"n": x.shape[0]}], (x.shape[0],)))
says("warn_text", lambda x: warnings.warn("hello", stacklevel=2))
says("warn_size", lambda x: warnings.warn(f"size {x.shape[0]}", RuntimeWarning, stacklevel=2))
says("warn_deprecated", lambda x: warnings.warn(DeprecationWarning("old"), stacklevel=2))
says("warn_by_torch", lambda x: torch.range(0, 1))
says("warn_by_a_function", lambda x: F.softmax(x))
says("warn_by_a_deprecated_function", lambda x: F.upsample(torch.ones(1, 1, 2), scale_factor=2))
says("warn_by_an_old_argument", lambda x: F.mse_loss(x, x, size_average=True))
says("warn_by_a_check_of_shapes", lambda x: F.dropout2d(x[None], 0.5, training=False))
says("warn_by_a_copy", lambda x: torch.tensor(x))
says("warn_by_a_kernel", lambda x: x[:1].std())


@program
def warn_by_a_gradient():
    def fn(x):
        y = x * 2
        return y if y.grad is None else x

    return Case(fn, args=leaf)


@program
def warn_by_torch_as_an_error():
    def fn(x):
        try:
            return F.softmax(x) * 2
        except UserWarning:
            return x

    def drive(call, x):
        with warnings.catch_warnings():
            warnings.simplefilter("error" if x.shape[0] == 2 else "always")
            return call(x)

    return Case(fn, drive=drive)


@program
def log_extra_attributes():
    seen = []

    class Keeps(logging.Handler):
        def emit(self, record):
            seen.append((record.getMessage(), record.size, record.where, record.funcName))

    handler = Keeps()
    LOGGER.addHandler(handler)

    def fn(x):
        LOGGER.error("hello", extra={"size": x.shape[0], "where": [x.shape[0] * 2]})
        return x * 2

    return Case(fn, looks_at=seen, cleanup=lambda: LOGGER.removeHandler(handler))


@program
def log_by_an_adapter():
    log = logging.LoggerAdapter(LOGGER, {"k": 1})

    def fn(x):
        log.error("n=%s", x.shape[0])
        return x * 2

    return Case(fn)


@program
def log_object():
    class Point:
        def __init__(self, n):
            self.n = n

        def __repr__(self):
            return f"Point({self.n})"

    def fn(x):
        LOGGER.error("at %s", Point(x.shape[0]))
        return x * 2

    return Case(fn)


@program
def log_handled_error():
    def fn(x):
        try:
            raise ValueError("told")
        except ValueError:
            LOGGER.exception("n=%s", x.shape[0])
        return x * 2

    return Case(fn)


@program
def print_of_the_outside():
    o = Box(k=2)

    def fn(x):
        print("k", o.k)
        return x * 2

    return Case(fn, *attribute(o, "k", 3, 2))


@program
def print_in_a_branch_on_size():
    def fn(x):
        if x.shape[0] > 2:
            print("large")
        return x * 2

    return Case(fn)


@program
def print_in_a_branch_on_data():
    def fn(x):
        if x.sum() > 3:
            print("large")
        return x * 2

    return Case(fn)


@program
def print_before_and_after_a_write():
    o = Box(n=0)

    def fn(x):
        print("before", o.n)
        o.n += 1
        print("after", o.n)
        return x * 2

    return Case(fn)


@program
def print_before_an_error():
    def fn(x):
        print("trying", x.shape[0])
        if x.shape[0] == 2:
            raise ValueError(f"size {x.shape[0]}")
        return x * 2

    return Case(fn)


@program
def print_that_is_replaced():
    said = []
    o = Box(say=print)

    def fn(x):
        o.say("hello", x.shape[0])
        return x * 2

    return Case(fn, *attribute(o, "say", lambda *a: said.append(a), print), looks_at=said)


@program
def print_in_a_loop():
    def fn(x):
        for i in range(x.shape[0]):
            print("row", i)
            x = x + i
        return x

    return Case(fn)


@program
def print_to_a_file_object():
    import io

    out = io.StringIO()

    def fn(x):
        print("n", x.shape[0], file=out)
        return x * 2

    return Case(fn, looks_at=out)


@program
def stdout_replaced_inside():
    import contextlib
    import io

    def fn(x):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print("inside", x.shape[0])
        return x * len(out.getvalue())

    return Case(fn)


@program
def verbose_flag():
    o = Box(verbose=False)

    def fn(x):
        if o.verbose:
            print("mean", x.sum())
        return x * 2

    return Case(fn, *attribute(o, "verbose", True, False))


@program
def warn_once():
    o = Box(warned=False)

    def fn(x):
        if not o.warned:
            warnings.warn("only once", stacklevel=1)
            o.warned = True
        return x * 2

    return Case(fn, *attribute(o, "warned", False))


@program
def warning_that_is_an_error():
    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("now an error", stacklevel=1)
            except UserWarning:
                return x * 3
        return x * 2

    return Case(fn)


@program
def print_text_before_a_change():
    def fn(x):
        text = f"{x.sum()}"
        y = x + 1
        y.add_(1)
        print(text, y.sum(), f"{y.sum():.1f}")
        return y

    return Case(fn)


@program
def text_by_which_a_table_is_read():
    table = {"3": 2.0, "5": 4.0}

    def fn(x):
        return x * table.get(str(x.shape[0]), 1.0) + len(f"{x.shape[0] * 5}")

    return Case(fn)


@program
def text_in_a_set():
    def fn(x):
        names = {f"n{x.shape[0]}", "n3"}
        return x * len(names)

    return Case(fn)
