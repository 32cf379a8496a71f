"""Equal stretches of a program, lowered once."""
