"""Widgets, one a module: the parts that screens are made of."""
