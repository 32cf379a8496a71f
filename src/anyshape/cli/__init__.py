"""The command line: one file per command. See the folder's README."""
