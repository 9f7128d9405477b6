"""What the HTML report shows, as plain data for its templates: nothing here knows a tag."""
