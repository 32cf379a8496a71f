"""Modes that ops depend on besides their arguments, recorded and restored."""
