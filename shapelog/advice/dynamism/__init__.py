"""Dynamism that travels from the outputs of compiled code to the inputs of other calls."""
