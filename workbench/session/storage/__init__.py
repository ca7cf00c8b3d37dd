"""The session file: events in SQLite, its lock, its text index, and what other processes can read from it."""
