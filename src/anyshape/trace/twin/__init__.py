"""Twins: copies of the user's functions that report what they read, write and call."""
