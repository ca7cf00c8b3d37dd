"""Moves a session to an earlier state, or on to another branch: its conversation, its files, or both."""
