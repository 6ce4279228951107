"""The Bible: books, verse references, numbering, the Vulgate."""
