"""Functions with calls that cannot be traced: compiled in pieces, with Python between them."""
