from __future__ import annotations

import dis
import sys

import pytest

from anyshape.torch_compat import bytecode


class Truth:
    """Notes the instruction of its caller that asks for its truth."""

    def __init__(self, answer=False):
        self.answer = answer
        self.asked = []

    def __bool__(self):
        self.asked.append(sys._getframe(1).f_lasti)
        return self.answer

    def __lt__(self, other):
        return self

    def note(self):
        self.asked.append(sys._getframe(1).f_lasti)


def is_repeated(function, at):
    """Whether the instruction at or, among its caches, before an offset is in a loop."""
    code = function.__code__
    return max(i.offset for i in dis.get_instructions(code) if i.offset <= at) in (
        bytecode.repeated(code)
    )


def branch(x):
    if x:
        return 1
    return 2


def comparison(x):
    return 1 if x < 3 else 2


def negation(x):
    return not x


def conjunction(x):
    return bool(x is None) or (x and 3)


def while_loop(x):
    while x < 3:
        pass


def truth_tests(function):
    """The offsets of the instructions that are said to ask for a truth."""
    steps = dis.get_instructions(function.__code__)
    return {i.offset for i in steps if bytecode.asks_truth(i) or bytecode.compares_and_asks(i)}


@pytest.mark.parametrize("function", [branch, comparison, negation, conjunction, while_loop])
def test_truth_tests_are_where_python_asks(function):
    x = Truth()
    function(x)
    assert x.asked
    assert set(x.asked) <= truth_tests(function)


def test_a_call_is_no_truth_test():
    def calls(x):
        return x.note()

    x = Truth()
    calls(x)
    assert not set(x.asked) & truth_tests(calls)


def test_the_body_of_a_while_loop_is_repeated():
    def loop(x):
        x.note()
        n = 2
        while n > 0:
            x.note()
            n -= 1
        x.note()

    x = Truth()
    loop(x)
    inside = [is_repeated(loop, at) for at in x.asked]
    assert inside == [False, True, True, False]


def test_the_condition_of_a_while_loop_is_repeated():
    def loop(x):
        n = 0
        while x < 3 or n < 2:
            n += 1

    x = Truth()
    loop(x)
    later = x.asked[1:]
    assert bytecode.repeated(loop.__code__).issuperset(later)


def test_a_jump_back_from_a_handler_is_no_loop():
    def handles(x):
        try:
            x.missing()
        except AttributeError:
            x.note()
        x.note()
        while x:
            try:
                x.note()
                x.missing()
            except AttributeError:
                x.answer = False
                x.note()
        x.note()

    x = Truth(answer=True)
    handles(x)
    inside = [is_repeated(handles, at) for at in x.asked]
    assert inside == [False, False, False, True, True, True, False]


def test_catches():
    def excepts():
        try:
            return 1
        except ValueError:
            return 2

    def finishes():
        try:
            return 1
        finally:
            print()

    def uses(x):
        with x:
            return 1

    def contains():
        return excepts

    assert bytecode.catches(excepts.__code__)
    assert bytecode.catches(finishes.__code__)
    assert not bytecode.catches(uses.__code__)
    assert not bytecode.catches(contains.__code__)

    def defines():
        def within():
            try:
                return 1
            except ValueError:
                return 2

        return within

    assert bytecode.catches(defines.__code__)


def test_global_names():
    scope: dict[str, object] = {}
    exec(
        "def f(a):\n  global written\n  written = read + a.attribute\n  return lambda: inner\n",
        scope,
    )
    assert bytecode.global_names(scope["f"].__code__) == {"written", "read", "inner"}


def test_hides_state():
    def generates():
        yield 1

    async def awaits():
        return 1

    assert bytecode.hides_state(generates.__code__)
    assert bytecode.hides_state(awaits.__code__)
    assert not bytecode.hides_state(branch.__code__)
