"""The entries of the palette (ctrl+p), and their search."""
