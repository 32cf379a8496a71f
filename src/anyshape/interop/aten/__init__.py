"""The graph as an exported program of torch: ATen ops over torch's symbols."""
