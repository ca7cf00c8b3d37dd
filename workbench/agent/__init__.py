"""One step of the agent: what a model is told, and what its answer asks to be done."""
