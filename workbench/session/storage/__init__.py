"""The session file: events in SQLite, its lock, its text index, and what can be read of it from outside the session."""
