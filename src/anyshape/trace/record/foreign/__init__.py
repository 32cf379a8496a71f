"""Code that has no twin: what it may do, and whether it is run."""
