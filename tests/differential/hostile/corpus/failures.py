"""Errors on hard ways: groups, contexts, finally, exits that fail, handlers chosen at run time."""

import contextlib
import sys
import traceback
import warnings

import torch

from tests.differential.hostile.program import body, matrix

STATE = {"n": 2}
LOG = []
KINDS = [KeyError]
TWO, THREE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))


class Own(ValueError):
    def __init__(self, code, *, hint=None):
        super().__init__(f"code {code}")
        self.code, self.hint = code, hint

    def __str__(self):
        return f"<{self.code}:{STATE['n']}>"


@body(TWO, THREE)
def groups_taken_apart(x):
    told = []
    try:
        raise ExceptionGroup(
            "g", [ValueError("v"), KeyError(STATE["n"]), ExceptionGroup("h", [Own(1)])]
        )
    except* ValueError as e:
        told.append([str(p) for p in e.exceptions if not isinstance(p, ExceptionGroup)])
    except* KeyError as e:
        told.append(e.exceptions[0].args)
    return x + len(told), told


@body(TWO, THREE)
def group_that_goes_on(x):
    try:
        try:
            raise ExceptionGroup("g", [TypeError("t"), OSError(STATE["n"])])
        except* TypeError:
            x = x + 1
    except ExceptionGroup as e:
        matched, rest = e.split(OSError)
        return x, len(matched.exceptions), rest, e.message


@body(TWO, THREE)
def context_and_cause(x):
    try:
        try:
            {}["a"]
        except KeyError as e:
            raise Own(STATE["n"], hint=x.dim()) from None
    except Own as e:
        shown = e.__suppress_context__, type(e.__context__).__name__, e.__cause__, e.code, e.hint
        return x * e.code, shown, str(e), e.args


@body(TWO)
def name_of_the_error_is_gone(x):
    e = 1
    try:
        raise ValueError(3)
    except ValueError as e:
        x = x * e.args[0]
    try:
        return x, e
    except UnboundLocalError as gone:
        return x, str(gone).split(" ")[0]


@body(TWO, THREE)
def finally_overrides(x):
    def one():
        for i in range(3):
            try:
                if i == 1:
                    raise KeyError(i)
                continue
            finally:
                if i == 1:
                    break
        return i

    def two():
        while True:
            try:
                return x
            finally:
                if STATE["n"] > 2:
                    break
        return x + 1

    def three():
        try:
            raise ValueError
        finally:
            return STATE["n"]

    return one(), two(), three()


class Fails:
    def __init__(self, enter=False, leave=False, swallow=False):
        self.how = enter, leave, swallow

    def __enter__(self):
        LOG.append("enter")
        if self.how[0]:
            raise Own(1)
        return self

    def __exit__(self, kind, error, trace):
        LOG.append((kind and kind.__name__, str(error), trace is not None))
        if self.how[1]:
            raise Own(2)
        return self.how[2]


@body(TWO, THREE, looks_at=LOG)
def managers_that_fail(x):
    told = []
    for how in (
        (True, False, False),
        (False, True, False),
        (False, True, True),
        (False, False, True),
    ):
        try:
            with Fails(), Fails(*how):
                x = x + 1
                if STATE["n"] > 2:
                    raise KeyError("body")
        except (Own, KeyError) as e:
            told.append((type(e).__name__, type(e.__context__).__name__))
    return x, told


@body(TWO, lambda: KINDS.append(ZeroDivisionError), lambda: KINDS.clear(), looks_at=KINDS)
def handler_chosen_outside(x):
    try:
        try:
            1 // 0
        except tuple(KINDS):
            return x + 1
    except ZeroDivisionError:
        return x - 1


@body(TWO, THREE, looks_at=LOG)
def expression_of_a_handler_is_run(x):
    def kinds():
        LOG.append("asked")
        return (KeyError, IndexError)[: STATE["n"] - 1]

    try:
        [][0]
    except kinds():
        return x
    except IndexError:
        return -x


@body(TWO, THREE)
def information_of_the_error(x):
    try:
        raise Own(STATE["n"])
    except Own:
        kind, error, trace = sys.exc_info()
        shown = kind.__name__, str(error), trace is not None
    return x, shown, sys.exc_info() == (None, None, None)


