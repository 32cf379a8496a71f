"""anyshape: symbolic shapes for PyTorch programs."""
