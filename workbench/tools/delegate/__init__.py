"""A part of the task for a sub-agent."""
