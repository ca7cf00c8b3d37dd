"""Finds lines in files by a regular expression."""
