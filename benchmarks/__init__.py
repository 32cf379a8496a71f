"""Benchmarks of the engine: see README.md."""
