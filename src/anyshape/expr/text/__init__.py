"""Expressions as text, and back. See the folder's README."""
