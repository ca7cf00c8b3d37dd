"""What front ends show, without textual: the state of a session, its reducer, and everything as text.

Used by `tui` and `plain`; knows no widget and no terminal.
"""
