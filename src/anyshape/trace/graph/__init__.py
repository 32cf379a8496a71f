"""The calls of a traced program in order, and Python source that runs them."""
