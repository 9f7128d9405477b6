"""What pages and analyses show of one compilation, one export or one part of a vLLM model."""
