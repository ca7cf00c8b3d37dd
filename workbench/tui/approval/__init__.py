"""How the screen asks: when a question opens, which keys count, and the approval mode."""
