"""The web view: the screen in tabs of a browser, each the program itself in a pseudo terminal.

`access` decides who may connect, `terminal` runs the program of one tab, and `server` connects both to a browser. It
knows nothing of sessions: `ohw serve` names the command that a tab runs.
"""
