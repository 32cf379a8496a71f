"""Shape rules: one row per op, one file per family. See the folder's README."""

from anyshape.rules.dispatch.table import register_rule as register_rule
from anyshape.rules.dispatch.table import rule as rule
