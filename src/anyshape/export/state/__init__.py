"""The tensors of a program by name, and the modules that it was traced from."""
