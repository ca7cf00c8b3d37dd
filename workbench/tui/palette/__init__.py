"""What the palette (ctrl+p) offers, and how it is searched."""
