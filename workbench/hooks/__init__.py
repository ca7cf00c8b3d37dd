"""Hooks: programs of the user, or of a trusted directory, that are notified of events and may object to actions.

This package reads their definitions, in our format and Claude Code's, runs them, and interprets what they print. The
session decides when they run and what their answers do; nothing in this package knows a session.
"""
