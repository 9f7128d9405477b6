"""Views of the page with a module of their own."""
