"""The commands, a module for each: arguments in, calls to everything else, and an exit code."""
