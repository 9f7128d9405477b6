"""Why each compile happened: facts → differences → causes → nearest entry → verdict."""
