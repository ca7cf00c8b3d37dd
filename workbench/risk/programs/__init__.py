"""Rules that rate calls of programs, one module per family of programs; `rate` combines them for the shell.

A rule is a table row (`Spec`) or a function of the call. The rules do not depend on how a command line is parsed.
"""
