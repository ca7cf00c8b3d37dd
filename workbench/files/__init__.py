"""Files: atomic writes, access anchored to a root directory, edits of TOML files, text files, three-way merge, safe
git.
"""
