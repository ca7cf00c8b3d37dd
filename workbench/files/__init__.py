"""Files: atomic writes, access anchored to a root directory, edits of TOML, text files, three-way merge, safe git."""
