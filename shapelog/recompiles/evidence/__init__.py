"""What shows that an entry does not accept a call, a module for each kind of record."""
