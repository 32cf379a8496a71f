"""What the user wrote at a place: a condition or a conversion, as the source has it.

It serves messages alone. Python keeps the lines and columns of every instruction; generated code
and saved programs have the user's line. Where the source is not at hand, or what is there is long
or might be something else than what was asked, nothing is said.
"""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from typing import TYPE_CHECKING, Final

from anyshape.env.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST: Final = 80  # characters
_LINES: Final = 5  # of a condition
_CONVERSIONS: Final = ("int", "float", "range", "round", "complex")
_TESTED: Final = (ast.If, ast.While, ast.Assert, ast.IfExp)
_WORKING: Final = (ast.Subscript, ast.BinOp, ast.Attribute)
_BLOCKS: Final = ("if ", "if(", "elif ", "elif(", "while ", "while(")
_NUMBERS: Final = ("item", "__int__")
_NOWHERE: Final = (None, None, None, None)


def written_condition(site: Site | None, *, is_tensor: bool) -> str:
    """The condition that is asked at a place; empty if it is not known.

    A call is the condition if it makes a tensor; any other may ask something else, inside of it.
    So may an item or an operation that no branch of the line is on.
    """
    asked = _expression(site)
    if site is not None and isinstance(asked, _WORKING) and not _is_tested(asked, site):
        return ""
    while True:
        if isinstance(asked, ast.IfExp):  # pragma: no cover  Python 3.13 gives the test's own place
            asked = asked.test
        elif isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
            asked = asked.operand
        elif isinstance(asked, ast.Call) and _is_named(asked.func, ("bool",)) and asked.args:
            asked = asked.args[0]
        else:
            break
    if asked is None or (isinstance(asked, ast.Call) and not is_tensor):
        return ""
    return _short(asked)


def written_conversion(site: Site | None) -> str:
    """The conversion to a number of Python at a place; empty if it is not known."""
    inside = _expression(site)
    calls = [] if inside is None else [n for n in ast.walk(inside) if isinstance(n, ast.Call)]
    found = [call for call in calls if _is_named(call.func, _CONVERSIONS)]
    return _short(found[0]) if len(found) == 1 else ""


def assigned_name(site: Site | None) -> str:
    """The variable that gets the number made at a place; empty if the line does more than that."""
    try:
        (statement,) = ast.parse("" if site is None else site.text).body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    is_number = isinstance(value, ast.Call) and (
        _is_named(value.func, ("int",))
        or (isinstance(value.func, ast.Attribute) and value.func.attr in _NUMBERS)
    )
    return target.id if is_number and isinstance(target, ast.Name) else ""


def _is_tested(e: ast.expr, site: Site) -> bool:
    """Whether the line of a place branches on an expression."""
    wanted = ast.unparse(e)
    for text in _statements(site.text):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        return any(ast.unparse(test) == wanted for n in ast.walk(tree) for test in _tests(n))
    return False


def _tests(n: ast.AST) -> Sequence[ast.expr]:
    """The conditions that a node branches on."""
    match n:
        case ast.If() | ast.While() | ast.Assert() | ast.IfExp():
            return [n.test]
        case ast.comprehension(ifs=ifs):
            return ifs
        case ast.BoolOp(values=values):
            return values
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.Call(func=function, args=args) if _is_named(function, ("bool",)):
            return args
    return []


def _is_named(function: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(function, ast.Name) and function.id in names


def _short(e: ast.expr) -> str:
    text = ast.unparse(e)
    return text if len(text) <= _MOST else ""


def _expression(site: Site | None) -> ast.expr | None:
    """The expression that a place evaluates; the condition of a statement that has one."""
    if site is None:
        return None
    source = _by_columns(site) if type(site) is Site and site.origin is None else ""
    source = source or site.text
    if not source.strip():  # code without a file
        return None
    for text in _statements(source):
        try:
            (statement,) = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        if isinstance(statement, ast.Expr):
            return statement.value
        tests = [n.test for n in ast.walk(statement) if isinstance(n, _TESTED)]
        return tests[0] if len(tests) == 1 else None
    return None


def _statements(source: str) -> Iterator[str]:
    """A source as one statement; of one with a block the first lines, with an empty block."""
    if not source.startswith(_BLOCKS):
        yield source
        yield f"({source})"
        return
    lines = source.removeprefix("el").splitlines()
    for count in range(1, min(len(lines), _LINES) + 1):
        text = "\n".join(lines[:count]).rstrip()
        yield f"{text} pass" if text.endswith(":") else text


def _by_columns(site: Site) -> str:
    positions = site.code.co_positions()
    first, last, start, end = next(islice(positions, site.instruction // 2, None), _NOWHERE)
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [linecache.getline(site.code.co_filename, n).encode() for n in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # columns count bytes
    lines[0] = lines[0][start:]
    return b"".join(lines).decode(errors="replace")
