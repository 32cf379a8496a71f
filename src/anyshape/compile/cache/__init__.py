"""Compiled entries, their guard functions and recompilations. See the folder's README."""
