"""What is called instead of a function: twins, modules, classes, partials."""
