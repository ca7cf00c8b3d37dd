"""Moves a session to another state in its log, also one on another branch: its conversation, its files, or both."""
