"""The recorder: what a program reads and writes outside itself while it is traced."""
