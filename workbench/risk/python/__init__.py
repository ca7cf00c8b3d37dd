"""What Python code would do when it runs: read from its syntax tree, never run; used by cells and by the shell."""
