"""Write the tables of the reference from the code: settings, errors, events, commands and more.

A page holds `<!-- generated: NAME -->` and `<!-- end -->`, and the table NAME stands between them.
Without arguments the pages are written; with `--check` nothing is written, and a page that differs
from the code is a failure.
"""

import inspect
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from anyshape import errors
from anyshape.cli import schema
from anyshape.cli.main import COMMANDS
from anyshape.config import LOGS, SETTINGS
from anyshape.error_codes import CODES
from anyshape.events import KINDS
from anyshape.observe import trace_schema
from anyshape.rules.dispatch.resolve import loaded_rules

ROOT = Path(__file__).resolve().parent.parent
OPS = ROOT / "tests/differential/op_db.json"  # what became of each op of torch's database
ZOO = ROOT / "tests/zoo/outcomes.json"  # and of each program of other libraries
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACE = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write or check the pages; return the exit status."""
    stale = []
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = fill(old)
        if new != old:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    for page in stale:
        name = page.relative_to(ROOT)
        print(f"{name}: stale, run make fmt" if "--check" in arguments else f"{name}: written")
    return 1 if stale and "--check" in arguments else 0


def fill(page: str) -> str:
    """The page with its tables as the code has them."""
    return PLACE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", page)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def settings() -> str:
    """The settings, their values with the default in bold, and their environment variables."""
    rows = []
    for name, setting in SETTINGS.items():
        default = f"**{_shown(setting.default)}**"
        others = [_shown(v) for v in setting.valid if v is not setting.default]
        values = ", ".join([default, *others, *filter(None, [setting.others])])
        variables = ", ".join(f"`{variable}`" for variable in setting.environment)
        rows.append([f"`{name}`", values, setting.about, variables])
    return table(["setting", "values", "meaning", "environment"], rows)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def errors_() -> str:
    """The exceptions, in the order of the module, with the built-in classes that they are too."""
    found = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
    rows = []
    for error in found:
        if error.__module__ != errors.__name__ or error.__name__.startswith("_"):
            continue
        kin = [c for c in error.__mro__[1:] if c in found and not c.__name__.startswith("_")]
        parents = [c for c in kin if not any(c in d.__mro__[1:] for d in kin)]
        known = {c for parent in parents for c in parent.__mro__}
        built_in = [c for c in error.__bases__ if c not in known and c.__module__ == "builtins"]
        bases = [*parents, *built_in] or [Exception]
        names = ", ".join(f"`{c.__name__}`" for c in bases)
        rows.append([f"`{error.__name__}`", names, _prose(error)])
    return table(["error", "is a", "when"], rows)


def codes() -> str:
    """The codes of the failures, each with its page."""
    rows = [[f"[{c}]({c}.md)", f"`{row.error}`", row.title] for c, row in CODES.items()]
    return table(["code", "error", "what"], rows)


def events() -> str:
    """The kinds of events with their fields, in the order of the module."""
    rows = []
    for kind in KINDS:
        fields = ", ".join(f"`{name}`" for name in kind.__annotations__)
        rows.append([f"`{kind.__name__}`", _prose(kind), fields])
    return table(["event", "what happened", "fields"], rows)


def logs() -> str:
    """The logs: what each tells, without and with a `+`."""
    return table(
        ["log", "tells", "with `+` also"], [[f"`{n}`", *about] for n, about in LOGS.items()]
    )


def trace_header() -> str:
    """The members of the first line of a trace."""
    return _members(trace_schema.HEADER)


def trace_common() -> str:
    """The members of every other line of a trace."""
    return _members(trace_schema.COMMON)


def _members(described: dict[str, str]) -> str:
    rows = [[f"`{name}`", *about.split(": ", 1)] for name, about in described.items()]
    return table(["member", "type", "meaning"], rows)


def trace_events() -> str:
    """The members that the line of each kind of event has besides the common ones."""
    rows = []
    for kind in KINDS:
        names = ", ".join(f"`{field.name}`" for field in trace_schema.members(kind))
        rows.append([f"`{kind.__name__}`", names, _prose(kind)])
    return table(["`event`", "members", "what happened"], rows)


def trace_members() -> str:
    """The members of the kinds of events."""
    fields = {(f.name, f.kind, f.about): None for kind in KINDS for f in trace_schema.members(kind)}
    return table(["member", "type", "meaning"], [[f"`{n}`", k, about] for n, k, about in fields])


def commands() -> str:
    """The commands."""
    return table(["command", "what it does"], [[f"`{n}`", about] for n, about in COMMANDS.items()])


def statuses() -> str:
    """The exit statuses."""
    return table(["status", "meaning"], [[str(n), about] for n, about in schema.STATUSES.items()])


def command_schemas() -> str:
    """The members of the objects of all commands."""
    rows = []
    for command, members in schema.SCHEMAS.items():
        for name, about in members.items():
            rows.append([f"`{command}`", f"`{name}`", *about.split(": ", 1)])
    return table(["command", "member", "type", "meaning"], rows)


def ops_outcome() -> str:
    """For each way to trace the ops of torch's database: how many pass, of how many."""
    passed: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for columns in json.loads(OPS.read_text(encoding="utf-8")).values():
        tried.update(columns.keys())
        passed.update(c for c, outcome in columns.items() if outcome == "pass")
    order = [c for c, _ in tried.most_common()]
    return table(["traced with", "pass", "of"], [[c, str(passed[c]), str(tried[c])] for c in order])


