"""Where texts come from: the Vulgate, tables, plain text; verse references and numbering."""
