"""Readers of the stream of events, and texts about what was traced. See the folder's README."""
