"""The source of a function as a syntax tree, if the tree is surely that of its code.

A file may have changed since it was imported. The tree is compiled as it is and compared with the
code; a tree that gives other instructions is not used.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import opcode
import os
import re
import sysconfig
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from anyshape.trace.state.undisturbed import undisturbed
from anyshape.trace.twin.syntax_node import locate, nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType

Function: TypeAlias = ast.FunctionDef | ast.Lambda

_FUTURES: Final = sum({getattr(__future__, n).compiler_flag for n in __future__.all_feature_names})
_WITH_ARGUMENT: Final = {
    opcode.opmap[name]
    for name in ("BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "IS_OP")
    if name in opcode.opmap
}
_VARYING: Final = {
    number
    for name, number in opcode.opmap.items()
    if name.startswith(
        (
            "CACHE",
            "LOAD_",
            "PUSH_NULL",
            "PRECALL",
            "CALL",
            "KW_NAMES",
            "EXTENDED_ARG",
            "NOP",
            "COPY_FREE",
            "MAKE_CELL",
            "RESUME",
        )
    )
}
_PRIVATE: Final = re.compile(r"^_[^_]\w*?__(?=\w*[^_]_?$)")  # a class before a private name
_STANDARD: Final = sysconfig.get_paths()["stdlib"]
_REWRITTEN: Final = "@py"  # how the names begin that pytest gives to its own variables
_Place: TypeAlias = tuple[int, str]  # the first line and the name of a function
_files: dict[str, tuple[list[str], _File]] = {}  # with the lines
_registered: dict[CodeType, Function] = {}


class _File(NamedTuple):
    """The functions of a file by where they begin, and the names that it imports."""

    functions: dict[_Place, list[Function]]
    imports: list[str]


def register_source(code: CodeType, node: Function) -> None:
    """Note the tree of a code that was compiled from a tree, and not from a file."""
    _registered[code] = node


def source_of(code: CodeType) -> Function | None:
    """The tree of a function, for the caller to change; None if none surely belongs to it."""
    registered = _registered.get(code)
    if registered is not None:
        return copy.deepcopy(registered)
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return None
    found = _of_lines(code)
    if found is None and _is_read_again(code.co_filename):
        found = _of_lines(code)
    return found


def _of_lines(code: CodeType) -> Function | None:
    try:
        found = _of_block(code) if code.co_name != "<lambda>" else None
        return _of_file(code) if found is None else found
    except (OSError, SyntaxError, ValueError, TypeError, IndexError, RecursionError):
        return None


def _is_read_again(file: str) -> bool:
    """Forget the lines of a file that has changed since they were read; whether it has."""
    before = linecache.cache.get(file)
    linecache.checkcache(file)
    return before is not None and linecache.cache.get(file) is not before


def _lines(file: str) -> list[str]:
    """The lines of a file; modules of Python that are part of the interpreter have one, too."""
    if file.startswith("<frozen "):
        name = file.removeprefix("<frozen ").rstrip(">").replace(".", os.sep)
        file = os.path.join(_STANDARD, f"{name}.py")
    return linecache.getlines(file)


def _of_block(code: CodeType) -> Function | None:
    """The tree of the lines where the function begins; the rest of the file is not parsed.

    Their end is guessed from the instructions, and found by Python's tokens where the guess fails.
    """
    lines = _lines(code.co_filename)
    first = code.co_firstlineno
    if not 0 < first <= len(lines):
        return None
    try:
        found = _of_text(lines[first - 1 : _guessed_end(lines, code)], code)
    except SyntaxError:
        found = None
    return found or _of_text(inspect.getblock(lines[first - 1 :]), code)


def _guessed_end(lines: list[str], code: CodeType) -> int:
    """How many lines there are up to the end of a function that begins with its first line.

    All lines of instructions are in it, and the lines that follow them and have its indent or less
    are not.
    """
    first = lines[code.co_firstlineno - 1]
    indent = len(first) - len(first.lstrip())
    end = _last_line(code)
    for line in lines[end:]:
        text = line.lstrip()
        if text and len(line) - len(text) <= indent:
            break
        end += 1
    return end


def _last_line(code: CodeType) -> int:
    """The last line of an instruction of a code, or of one within it."""
    within = [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    return max([code.co_firstlineno, *within, *ends])


def _of_text(block: list[str], code: CodeType) -> Function | None:
    """The tree of a function whose text this is.

    An indented function is parsed inside of another one, which has its free variables: places have
    their columns, and texts of several lines what they hold.
    """
    is_indented = block[0][0].isspace()
    around = f"def factory({', '.join(code.co_freevars)}):\n" if is_indented else ""
    before = code.co_firstlineno - 1 - is_indented
    text = "".join(["\n" * before, around, *block])
    tree = _parsed(text)
    (node,) = cast("ast.FunctionDef", tree.body[0]).body if is_indented else tree.body
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return None
    return node if _is_in(text, code) or _is_of(node, code) else None


def _is_in(text: str, code: CodeType) -> bool:
    """Whether a text compiles to one function with this name and place, and that is this code.

    A function that calls itself by a global name has another code inside of a function.
    """
    flags = code.co_flags & _FUTURES
    made: CodeType = undisturbed(
        compile, text, code.co_filename, "exec", flags=flags, dont_inherit=True
    )
    if text.lstrip("\n").startswith("def factory("):
        made = next((c for c in made.co_consts if isinstance(c, types.CodeType)), made)
    place = (code.co_name, code.co_firstlineno)
    found = [
        c
        for c in made.co_consts
        if isinstance(c, types.CodeType) and (c.co_name, c.co_firstlineno) == place
    ]
    return len(found) == 1 and _is_same(found[0], code)


def _parsed(text: str) -> ast.Module:
    flags = ast.PyCF_ONLY_AST
    convert: Callable[..., Any] = compile
    tree: ast.Module = undisturbed(
        convert, text, "<unknown>", "exec", flags=flags, dont_inherit=True
    )
    return tree


def _of_file(code: CodeType) -> Function | None:
    """A copy of the tree of the function within that of its file."""
    file = _file(code.co_filename)
    found = file.functions.get((code.co_firstlineno, code.co_name), [])
    same = [n for n in found if _is_of(n, code, file.imports)]
    if len(same) > 1:
        positions = {(p[0], p[2]) for p in code.co_positions()}
        same = [n for n in same if _start(n) in positions]
    return copy.deepcopy(same[0]) if len(same) == 1 else None


def _start(n: Function) -> tuple[int, int]:
    """Where the first expression of a lambda begins."""
    body = n.body
    return (body.lineno, body.col_offset) if isinstance(body, ast.expr) else (-1, -1)


def _file(file: str) -> _File:
    """What is in a file."""
    lines = _lines(file)
    known = _files.get(file)
    if known is None or known[0] is not lines:
        found: dict[_Place, list[Function]] = {}
        try:
            tree = _parsed("".join(lines))
        except SyntaxError:
            tree = ast.Module([], [])
        for n in nodes(tree):
            if isinstance(n, ast.FunctionDef | ast.Lambda):
                start = min([n.lineno, *[d.lineno for d in getattr(n, "decorator_list", ())]])
                found.setdefault((start, getattr(n, "name", "<lambda>")), []).append(n)
        known = _files[file] = (lines, _File(found, list(_imported(tree))))
    return known[1]


def _imported(tree: ast.AST) -> Iterator[str]:
    """The names that statements of a module import."""
    for n in ast.iter_child_nodes(tree):
        if isinstance(n, ast.Import | ast.ImportFrom):
            yield from [(a.asname or a.name).partition(".")[0] for a in n.names if a.name != "*"]
        elif not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            yield from _imported(n)


# ---------------------------------------------------------------------- from a tree to its code


def compiled(
    node: Function,
    code: CodeType,
    body: list[ast.stmt] | None = None,
    imports: Sequence[str] = (),
) -> CodeType:
    """The code of a function with this tree, with the free variables of `code`.

    `body` stands in for the body, where given. A call with many arguments has other instructions if
    it is that of a function in a module, by the `imports` of the file. Defaults and annotations are
    dropped: a function gets them when it is made, and not from its code.
    """
    if body is None:
        body = [_returned(node.body)] if isinstance(node, ast.Lambda) else node.body
    name = "_anyshape_function"  # not its own, which may be a global that it calls
    inner = function_node(name, _plain(node.args), body, node)
    free = [ast.arg(name) for name in code.co_freevars]
    given = ast.arguments([], free, None, [], [], None, [])
    outer = function_node("factory", given, [inner], node)
    before = [ast.Import([ast.alias(name)]) for name in imports]
    tree = ast.Module([*before, outer], [])
    locate(tree)
    flags = code.co_flags & _FUTURES
    made: CodeType = undisturbed(
        compile, tree, code.co_filename, "exec", flags=flags, dont_inherit=True
    )
    for _ in range(2):
        made = next(c for c in reversed(made.co_consts) if isinstance(c, types.CodeType))
    return _named(made, code.co_qualname, len(made.co_qualname)).replace(co_name=code.co_name)


def _named(code: CodeType, name: str, length: int) -> CodeType:
    """A code with another qualified name in place of this many characters, and those within it."""
    old, new = code.co_qualname, name + code.co_qualname[length:]
    inner = [
        _named(c, name, length) if isinstance(c, types.CodeType) else new if c == old else c
        for c in code.co_consts  # the body of a class has its own name among them
    ]
    return code.replace(co_consts=tuple(inner), co_qualname=new)


def function_node(
    name: str, args: ast.arguments, body: list[ast.stmt], at: ast.AST
) -> ast.FunctionDef:
    """The definition of a function, at the place of another node."""
    made = ast.FunctionDef(name, args, body, [], None, None)
    if "type_params" in ast.FunctionDef._fields:
        setattr(made, "type_params", [])  # noqa: B010  since Python 3.12
    return ast.copy_location(made, at)


def _returned(value: ast.expr) -> ast.Return:
    return ast.copy_location(ast.Return(value), value)


def _plain(args: ast.arguments) -> ast.arguments:
    def bare(a: ast.arg | None) -> ast.arg | None:
        return None if a is None else ast.copy_location(ast.arg(a.arg), a)

    def bares(found: list[ast.arg]) -> list[ast.arg]:
        return [ast.copy_location(ast.arg(a.arg), a) for a in found]

    nothing = ast.Constant(None)
    return ast.arguments(
        posonlyargs=bares(args.posonlyargs),
        args=bares(args.args),
        vararg=bare(args.vararg),
        kwonlyargs=bares(args.kwonlyargs),
        kw_defaults=[None if d is None else nothing for d in args.kw_defaults],
        kwarg=bare(args.kwarg),
        defaults=[nothing for _ in args.defaults],
    )


def _is_of(node: Function, code: CodeType, imports: Sequence[str] = ()) -> bool:
    """Whether a tree compiles to this code."""
    try:
        made = compiled(node, code, None, imports)
    except (SyntaxError, ValueError, StopIteration):
        return False
    return _is_same(made, code)


def _is_same(made: CodeType, code: CodeType) -> bool:
    """Whether a code that was compiled here is that of a function."""
    if any(name.startswith(_REWRITTEN) for name in code.co_varnames):  # asserts are longer
        return _shape(made)[:2] == _shape(code)[:2]
    return _shape(made) == _shape(code)


def _shape(code: CodeType) -> tuple[Any, ...]:
    """The identity of a code object that does not depend on where it was compiled.

    How an attribute is loaded and called depends on the imports of the file, and qualified names,
    which are among the texts, on what is around a function.
    """
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_varnames[: sum(counts)]
    inner = [_shape(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    plain = [repr(c) for c in code.co_consts if type(c) in (int, float, bytes, complex)]
    texts = [c for c in code.co_consts if type(c) is str and c.isidentifier()]
    ops = code.co_code
    steps = [
        (op, ops[i + 1]) if op in _WITH_ARGUMENT else op
        for i, op in zip(range(0, len(ops), 2), ops[::2], strict=True)
        if op not in _VARYING
    ]
    public = [_PRIVATE.sub("__", name) for name in code.co_names]
    return counts, names, public, steps, inner, sorted(plain), sorted(texts)
