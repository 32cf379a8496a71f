"""torch's exported programs as ours. See the folder's README."""
