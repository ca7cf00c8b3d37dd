"""Runs a piece of Python in an interpreter of its own."""
