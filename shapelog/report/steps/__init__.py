"""The kinds of next steps, a module for each."""
