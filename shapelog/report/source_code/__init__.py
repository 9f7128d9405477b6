"""The user's code as a trace quotes it and as it is on this disk, and what happened at each line of it."""
