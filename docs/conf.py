"""How Sphinx builds the documentation: Markdown pages (MyST) in the Furo theme."""

import logging
from importlib.metadata import version as installed_version

project = "anyshape"
author = "the anyshape authors"
project_copyright = "the anyshape authors"
release = version = installed_version("anyshape")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signatures are short; the prose says what arguments are
default_role = "code"  # single backticks in docstrings

exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "anyshape"

# A section may have no page yet. Sphinx gives this warning no type, so `suppress_warnings` cannot
# name it.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(
    lambda record: getattr(record, "subtype", None) != "empty_glob"
)
