"""TEI P5: read as text, and written with findings."""
