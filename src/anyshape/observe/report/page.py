"""The page: the data, the style and the script in one text that requests nothing."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import TYPE_CHECKING, Final

from anyshape.errors import SaveError, reason_of
from anyshape.regular_file import replace_text

if TYPE_CHECKING:
    import os

    from anyshape.observe.report.report_data import ReportData

# Nothing is fetched, whatever the data is; the style and the script are those of the page.
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none';"
    " form-action 'none'"
)
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<noscript>This report needs JavaScript, which requests nothing.</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def render(report: ReportData) -> str:
    """The text of a page."""
    folder = resources.files(__package__)
    text = _PAGE.format(
        policy=html.escape(_POLICY),
        title=html.escape(f"{report.title} · anyshape"),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script=folder.joinpath("page.js").read_text(encoding="utf-8"),
        data=as_json(report.data()),
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def as_json(data: object) -> str:
    """JSON that may stand in HTML: no character of it can end the element or begin another. Half of
    a pair of surrogates becomes an escape of JSON when the page is encoded.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def write(report: ReportData, path: str | os.PathLike[str]) -> None:
    """Write a page to a file."""
    try:
        replace_text(path, render(report))
    except OSError as e:
        fix = "make the folder first" if isinstance(e, FileNotFoundError) else ""
        raise SaveError(
            f"the report cannot be written to {str(path)!r}", why=reason_of(e), fix=fix
        ) from e
