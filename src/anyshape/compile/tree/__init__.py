"""The trace tree: programs with graph breaks. See the folder's README."""
