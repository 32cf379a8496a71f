"""A path through a program with graph breaks, cut into segments. See the folder's README."""
