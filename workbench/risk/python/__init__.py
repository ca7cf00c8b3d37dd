"""What Python code would do when it runs, derived from its syntax tree without running it."""
