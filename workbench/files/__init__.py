"""Files: atomic and anchored writes, text files, three-way merge, safe git."""
