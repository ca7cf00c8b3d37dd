"""One step of the agent: the request to the model, and the actions its response asks for."""
