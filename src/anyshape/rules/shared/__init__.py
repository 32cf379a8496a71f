"""Code that rules of several families share. See the folder's README."""
