"""How a fact enters the knowledge. See the folder's README."""
