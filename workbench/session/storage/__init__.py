"""The session file: events in SQLite, its lock, its search index, and what other processes read from it."""
