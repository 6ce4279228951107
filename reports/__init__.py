"""Reports for people: HTML pages with heat maps, figures, tables for papers."""
