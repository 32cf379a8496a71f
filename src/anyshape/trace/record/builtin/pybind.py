"""Objects and functions of C++ that pybind11 makes known to Python."""

from __future__ import annotations

from typing import Any


def is_binding(owner: Any) -> bool:
    """Whether the owner of a function is a record of pybind11: the function is no op of torch."""
    kind = type(owner)
    return kind.__module__ == "pybind11_builtins" or kind.__name__ == "PyCapsule"


def is_of_cpp(x: Any) -> bool:
    """Whether the class of an object is one of C++."""
    return type(type(x)).__module__ == "pybind11_builtins"
