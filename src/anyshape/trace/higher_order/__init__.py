"""Calls that take functions: traced as one call, with the traced functions as bodies."""
