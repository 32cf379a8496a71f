"""What calls tell that is in no argument: settings of Python and NumPy, frames, names of objects."""

import gc
import inspect
import os
import sys

import numpy as np

from tests.differential.hostile.program import body

STATE = {"n": 2}
THREE, FIVE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))
THRESHOLD, INTERVAL = gc.get_threshold(), sys.getswitchinterval()
ONE, ZERO, THIRD = np.array([1.0]), np.array([0.0]), np.array([1 / 3])


def reset_threshold():
    gc.set_threshold(*THRESHOLD)


def reset_interval():
    sys.setswitchinterval(INTERVAL)


def reset_numpy():
    np.seterr(all="warn")
    np.set_printoptions(precision=8)


@body(lambda: gc.set_threshold(500), reset_threshold, cleanup=reset_threshold)
def collector_threshold(x):
    return x * gc.get_threshold()[0]


@body(lambda: sys.setswitchinterval(0.01), reset_interval, cleanup=reset_interval)
def switch_interval(x):
    return x * sys.getswitchinterval()


@body()
def collected(x):
    gc.collect()
    return x + 1


@body(lambda: np.seterr(all="raise"), lambda: np.seterr(all="ignore"), cleanup=reset_numpy)
def settings_of_numpy(x):
    return x * (2 if np.geterr()["divide"] == "raise" else 3)


@body(lambda: np.seterr(all="ignore"), lambda: np.seterr(all="raise"), cleanup=reset_numpy)
def division_of_arrays(x):
    try:
        return x + float((ONE / ZERO)[0])
    except FloatingPointError:
        return x - 1


@body(
    lambda: np.set_printoptions(precision=2),
    lambda: np.set_printoptions(precision=5),
    cleanup=reset_numpy,
)
def text_of_arrays(x):
    return x + len(str(THIRD)), f"{THIRD}"


@body(THREE, FIVE)
def own_frame(x):
    n = STATE["n"]
    return x * sys._getframe().f_locals["n"], sys._getframe().f_code.co_name


def name_of_caller():
    return sys._getframe(1).f_code.co_name, sorted(sys._getframe(1).f_locals)


@body(THREE, FIVE)
def frame_of_caller(x):
    n = STATE["n"]
    y = x * n
    return y, name_of_caller()


@body()
def line_in_frame(x):
    here = inspect.currentframe()
    return x + 1, here.f_lineno - here.f_code.co_firstlineno


@body(THREE, FIVE)
def frame_after_a_break(x):
    n = STATE["n"]
    y = x * n
    with open(os.devnull) as f:
        f.read()
    return y + sys._getframe().f_locals["n"], sorted(inspect.currentframe().f_locals)


class Named:
    """A class."""


@body()
def names_of_an_object(x):
    return x + 1, "{0.__class__.__name__} {0.__doc__} {0.__module__!r:.3}".format(Named())
