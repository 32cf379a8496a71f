"""Containers: their items, methods, loops and views."""
