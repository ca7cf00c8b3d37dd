"""Interpret bash command lines (syntax, variables, control flow), as far as their effect is known before they run.

`scan` interprets a line and rates each command by rules for programs, which its caller passes to it.
"""
