"""A place for the agent to think aloud."""
