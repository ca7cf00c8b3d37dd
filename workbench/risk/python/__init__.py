"""Determine the effects of Python code from its syntax tree, without running it."""
