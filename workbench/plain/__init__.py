"""`ohw --plain`: the session line by line, for screen readers and terminals that cannot move a cursor. No textual."""
