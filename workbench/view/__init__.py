"""What front ends show, without textual: the state of a session, its reducer, and everything as text.

Used by `tui` and `plain`; does not know widgets or the terminal.
"""
