"""Runs the actions of a recorded session again, in a scratch directory, and compares what they do with the record."""
