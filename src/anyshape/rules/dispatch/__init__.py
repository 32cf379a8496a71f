"""From a call to its rule. See the folder's README."""
