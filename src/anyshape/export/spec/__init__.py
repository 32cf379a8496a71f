"""`dynamic_shapes`: what a user declares about sizes. See the folder's README."""
