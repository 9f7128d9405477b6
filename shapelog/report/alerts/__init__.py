"""What a CI system shows: an alert, how they are collected from a report, and groups of them."""
