"""The agent's way to make room in its history."""
