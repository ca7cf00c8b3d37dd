"""Runs cells in an IPython of its own, in which variables stay."""
