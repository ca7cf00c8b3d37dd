"""How the agent ends a run."""
