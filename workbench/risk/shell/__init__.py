"""The shell: parser, variables and control flow of bash, as far as a command line can be known before it runs.

`scan` interprets a line and hands each command to the rules of programs that it was given.
"""
