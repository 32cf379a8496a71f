"""Python and process state that a trace watches, replaces and restores. See the folder's README."""
