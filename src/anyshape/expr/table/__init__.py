"""One row per op. See the folder's README."""
