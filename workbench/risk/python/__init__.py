"""Find out what Python code would do, from its syntax tree and without running it."""
