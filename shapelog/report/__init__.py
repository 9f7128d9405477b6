"""Everything that is known of a trace, of two runs, of one compile, of a suggestion that was tried."""
