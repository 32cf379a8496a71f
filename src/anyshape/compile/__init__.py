"""Programs compiled on the first call, and again only where they must be. See the README."""
