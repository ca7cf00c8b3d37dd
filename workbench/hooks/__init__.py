"""Hooks: programs of the user's, or of a trusted directory, that are notified of events and may object to actions.

Here are their definitions, in our format and Claude Code's, the process that runs them, and the meaning of what they
print. The session decides when they run and what their answers do; nothing here knows a session.
"""
