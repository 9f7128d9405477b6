"""A package, since test_pgo.py is the name of a module here and of one elsewhere."""
