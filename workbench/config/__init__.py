"""Settings: their table, how they are read and checked, and where the user's files are."""
