"""Gold links: read from files, resolved in a collection, checked, converted, taken from TEI."""
