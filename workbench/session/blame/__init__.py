"""Blame: find out which action wrote each line of a file, or that the user did, from the logs of all sessions there.

`history` reads the states of a file from the logs, `line_tracing` follows its lines through them, `origins` describes
the actions that wrote them. Nothing is written.
"""
