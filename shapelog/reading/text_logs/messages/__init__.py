"""What one message of a log holds."""