@body(TWO, THREE)
def text_of_the_error(x):
    try:
        raise Own(STATE["n"])
    except Own as e:
        return x, traceback.format_exception_only(e)[-1].strip()


@body(TWO, THREE)
def error_raised_by_a_size(x):
    try:
        return x.view(2, -1) * STATE["n"]
    except RuntimeError as e:
        return x, "invalid" in str(e), x.numel() % 2


@body(TWO, THREE, args=matrix)
def error_of_shapes_that_do_not_fit(x):
    try:
        return x @ x
    except RuntimeError:
        return x @ x.t() + STATE["n"]


@body(TWO, THREE)
def errors_as_values(x):
    found = []
    for f in (
        lambda: 1 // (STATE["n"] - 2),
        lambda: [1][STATE["n"]],
        lambda: {}["k"],
        lambda: int("z"),
    ):
        try:
            found.append(f())
        except Exception as e:
            found.append((type(e).__name__, str(e)))
    return x, found


@body(TWO, THREE, looks_at=LOG)
def assertion_with_effects(x):
    def note():
        LOG.append("told")
        return f"n is {STATE['n']}"

    try:
        assert STATE["n"] > 2, note()
    except AssertionError as e:
        return x, e.args
    return x + 1


@body(TWO, THREE, looks_at=LOG)
def stack_of_exits(x):
    with contextlib.ExitStack() as stack:
        stack.callback(LOG.append, "last")
        stack.push(lambda kind, e, t: LOG.append(kind and kind.__name__) or STATE["n"] > 2)
        y = stack.enter_context(contextlib.nullcontext(x * 2))
        later = stack.pop_all() if STATE["n"] == 5 else None
        raise_ = STATE["n"] == 3
        if raise_:
            raise KeyError
    if later is not None:
        LOG.append("closing")
        later.close()
    return y


@body(TWO, THREE)
def suppressed_in_part(x):
    with contextlib.suppress(KeyError, IndexError):
        x = x + 1
        {}[STATE["n"]]
        x = x + 100
    try:
        with contextlib.suppress(KeyError):
            int("z" * STATE["n"])
    except ValueError as e:
        return x, str(e)


@body(TWO, THREE)
def warning_as_an_error_inside(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error" if STATE["n"] > 2 else "ignore")
        try:
            warnings.warn("careful", UserWarning)
        except UserWarning as e:
            return x - 1, str(e)
    return x + 1


@body(TWO, THREE)
def deep_recursion_is_caught(x):
    def down(k):
        return down(k + 1) if k < 20 * STATE["n"] else k

    try:
        return x + down(0)
    except RecursionError:
        return x


@body(TWO, THREE, looks_at=LOG)
def error_in_a_comparison(x):
    class Odd:
        def __eq__(self, o):
            LOG.append("eq")
            raise Own(STATE["n"])

        __hash__ = object.__hash__

    try:
        return Odd() in [1, 2], x
    except Own as e:
        return x * e.code, Odd() in {1: 2}


@body(TWO, THREE)
def error_keeps_its_attributes(x):
    def fail():
        e = Own(STATE["n"])
        e.add_note("first")
        e.extra = [1]
        raise e

    try:
        fail()
    except Own as e:
        e.extra.append(2)
        try:
            raise
        except Own as again:
            return x, again is e, again.extra, again.__notes__


@body(TWO, THREE)
def retried_until_it_works(x):
    tries = 0
    while True:
        tries += 1
        try:
            if tries < STATE["n"]:
                raise OSError(tries)
            return x * tries
        except OSError:
            continue


@body(TWO, THREE, looks_at=LOG)
def error_after_an_in_place_op(x):
    y = x.clone()
    try:
        y.add_(1)
        LOG.append(len(LOG))
        y.view(7, 11) if STATE["n"] > 2 else y[100]
    except (IndexError, RuntimeError) as e:
        return y, type(e).__name__


@body(lambda: STATE.update(n=3), lambda: STATE.update(n=1))
def error_that_leaves_with_state(x):
    STATE["n"] -= 1
    if STATE["n"] <= 0:
        raise Own(STATE["n"], hint=[x.dim()]) from KeyError("why")
    return x * STATE["n"]
