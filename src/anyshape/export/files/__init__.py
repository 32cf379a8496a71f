"""Saved programs: the file format, written and read. See the folder's README."""
