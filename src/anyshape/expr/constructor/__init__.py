"""Constructors with normal forms. See the folder's README."""
