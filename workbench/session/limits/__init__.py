"""Limits of a run, loops and pauses; used by the session."""
