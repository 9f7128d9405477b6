"""What a cache entry checks before it is used: the guard tree, its leaves, their comments, and expressions over sizes."""
