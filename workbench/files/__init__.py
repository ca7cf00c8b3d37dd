"""Files: atomic and anchored writes, edits of TOML files, text files, three-way merge, safe git."""
