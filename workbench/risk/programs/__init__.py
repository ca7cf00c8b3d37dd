"""What is known of programs, one module a family: how each rates its words; `judge` holds them together for the shell.

A rule is a row of a table or a function of the call. Nothing here knows how a command line is parsed.
"""
