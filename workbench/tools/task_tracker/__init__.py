"""The agent's own list of tasks."""
