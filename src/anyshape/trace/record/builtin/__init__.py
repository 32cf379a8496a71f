"""What stands for functions of Python and of torch while a program is traced."""
