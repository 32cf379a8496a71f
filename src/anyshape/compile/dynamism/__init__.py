"""Which sizes and numbers of a call are dynamic. See the folder's README."""
