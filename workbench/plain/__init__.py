"""`ohw --plain` and `ohw run`: a session line by line, for screen readers, simple terminals and scripts.

Nothing in this package imports Textual.
"""
