"""Child processes: the one way to start them, supervision, and programs that answer over pipes."""
