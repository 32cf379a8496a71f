"""Fail on a private name of torch outside `torch_compat`.

Private are names of torch that begin with an underscore, everything below such a module, and
`torch.fx.experimental`. Found are:

- imports, as `from torch._C import ...` and `from torch.utils import _pytree`,
- paths, as `torch._C._set_grad_enabled` and `torch.ops.aten._assert_scalar`,
- such paths in strings, but for `torch._check`, which torch documents,
- private attributes that no class or module of the package defines, as `storage._cdata`, also in
  `getattr(storage, "_cdata")`.

Docstrings may speak of them.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = "torch_compat"
PATH = re.compile(r"\btorch(?:\.\w+)*\._(?!check\b)[a-zA-Z]\w*|\b_dynamo_[a-z]\w*")
# Private by name alone: of named tuples, and of Python's own modules.
PYTHON = frozenset(("_replace", "_fields", "_asdict", "_make", "_field_defaults"))
PYTHON_MODULES = frozenset(("sys", "copyreg", "os"))
READERS = frozenset(("getattr", "hasattr", "setattr", "delattr"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def is_private_path(path: str) -> bool:
    """Whether a dotted path leads to something private of torch."""
    head, *rest = path.split(".")
    if head != "torch" or path == "torch._check":
        return False
    return any(map(is_private, rest)) or path.startswith("torch.fx.experimental")


def path_of(node: ast.AST) -> str | None:
    """The dotted path of an expression like `torch._C._nn`; None for any other."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def names_defined(tree: ast.AST) -> set[str]:
    """The private names that a file defines: functions, classes, variables, attributes, slots."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and _is_own(node):
            found.add(node.attr)
    return found


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and path_of(node) == f"self.{node.attr}"


def docstrings(tree: ast.AST) -> set[int]:
    """The identities of the string nodes that are docstrings, or statements of their own."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def private_names(tree: ast.AST, defined: set[str]) -> list[tuple[int, str]]:
    """Each private name of torch in a file, with its line."""
    found: list[tuple[int, str]] = []
    skipped = docstrings(tree)
    inner: set[int] = set()  # `torch._C` within `torch._C._nn` is the same finding
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            inner |= {id(part) for part in ast.walk(node)} - {id(node)}
            found += [(node.lineno, name) for name in _attribute(node, defined)]
        elif isinstance(node, ast.Call):
            found += [(node.lineno, name) for name in _reader(node, defined)]
        elif isinstance(node, ast.Constant) and id(node) not in skipped:
            found += [(node.lineno, name) for name in PATH.findall(str(node.value))]
        found += [(node.lineno, name) for name in names if is_private_path(name)]  # type: ignore[attr-defined]
    return found


def _attribute(node: ast.Attribute, defined: set[str]) -> list[str]:
    path = path_of(node)
    if path is not None and path.startswith("torch."):
        return [path] if is_private_path(path) else []
    found = []
    part: ast.AST = node
    while isinstance(part, ast.Attribute):
        owner = part.value.id if isinstance(part.value, ast.Name) else ""
        known = part.attr in defined or part.attr in PYTHON or owner in PYTHON_MODULES
        if is_private(part.attr) and not known:
            found.append(f".{part.attr}")
        part = part.value
    return found


def _reader(node: ast.Call, defined: set[str]) -> list[str]:
    if not isinstance(node.func, ast.Name) or node.func.id not in READERS or len(node.args) < 2:
        return []
    name = node.args[1]
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return []
    return (
        [f".{name.value}"] if is_private(name.value) and name.value not in defined | PYTHON else []
    )


def find_problems(package: Path) -> list[str]:
    """Return one sentence for each private name of torch in `package` outside its home."""
    trees = {path: ast.parse(path.read_bytes()) for path in sorted(package.rglob("*.py"))}
    defined = {name for tree in trees.values() for name in names_defined(tree)}
    return [
        f"{path.relative_to(package.parent)}:{line}: {name} is private to torch: name it in {HOME}"
        for path, tree in trees.items()
        if path.relative_to(package).parts[0] != HOME
        for line, name in sorted(private_names(tree, defined))
    ]


def main() -> int:
    """Print the problems; return the exit status."""
    problems = find_problems(ROOT / "src" / "anyshape")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
