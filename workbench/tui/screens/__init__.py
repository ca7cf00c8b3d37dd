"""Screens, one a module: the main one, and those that open over it."""
