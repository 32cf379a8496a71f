"""The objects that the commands print with `--json`, and the exit statuses.

Each member has its type and its meaning; the reference in the docs is generated from here. A change
of what a member means, or its removal, is another `VERSION`; a new member is not.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = 1

SUCCESS: Final = 0
NEGATIVE: Final = 1
USAGE: Final = 2
ERROR: Final = 3
INTERRUPTED: Final = 130

STATUSES: Final[dict[int, str]] = {
    SUCCESS: "done, and the answer is good",
    NEGATIVE: "done, and the answer is not: programs differ, a check found something, a draft has"
    " problems",
    USAGE: "the command line is wrong",
    ERROR: "an error: a program cannot be exported, a file cannot be loaded, a factory raises",
    INTERRUPTED: "interrupted by Ctrl-C",
}

_PROGRAM: Final[dict[str, str]] = {
    "name": "string: the name of the program",
    "file": "string: the path of the file",
    "bytes": "integer: the size of the file",
    "inputs": "array: objects with `name`, `kind`, `shape` (array of strings, or null) and `value`"
    " (text, or null)",
    "sizes": "object: for each size an array of its least and greatest value, integers or null",
    "variants": "array: for each variant an array of the conditions under which it applies",
    "asserts": "array: what is checked while it runs",
    "refused": "array: objects with `where` (array of conditions) and `error`",
    "complete": "boolean: whether it is proved that no allowed sizes are left out",
    "branches": "array: the lines that branch on data",
    "deviations": "array: where it may differ from eager execution",
    "calls": "integer: the number of calls in all graphs",
}

SCHEMAS: Final[dict[str, dict[str, str]]] = {
    "export": {
        **_PROGRAM,
        "seconds": "number: how long the export took",
        "problems": "array: of a draft: objects with `what`, `why` and `fix`",
    },
    "info": {
        **_PROGRAM,
        "state": "array: objects with `name`, `dtype` and `shape`, the tensors of the program",
    },
    "report": {
        "file": "string: the path of the HTML file",
        "title": "string: what the report is about",
        "kind": "string: exported program, or trace",
    },
    "run": {
        "name": "string: the name of the program",
        "inputs": "object: the shape of each tensor, the value of each other input as text",
        "outputs": "array: objects with `kind` and `shape` (null but for tensors) and `value` (text"
        " of what is not a tensor, or null)",
        "seconds": "number: how long the run took",
        "out": "string or null: the file with the tensors among the results",
    },
    "verify": {
        "name": "string: the name of the program",
        "equal": "boolean: whether the program agrees with eager execution in all calls",
        "calls": "array: objects with `shapes`, `outcome` and `detail`",
        "other_weights": "array: if it does not, the names of the tensors that differ already",
    },
    "diff": {
        "equal": "boolean: whether the programs are the same",
        "sections": "object: for each part that differs `removed` and `added`, arrays of lines",
    },
    "check": {
        "script": "string: the path of the script",
        "good": "boolean: whether nothing was found that is not allowed",
        "functions": "array: objects with `name`, `traces` (integer) and `calls` (of the largest"
        " graph)",
        "findings": "array: objects with `kind` (recompilation, break, fallback or error),"
        " `function`, `file`, `line`, `text`, `fix`, `called_at` (string or null), `count` and"
        " `allowed`",
    },
    "infer": {
        "dynamic_shapes": 'object: for each argument its spec; a dynamic size is "DYNAMIC"',
        "code": "string: the same as Python",
    },
    "errors": {
        "codes": "object: for each code `error` (the name of the class) and `title`",
        "page": "string or null: the page of the code, in Markdown",
    },
    "explain": {
        "text": "string: the explanation of the program or the symbol",
        "symbols": "array: objects with `variant`, `name`, `label`, `kind`, `site`, `least`,"
        " `greatest`, `equals`, `conditions` and `uses`",
    },
    "bench": {
        "name": "string: the name of the program",
        "backend": "string: the backend of the compiled function",
        "export_seconds": "number: how long the export took",
        "compile_seconds": "number: how long the first call of the compiled function took",
        "calls": "array: objects with `shapes`, and microseconds: `eager`, `program`, `compiled`",
    },
}

ERROR_MEMBER: Final = "object: `type`, `what`, `why` and `fix`, in place of the other members"
