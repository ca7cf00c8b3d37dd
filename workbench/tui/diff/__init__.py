"""How a difference lies on the screen: rows, wrapping, colours of the syntax; without widgets."""
