"""Finds files by the shape of their path, newest first."""
