"""Blame: which action, or the user, wrote each line of a file; a query on the logs of all sessions of the workspace.

`history` reads the states of a file from the logs, `line_tracing` follows its lines through them, `origins` describes
the actions that wrote them. Nothing is written.
"""
