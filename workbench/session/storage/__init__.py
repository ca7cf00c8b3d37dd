"""The session file: events in SQLite, its lock, its text index, what can be read of it from outside."""
