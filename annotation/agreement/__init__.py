"""Agreement of annotators on spans."""
