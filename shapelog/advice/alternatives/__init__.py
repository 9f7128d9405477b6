"""What PyTorch has in place of the list of sources, for what varies in a trace."""
