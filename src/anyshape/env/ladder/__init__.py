"""How a question is answered, cheapest rung first. See the folder's README."""
