"""What rules of several families need. See the folder's README."""
