"""Compares sessions: where their steps differ first, the files that each ends with, and the result of a check there."""
