"""A file of text → the lines as PyTorch wrote them, with their heads."""
