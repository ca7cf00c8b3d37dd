"""A question of the agent's to the person."""
