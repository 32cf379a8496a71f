"""Attributes of every kind, as Python looks them up."""
