"""Programs that branch on data. See the folder's README."""
