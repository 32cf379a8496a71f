"""One HTML file that shows a program. See the folder's README."""
