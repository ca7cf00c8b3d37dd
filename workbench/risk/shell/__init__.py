"""Interpret bash command lines (syntax, variables, control flow) as far as they can be known before they run.

`scan` interprets a line and rates each command by the rules for programs that its caller passes to it.
"""
