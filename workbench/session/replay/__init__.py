"""Runs the actions of a recorded session again, in a scratch directory, and compares their results with the record."""
