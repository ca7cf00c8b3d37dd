"""The web view: the screen in browser tabs, each of which runs the program in its own pseudo terminal.

`access` decides who may connect, `terminal` runs the program of one tab, and `server` connects both to a browser. The
package knows nothing about sessions: `ohw serve` passes the command that a tab runs.
"""
