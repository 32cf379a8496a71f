"""Calls that repeat what a program does to things outside it."""
