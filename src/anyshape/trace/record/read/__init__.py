"""What was read, exactly, and the check that it is still there."""
