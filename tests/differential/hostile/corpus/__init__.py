"""The programs, one file per class."""
