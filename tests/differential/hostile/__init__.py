"""Small programs whose Python around the tensors is hard to follow, against eager execution."""
