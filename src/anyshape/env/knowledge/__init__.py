"""Everything learnt, in tables with a journal. See the folder's README."""
