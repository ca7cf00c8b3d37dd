"""The link between the screen and an engine, and what follows a session through it."""
