"""Settings: the table that declares them, how they are read and checked, and the locations of the user's files."""