def ops_failing() -> str:
    """The ops that do not pass everywhere, with what happens."""
    rows = []
    for name, columns in json.loads(OPS.read_text(encoding="utf-8")).items():
        where: dict[str, list[str]] = defaultdict(list)
        for column, outcome in columns.items():
            if outcome != "pass":
                where[outcome].append(column)
        rows += [[f"`{name}`", ", ".join(cs), _plain(o)] for o, cs in where.items()]
    return table(["op", "traced with", "outcome"], rows)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, and that may be broken into lines."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def ops_rules() -> str:
    """The names of the ops that have a rule, by the family of the rule."""
    families: dict[str, list[str]] = defaultdict(list)
    for name, rule in loaded_rules().items():
        families[rule.function.__module__.rpartition(".")[2]].append(f"`{name}`")
    rows = [[family, ", ".join(sorted(names))] for family, names in sorted(families.items())]
    return table(["family", "ops"], rows)


def zoo_summary() -> str:
    """What became of the programs that were exported with both, by outcome, and when."""
    record = json.loads(ZOO.read_text(encoding="utf-8"))
    both = ("export", "torch.export")
    counts: dict[str, Counter[str]] = {side: Counter() for side in both}
    for programs in record["libraries"].values():
        for outcomes in programs.values():
            if all(side in outcomes for side in both):
                for side in both:
                    counts[side][outcomes[side]["status"]] += 1
    kinds = (
        ("right at all sizes", ("right",)),
        ("refuses some sizes", ("partly",)),
        ("no program", ("fails", "hangs", "crashes")),
        ("another result than eager execution", ("wrong",)),
    )
    rows = [[k, *[str(sum(counts[s][o] for o in names)) for s in both]] for k, names in kinds]
    count = sum(counts[both[0]].values())
    versions = record["versions"]
    made = f"{count} programs of {len(record['libraries'])} libraries, {record['date']}"
    head = [made, "`anyshape.export`", f"`torch.export` {versions['torch'].partition('+')[0]}"]
    return table(head, rows)


def _prose(documented: object) -> str:
    """The docstring as one line."""
    return " ".join((inspect.getdoc(documented) or "").split())


TABLES = {
    "settings": settings,
    "errors": errors_,
    "codes": codes,
    "events": events,
    "logs": logs,
    "trace_header": trace_header,
    "trace_common": trace_common,
    "trace_events": trace_events,
    "trace_members": trace_members,
    "commands": commands,
    "statuses": statuses,
    "command_schemas": command_schemas,
    "ops_outcome": ops_outcome,
    "ops_failing": ops_failing,
    "ops_rules": ops_rules,
    "zoo_summary": zoo_summary,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
