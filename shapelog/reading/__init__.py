"""A path, a URL or standard input → bytes → records → parsed payloads."""
