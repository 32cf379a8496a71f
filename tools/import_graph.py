"""Draw which file of a folder imports which: one box per file, sub-folders framed, arrows downward.

Without arguments the pictures in `docs/explanation` are drawn, by Graphviz (`dot`). With `--check`
nothing is drawn, and a picture that differs from the imports is a failure: each picture holds the
text that it was drawn from. Imports for type checkers alone are left out.
"""

import functools
import re
import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "anyshape"
FOLDERS = ("compile", "trace")
WIDEST = 6  # boxes in one row
SOURCE = re.compile(r"<!-- drawn from\n(.*?)-->", re.DOTALL)
STYLE = """\
  graph [newrank=true, ranksep=0.5, nodesep=0.2, fontname="Helvetica", fontsize=13]
  node [shape=box, style="rounded,filled", fillcolor="#f4f7fb", color="#5b7aa3", height=0.34]
  node [fontname="Helvetica", fontsize=13, margin="0.09,0.04"]
  edge [color="#6b7785", arrowsize=0.6, penwidth=0.9]"""
FRAME = 'labeljust=l; style="rounded,filled"; fillcolor="#ffffff"; color="#b9c4d0"'

Imports = dict[str, set[str]]  # of each file, the files that it imports


def main(arguments: list[str]) -> int:
    """Draw or check the pictures; return the exit status."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    status = 0
    for folder in FOLDERS:
        picture = ROOT / "docs" / "explanation" / f"imports-{folder}.svg"
        text = describe(folder, imports_in(graph, folder))
        if "--check" not in arguments:
            picture.write_text(draw(text), encoding="utf-8")
        elif not picture.is_file() or source_of(picture.read_text(encoding="utf-8")) != text:
            print(f"{picture.relative_to(ROOT)}: stale, run make imports (it needs Graphviz)")
            status = 1
    return status


def imports_in(graph: grimp.ImportGraph, folder: str) -> Imports:
    """The imports between the files of a folder, by their names inside it."""
    start = f"{PACKAGE}.{folder}."
    files = {m for m in graph.modules if m.startswith(start) and _is_file(m)}
    return {
        file.removeprefix(start): {
            target.removeprefix(start)
            for target in graph.find_modules_directly_imported_by(file) & files
        }
        for file in sorted(files)
    }


def _is_file(module: str) -> bool:
    """Whether a module is a file, and not a folder."""
    return (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").is_file()


def rows(imports: Imports) -> list[list[str]]:
    """The files in rows of bounded width; each file is below all that import it."""

    @functools.cache
    def height(file: str) -> int:
        return 1 + max(map(height, imports[file]), default=-1)

    found: list[list[str]] = []
    placed: set[str] = set()
    while len(placed) < len(imports):
        ready = [
            file
            for file in imports
            if file not in placed and all(file not in imports[f] for f in imports.keys() - placed)
        ]
        ready.sort(key=lambda file: (-height(file), file.rpartition(".")[0], file))
        found.append(ready[:WIDEST])
        placed.update(ready[:WIDEST])
    return found


def describe(folder: str, imports: Imports) -> str:
    """The picture in the language of Graphviz."""
    lines = [f'digraph "{folder}" {{', STYLE]
    groups: dict[str, list[str]] = {}
    for file in imports:
        groups.setdefault(file.rpartition(".")[0], []).append(file)
    for group, members in groups.items():
        boxes = [f'"{file}" [label="{file.rpartition(".")[2]}"]' for file in members]
        if group:
            frame = f'label="{folder}/{group}/"; {FRAME}'
            boxes = [f'subgraph "cluster_{group}" {{ {frame}', *boxes, "}"]
        lines += [f"  {box}" for box in boxes]
    for i, row in enumerate(rows(imports)):
        same = " ".join(f'"{file}"' for file in row)
        lines.append(f'  {{ rank=same; "row {i}" [shape=point, style=invis] {same} }}')
        if i:
            lines.append(f'  "row {i - 1}" -> "row {i}" [style=invis]')
    lines += [f'  "{f}" -> "{target}"' for f in imports for target in sorted(imports[f])]
    return "\n".join([*lines, "}", ""])


def draw(text: str) -> str:
    """The picture as SVG, with the text that it was drawn from."""
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    svg = done.stdout[done.stdout.index("<svg") :]
    return f"<!-- drawn from\n{text.replace('--', '- -')}-->\n{svg}"


def source_of(svg: str) -> str:
    """The text that a picture was drawn from."""
    found = SOURCE.search(svg)
    return "" if found is None else found[1].replace("- -", "--")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
