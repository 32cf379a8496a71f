"""Statements and operators of Python that call code by themselves."""
